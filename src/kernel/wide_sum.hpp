#pragma once

#include <cstdint>
#include <vector>

namespace tyrex {

// The exact sum of doubles that come and go: a fixed-point number as wide as it has to be.
//
// A limb holds 32 bits of the sum and 31 bits of room for carries, so adding a double touches three limbs and
// carries nothing. Only the limbs that were ever needed exist. `value` is rounded once, as math.fsum does it;
// beyond the range of double it is the infinity of its sign, and infinities of both signs make NaN.
//
// R. M. Neal, "Fast exact summation using small and large superaccumulators" (2015), section 3.
class WideSum {
public:
    void add(double x) { change(x, 1); }
    void subtract(double x) { change(x, -1); }
    double value() const;
    void clear();

private:
    void change(double x, int sign);
    void carry();

    std::vector<std::int64_t> limbs_;
    int lowest_ = 0;  // the exponent of two of limbs_[0] is 32 * lowest_ - 1088
    std::int64_t positive_infinities_ = 0;
    std::int64_t negative_infinities_ = 0;
    std::uint32_t changes_ = 0;
};

}  // namespace tyrex
