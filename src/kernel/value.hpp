#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tyrex {

// The type of an attribute, and of every value: it is known before an event arrives.
enum class Type : std::uint8_t { Int, Float, String, Bool };

// 64 bits, read by their type: an int64, a double, the id of an interned string, 0 or 1.
using Bits = std::uint64_t;

struct Value {
    Bits bits = 0;
    bool null = true;
};

inline std::int64_t as_int(Bits bits) { return std::bit_cast<std::int64_t>(bits); }
inline double as_float(Bits bits) { return std::bit_cast<double>(bits); }
inline std::uint32_t as_string(Bits bits) { return static_cast<std::uint32_t>(bits); }

inline Value of_int(std::int64_t x) { return {std::bit_cast<Bits>(x), false}; }
inline Value of_bool(bool x) { return {x, false}; }
inline Value of_string(std::uint32_t id) { return {id, false}; }

// A NaN is read as null.
inline Value of_float(double x) { return {std::bit_cast<Bits>(x), std::isnan(x)}; }

// -1, 0 or 1: an int against a float, exactly. `y` is not NaN.
inline int compare_exactly(std::int64_t x, double y) {
    if (y >= 0x1p63) return -1;
    if (y < -0x1p63) return 1;
    const double whole = std::trunc(y);
    const auto other = static_cast<std::int64_t>(whole);
    if (x != other) return x < other ? -1 : 1;
    return whole < y ? -1 : (whole > y ? 1 : 0);
}

// The value that an attribute of type `to` must have to be equal to one of type `from`; null if none is.
//
// Zero has one form, so that equal keys have equal bits.
inline Value as_key(Value value, Type from, Type to) {
    if (value.null) return value;
    if (from == to) {
        if (from == Type::Float && as_float(value.bits) == 0.0) value.bits = std::bit_cast<Bits>(0.0);
        return value;
    }
    if (to == Type::Float) {
        const double converted = static_cast<double>(as_int(value.bits));
        if (compare_exactly(as_int(value.bits), converted) != 0) return {};
        return of_float(converted);
    }
    const double x = as_float(value.bits);
    if (!(x >= -0x1p63 && x < 0x1p63) || std::trunc(x) != x) return {};
    return of_int(static_cast<std::int64_t>(x));
}

// A good spread of the bits of a key; the finaliser of MurmurHash3.
inline std::uint64_t mix(std::uint64_t x) {
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ULL;
    return x ^ (x >> 33);
}

}  // namespace tyrex
