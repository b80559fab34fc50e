#include "source.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tyrex {

namespace {

constexpr std::uint64_t null_hash = 0x9ae16a3b2f90404fULL;

bool bit(const std::uint8_t* bitmap, std::size_t i) { return ((bitmap[i >> 3] >> (i & 7)) & 1) != 0; }

bool is_valid(const Source& source, std::size_t row) {
    return source.validity == nullptr || bit(source.validity, source.offset + row);
}

template <typename Offset>
std::string_view text_between(const Source& source, std::size_t row) {
    const auto* offsets = static_cast<const Offset*>(source.data) + source.offset + row;
    return {source.characters + offsets[0], static_cast<std::size_t>(offsets[1] - offsets[0])};
}

std::string_view text_of(const Source& source, std::size_t row) {
    switch (source.layout) {
        case Source::Layout::Texts: return text_between<std::int32_t>(source, row);
        case Source::Layout::LongTexts: return text_between<std::int64_t>(source, row);
        default: return source.texts[row];
    }
}

Bits word_of(const Source& source, std::size_t row) {
    return static_cast<const Bits*>(source.data)[source.offset + row];
}

bool bit_of(const Source& source, std::size_t row) {
    return bit(static_cast<const std::uint8_t*>(source.data), source.offset + row);
}

std::size_t index_of(const Source& source, std::size_t row) {
    return static_cast<std::size_t>(static_cast<const std::int32_t*>(source.data)[source.offset + row]);
}

}  // namespace

std::uint64_t hash_value(Value value, Type type, std::string_view text) {
    if (value.null) return null_hash;
    if (type == Type::String) return hash_text(text);
    if (type == Type::Float) {
        // A whole number hashes as the int that it is equal to.
        const Value whole = as_key(value, Type::Float, Type::Int);
        if (!whole.null) value = whole;
    }
    return mix(value.bits + 0x9e3779b97f4a7c15ULL);
}

Source::Hashes::Hashes(const Source& source) : source_(source) {
    if (source.layout != Layout::Dictionary) return;
    const Hashes texts(*source.dictionary);
    for (std::size_t i = 0; i < source.dictionary->count; ++i) dictionary_.push_back(texts[i]);
}

std::uint64_t Source::Hashes::operator[](std::size_t row) const {
    if (source_.layout == Layout::Values) {
        const Value value{source_.bits[row], source_.null[row] != 0};
        return hash_value(value, source_.type, source_.type == Type::String ? source_.texts[row] : std::string_view());
    }
    if (source_.layout == Layout::Null || !is_valid(source_, row)) return null_hash;
    switch (source_.layout) {
        case Layout::Dictionary: return dictionary_[index_of(source_, row)];
        case Layout::Bits: return hash_value({bit_of(source_, row), false}, source_.type, {});
        case Layout::Words: {
            const Bits word = word_of(source_, row);
            const bool null = source_.type == Type::Float && std::isnan(as_float(word));
            return hash_value({word, null}, source_.type, {});
        }
        default: return hash_text(text_of(source_, row));
    }
}

Column Source::read(Strings& strings, const std::uint16_t* shares, std::uint16_t share) const {
    const bool texts_of_objects = layout == Layout::Values && type == Type::String;
    if (layout == Layout::Values && !texts_of_objects) return {type, bits, null};
    Column column{type, {}, {}};
    column.bits.resize(count, 0);
    column.null.resize(count, 0);
    if (layout == Layout::Null) {
        std::fill(column.null.begin(), column.null.end(), std::uint8_t{1});
        return column;
    }
    if (texts_of_objects) {
        column.null = null;
    } else if (validity != nullptr) {
        for (std::size_t i = 0; i < count; ++i) column.null[i] = !bit(validity, offset + i);
    }
    const auto each = [&](auto value) {
        for (std::size_t i = 0; i < count; ++i) {
            if (!column.null[i] && (shares == nullptr || shares[i] == share)) column.bits[i] = value(i);
        }
    };
    switch (layout) {
        case Layout::Words:
            std::memcpy(column.bits.data(), static_cast<const Bits*>(data) + offset, count * sizeof(Bits));
            if (type == Type::Float) {
                for (std::size_t i = 0; i < count; ++i) column.null[i] |= std::isnan(as_float(column.bits[i]));
            }
            break;
        case Layout::Bits: each([&](std::size_t i) -> Bits { return bit_of(*this, i); }); break;
        case Layout::Texts:
            each([&](std::size_t i) -> Bits { return strings.intern(text_between<std::int32_t>(*this, i)); });
            break;
        case Layout::LongTexts:
            each([&](std::size_t i) -> Bits { return strings.intern(text_between<std::int64_t>(*this, i)); });
            break;
        case Layout::Dictionary: {
            const Column known = dictionary->read(strings);
            for (std::size_t i = 0; i < count; ++i) {
                if (column.null[i]) continue;
                column.bits[i] = known.bits[index_of(*this, i)];
                column.null[i] = known.null[index_of(*this, i)];
            }
            break;
        }
        default: each([&](std::size_t i) -> Bits { return strings.intern(texts[i]); });
    }
    return column;
}

Input unpack(const Parcel& parcel, Strings& strings, const Share* share) {
    Input input;
    input.table = parcel.table;
    input.order = parcel.order;
    input.share = share == nullptr ? 0 : share->number;
    std::vector<const Column*> columns(parcel.columns.size(), nullptr);
    std::vector<const std::vector<std::uint32_t>*> ids(parcel.ids.size(), nullptr);
    for (std::size_t b = 0; b < parcel.blocks.size(); ++b) {
        const Parcel::Block& given = parcel.blocks[b];
        InputBlock block{given.type, {}, parcel.times[given.times], nullptr};
        if (share != nullptr) {
            block.shares = share->shares[b];
            block.foreign = share->foreign[b];
        }
        for (const std::size_t c : block.foreign ? std::vector<std::size_t>() : given.columns) {
            if (columns[c] == nullptr) {
                columns[c] = &input.columns.emplace_back(
                    parcel.columns[c].read(strings, block.shares, input.share));
            }
            block.columns.push_back(columns[c]);
        }
        if (given.ids >= 0 && !block.foreign) {
            const auto which = static_cast<std::size_t>(given.ids);
            if (ids[which] == nullptr) {
                const Column texts = parcel.ids[which].read(strings, block.shares, input.share);
                std::vector<std::uint32_t>& numbers = input.ids.emplace_back();
                numbers.reserve(texts.bits.size());
                for (std::size_t i = 0; i < texts.bits.size(); ++i) {
                    numbers.push_back(texts.null[i] ? no_id : as_string(texts.bits[i]));
                }
                ids[which] = &numbers;
            }
            block.ids = ids[which];
        }
        input.blocks.push_back(std::move(block));
    }
    return input;
}

}  // namespace tyrex
