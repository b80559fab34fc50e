#include "wide_sum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tyrex {

namespace {

constexpr int bias = 1088;  // a multiple of 32 that no exponent of a double's last bit (from -1074) goes below
constexpr std::uint32_t carry_after = 1u << 29;

}  // namespace

void WideSum::clear() {
    limbs_.clear();
    positive_infinities_ = negative_infinities_ = 0;
    changes_ = 0;
}

void WideSum::change(double x, int sign) {
    if (std::isinf(x)) {
        (x > 0 ? positive_infinities_ : negative_infinities_) += sign;
        return;
    }
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const int exponent = static_cast<int>((bits >> 52) & 0x7ff);
    std::uint64_t mantissa = bits & 0xfffffffffffffULL;
    if (exponent != 0) mantissa |= 1ULL << 52;
    if (mantissa == 0) return;
    const int lowest_bit = std::max(exponent, 1) - 1075 + bias;
    const int limb = lowest_bit >> 5;
    if (limbs_.empty()) {
        lowest_ = limb;
        limbs_.assign(3, 0);
    } else if (limb < lowest_) {
        limbs_.insert(limbs_.begin(), static_cast<std::size_t>(lowest_ - limb), 0);
        lowest_ = limb;
    }
    const auto at = static_cast<std::size_t>(limb - lowest_);
    if (at + 3 > limbs_.size()) limbs_.resize(at + 3, 0);

    const int shift = lowest_bit & 31;
    const auto wide = static_cast<unsigned __int128>(mantissa) << shift;  // below 2^84
    const bool negative = ((bits >> 63) != 0) != (sign < 0);
    const auto low = static_cast<std::int64_t>(static_cast<std::uint32_t>(wide));
    const auto middle = static_cast<std::int64_t>(static_cast<std::uint32_t>(wide >> 32));
    const auto high = static_cast<std::int64_t>(static_cast<std::uint32_t>(wide >> 64));
    limbs_[at] += negative ? -low : low;
    limbs_[at + 1] += negative ? -middle : middle;
    limbs_[at + 2] += negative ? -high : high;
    if (++changes_ >= carry_after) carry();
}

// Bring every limb but the highest into [0, 2^32).
void WideSum::carry() {
    changes_ = 0;
    for (std::size_t i = 0; i + 1 < limbs_.size(); ++i) {
        const std::int64_t over = limbs_[i] >> 32;
        limbs_[i] -= over * (std::int64_t{1} << 32);
        limbs_[i + 1] += over;
    }
    const std::int64_t top = limbs_.back();
    if (top >= (std::int64_t{1} << 32) || top < -(std::int64_t{1} << 32)) {
        const std::int64_t over = top >> 32;
        limbs_.back() -= over * (std::int64_t{1} << 32);
        limbs_.push_back(over);
    }
}

double WideSum::value() const {
    if (positive_infinities_ > 0 && negative_infinities_ > 0) return std::numeric_limits<double>::quiet_NaN();
    if (positive_infinities_ > 0) return std::numeric_limits<double>::infinity();
    if (negative_infinities_ > 0) return -std::numeric_limits<double>::infinity();
    if (limbs_.empty()) return 0.0;

    // The magnitude, in limbs of 32 bits.
    constexpr std::size_t most = 72;
    std::int64_t digits[most];
    std::size_t count = limbs_.size();
    std::int64_t over = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t sum = limbs_[i] + over;
        over = sum >> 32;
        digits[i] = sum - over * (std::int64_t{1} << 32);
    }
    const bool negative = over < 0;
    while (over != 0 && over != -1) {
        digits[count++] = over - ((over >> 32) * (std::int64_t{1} << 32));
        over >>= 32;
    }
    if (negative) {
        std::int64_t borrow = 1;
        for (std::size_t i = 0; i < count; ++i) {
            const std::int64_t flipped = (digits[i] ^ 0xffffffffLL) + borrow;
            borrow = flipped >> 32;
            digits[i] = flipped & 0xffffffffLL;
        }
        if (borrow != 0) digits[count++] = borrow;
    }
    while (count > 0 && digits[count - 1] == 0) --count;
    if (count == 0) return 0.0;

    // The 64 bits from the highest one on, and whether anything lies below them.
    const int top = static_cast<int>(count) - 1;
    const auto digit = [&](int i) { return i >= 0 ? static_cast<std::uint64_t>(digits[i]) : 0; };
    const int lead = std::countl_zero(static_cast<std::uint32_t>(digits[top]));
    const unsigned __int128 window = (static_cast<unsigned __int128>(digit(top)) << 64) |
                                     (static_cast<unsigned __int128>(digit(top - 1)) << 32) | digit(top - 2);
    auto bits = static_cast<std::uint64_t>((window << lead) >> 32);
    bool below = static_cast<std::uint32_t>(window << lead) != 0;
    for (int i = top - 3; i >= 0 && !below; --i) below = digits[i] != 0;

    int exponent = 32 * (lowest_ + top) + 31 - lead - bias - 63;  // of the last of the 64 bits
    // A double has 53 bits, fewer where it is subnormal.
    int surplus = 11;
    if (exponent + surplus < -1074) surplus = -1074 - exponent;
    if (surplus >= 64) {
        // Everything lies below the least double, which sums of doubles never do.
        return 0.0;
    }
    const std::uint64_t half = 1ULL << (surplus - 1);
    const std::uint64_t rest = bits & ((half << 1) - 1);
    bits >>= surplus;
    exponent += surplus;
    if (rest > half || (rest == half && (below || (bits & 1)))) ++bits;
    const double magnitude = std::ldexp(static_cast<double>(bits), exponent);
    return negative ? -magnitude : magnitude;
}

}  // namespace tyrex
