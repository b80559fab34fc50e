#pragma once

#include <vector>

namespace tyrex {

// A sum of doubles kept without error, as components that do not overlap, smallest first.
//
// J. R. Shewchuk, "Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates",
// Discrete & Computational Geometry 18 (1997), section 2.4 (Grow-Expansion). The caller sees to it that
// no partial sum leaves the range of double.
class Expansion {
public:
    void add(double x);

    // The exact sum, rounded once to the nearest double, ties to even.
    double rounded() const;

    const std::vector<double>& components() const { return components_; }

private:
    std::vector<double> components_;
};

// The sum of doubles, correctly rounded, hence the same in whatever order they are added.
//
// - The sum of nothing is 0.0, and a sum of zero is always +0.0.
// - Partial sums may leave the range of double: only the exact sum counts. If that itself rounds to
//   beyond the range, the value is the infinity of its sign.
// - Any NaN, or +inf together with -inf, makes the value NaN; otherwise an infinity makes it that infinity.
//
// Holds for fewer than 2^60 terms.
class ExactSum {
public:
    void add(double x);
    double value() const;

private:
    double finite_value() const;

    Expansion ordinary_;  // the terms below 2^960: so many of them cannot overflow
    Expansion huge_;      // the terms from 2^960 on, in units of 2^128
    bool nan_ = false;
    bool positive_infinity_ = false;
    bool negative_infinity_ = false;
};

}  // namespace tyrex
