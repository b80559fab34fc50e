#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine.hpp"

namespace tyrex {

// A column of values as somebody else laid it out in memory, who keeps it alive: Arrow, or a list of objects.
//
// Several engines can read the same source, each the rows of its share: texts have numbers only in an engine.
struct Source {
    enum class Layout : std::uint8_t { Null, Words, Bits, Texts, LongTexts, Dictionary, Values };

    Type type = Type::Int;
    std::size_t count = 0;
    Layout layout = Layout::Null;

    // As Arrow has it
    std::size_t offset = 0;
    const std::uint8_t* validity = nullptr;
    const void* data = nullptr;
    const char* characters = nullptr;
    std::shared_ptr<Source> dictionary;  // of texts

    // Values
    Words bits;
    Flags null;
    std::vector<std::string_view> texts;

    // Copy the rows of a share, or all; the others are left as they come.
    Column read(Strings& strings, const std::uint16_t* shares = nullptr, std::uint16_t share = 0) const;

    // Hashes of the rows, equal where values are: 1 and 1.0, 0.0 and -0.0, nulls.
    class Hashes;
};

class Source::Hashes {
public:
    explicit Hashes(const Source& source);
    std::uint64_t operator[](std::size_t row) const;

private:
    const Source& source_;
    std::vector<std::uint64_t> dictionary_;
};

// Stays as it is for good: snapshots rely on where events were sent by it.
std::uint64_t hash_value(Value value, Type type, std::string_view text);

// Events in the order of their arrival, before any engine has read them; see Input for what the parts mean.
struct Parcel {
    struct Block {
        std::uint32_t type;
        std::vector<std::size_t> columns;
        std::size_t times;
        std::int64_t ids;  // or -1
    };

    std::vector<Source> columns;
    std::vector<const Time*> times;
    std::vector<Source> ids;
    std::vector<Block> blocks;
    std::span<const std::uint32_t> order;
    bool table = false;
};

// What one engine gets of a parcel: for each block all, nothing, or the rows of its share.
struct Share {
    std::uint16_t number = 0;
    std::vector<const std::uint16_t*> shares;  // for each block; null for all of it
    std::vector<bool> foreign;                 // for each block
};

// The parcel as columns of an engine; with a share only the rows that belong to it are filled.
Input unpack(const Parcel& parcel, Strings& strings, const Share* share = nullptr);

}  // namespace tyrex
