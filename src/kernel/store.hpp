#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "strings.hpp"
#include "value.hpp"

namespace tyrex {

using Time = std::int64_t;      // microseconds since the epoch
using Sequence = std::uint64_t;  // the place of an event in the total order
using Row = std::uint64_t;       // the number of an event among those of its type, from 0, never reused

constexpr std::uint32_t no_id = 0xffffffff;
constexpr Row no_row = ~Row{0};

// Where an event comes from, which is where its id comes from.
enum class Origin : std::uint8_t { Content, Source, Rule };

// Memory that is not cleared when it grows: whoever makes room fills it, and clearing it first costs as much.
template <typename T>
struct Uncleared : std::allocator<T> {
    template <typename U>
    struct rebind {
        using other = Uncleared<U>;
    };
    template <typename U, typename... Arguments>
    void construct(U* place, Arguments&&... arguments) {
        if constexpr (sizeof...(Arguments) == 0) {
            ::new (static_cast<void*>(place)) U;
        } else {
            ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
        }
    }
};

using Words = std::vector<Bits, Uncleared<Bits>>;
using Flags = std::vector<std::uint8_t, Uncleared<std::uint8_t>>;

struct Column {
    Type type;
    Words bits;
    Flags null;

    Value at(std::size_t index) const { return {bits[index], null[index] != 0}; }
};

// The stored events of one type, in order, as columns; shared by all rules.
//
// Rows leave at the front when no window reaches them any more. An index is a place in the vectors; it is
// good until `forget_before`. A row is good until it leaves.
class Store {
public:
    Store(std::string name, const std::vector<Type>& types);

    const std::string& name() const { return name_; }
    std::vector<Column>& columns() { return columns_; }
    const std::vector<Column>& columns() const { return columns_; }

    Row first() const { return first_; }
    Row end() const { return origin_ + times_.size(); }
    std::size_t size() const { return end() - first_; }
    std::size_t index(Row row) const { return row - origin_; }
    Row row(std::size_t index) const { return origin_ + index; }

    Time time(std::size_t index) const { return times_[index]; }
    Sequence sequence(std::size_t index) const { return sequences_[index]; }
    std::uint32_t id(std::size_t index) const { return ids_[index]; }
    Origin origin(std::size_t index) const { return origins_[index]; }
    Value value(std::size_t index, int column) const {
        return column < 0 ? of_int(times_[index]) : columns_[static_cast<std::size_t>(column)].at(index);
    }
    Type type(int column) const {
        return column < 0 ? Type::Int : columns_[static_cast<std::size_t>(column)].type;
    }

    // Begin a row; the caller pushes one value on each column. `id` is a text, or no_id.
    std::size_t append(Time time, Sequence sequence, Origin origin, std::uint32_t id = no_id);

    // Give an event an id that was derived; the text is retained already.
    void set_id(std::size_t index, std::uint32_t id) { ids_[index] = id; }

    // Let the first row to be appended have this number.
    void start_at(Row row) { origin_ = first_ = row; }

    // Retain the texts of the row that was appended last; or take that row back.
    void keep_last(Strings& strings);
    void drop_last();

    // Let go of the events before this time.
    void forget_before(Time time, Strings& strings);

    std::size_t bytes() const;

    Time horizon = 0;  // how long events of this type are needed
    std::uint64_t arrived = 0;  // from outside, those too that another kernel keeps
    std::uint64_t made = 0;     // by rules

private:
    std::string name_;
    std::vector<Column> columns_;
    std::vector<Time> times_;
    std::vector<Sequence> sequences_;
    std::vector<std::uint32_t> ids_;
    std::vector<Origin> origins_;
    Row origin_ = 0;  // the row at index 0
    Row first_ = 0;   // the oldest row that is still there
};

}  // namespace tyrex
