#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "store.hpp"

namespace tyrex {

constexpr Time second = 1'000'000;
constexpr Time minute = 60 * second;
constexpr Time day = 24 * 60 * minute;

// The fields of a timer: S, M, H, D (Monday is 1), Day, Month, Year.
using TimerFields = std::array<std::int64_t, 7>;

// The local time of a time zone, given its offsets from UTC.
class Zone {
public:
    // From each instant on, the offset, in microseconds; the first one holds before the first instant, too.
    void set(std::vector<Time> instants, std::vector<Time> offsets);

    TimerFields fields(Time instant) const;

private:
    Time offset(Time instant) const;

    std::vector<Time> instants_{0};
    std::vector<Time> offsets_{0};
};

}  // namespace tyrex
