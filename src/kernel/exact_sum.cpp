#include "exact_sum.hpp"

#include <cfloat>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace tyrex {

static_assert(std::numeric_limits<double>::is_iec559 && FLT_EVAL_METHOD == 0,
              "error-free addition needs IEEE doubles without excess precision");

namespace {

constexpr double huge_from = 0x1p960;
constexpr double to_huge_unit = 0x1p-128;
constexpr double from_huge_unit = 0x1p128;

struct RoundedSum {
    double sum;
    double error;  // sum + error is exact
};

// Dekker's Fast-Two-Sum; needs |large| >= |small|.
RoundedSum fast_two_sum(double large, double small) {
    const double sum = large + small;
    return {sum, small - (sum - large)};
}

}  // namespace

void Expansion::add(double x) {
    std::size_t kept = 0;
    for (double component : components_) {
        if (std::fabs(x) < std::fabs(component)) std::swap(x, component);
        const auto [sum, error] = fast_two_sum(x, component);
        if (error != 0.0) components_[kept++] = error;
        x = sum;
    }
    components_.resize(kept);
    if (x != 0.0) components_.push_back(x);
}

double Expansion::rounded() const {
    auto below = components_.rbegin();
    if (below == components_.rend()) return 0.0;

    double sum = *below++;
    double error = 0.0;
    while (below != components_.rend() && error == 0.0) {
        const RoundedSum next = fast_two_sum(sum, *below++);
        sum = next.sum;
        error = next.error;
    }

    // If `error` is half a unit in the last place, `sum` was rounded to even; components further below
    // on the same side break that tie the other way.
    if (below != components_.rend() && (error < 0.0) == (*below < 0.0)) {
        const double twice = 2.0 * error;
        const double other = sum + twice;
        if (other - sum == twice) return other;
    }
    return sum;
}

void ExactSum::add(double x) {
    if (std::isnan(x)) {
        nan_ = true;
    } else if (std::isinf(x)) {
        (x > 0 ? positive_infinity_ : negative_infinity_) = true;
    } else if (std::fabs(x) < huge_from) {
        ordinary_.add(x);
    } else {
        huge_.add(x * to_huge_unit);
    }
}

double ExactSum::value() const {
    if (nan_ || (positive_infinity_ && negative_infinity_)) return std::numeric_limits<double>::quiet_NaN();
    if (positive_infinity_) return std::numeric_limits<double>::infinity();
    if (negative_infinity_) return -std::numeric_limits<double>::infinity();
    return finite_value();
}

double ExactSum::finite_value() const {
    if (huge_.components().empty()) return ordinary_.rounded();

    // The huge terms may cancel to something that fits among the ordinary ones.
    constexpr double still_ordinary = 0x1p1022 * to_huge_unit;
    if (std::fabs(huge_.rounded()) < still_ordinary) {
        Expansion total = ordinary_;
        for (const double component : huge_.components()) total.add(component * from_huge_unit);
        return total.rounded();
    }

    // Otherwise the result is so large (ordinary terms sum to less than 2^1020) that it is rounded at
    // bit 968 or above, and everything is summed in huge units. Scaling components below 2^-500 would
    // underflow. Of these only the sign can matter, to break a tie, and in an expansion the largest has
    // the sign of all: one token far below the others' last bit (2^-552) stands for them.
    constexpr double tiny = 0x1p-500;
    constexpr double token = 0x1p-600;
    Expansion total = huge_;
    const std::vector<double>& ordinary = ordinary_.components();
    for (auto component = ordinary.rbegin(); component != ordinary.rend(); ++component) {
        const bool is_tiny = std::fabs(*component) < tiny;
        total.add((is_tiny ? std::copysign(token, *component) : *component) * to_huge_unit);
        if (is_tiny) break;
    }
    return total.rounded() * from_huge_unit;
}

}  // namespace tyrex
