#include "calendar.hpp"

#include <algorithm>
#include <utility>

namespace tyrex {

namespace {

constexpr Time cycle = 146097 * day;
constexpr Time known_until = 170'934 * day;  // the year 2438, where Python's list of changes is still complete

Time floor_divide(Time x, Time y) { return x / y - (x % y < 0 ? 1 : 0); }

}  // namespace

void Zone::set(std::vector<Time> instants, std::vector<Time> offsets) {
    instants_ = std::move(instants);
    offsets_ = std::move(offsets);
}

Time Zone::offset(Time instant) const {
    // The calendar repeats itself every 400 years, and no zone plans further ahead than its rules for a year.
    if (instant >= known_until) instant -= ((instant - known_until) / cycle + 1) * cycle;
    const auto after = std::upper_bound(instants_.begin(), instants_.end(), instant);
    const auto found = after == instants_.begin() ? 0 : after - instants_.begin() - 1;
    return offsets_[static_cast<std::size_t>(found)];
}

// Days to a date: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days.
TimerFields Zone::fields(Time instant) const {
    const Time local = instant + offset(instant);
    const Time days = floor_divide(local, day);
    const Time of_day = (local - days * day) / second;
    const Time shifted = days + 719468;
    const Time era = floor_divide(shifted, 146097);
    const Time day_of_era = shifted - era * 146097;
    const Time year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const Time day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const Time from_march = (5 * day_of_year + 2) / 153;
    const Time day_of_month = day_of_year - (153 * from_march + 2) / 5 + 1;
    const Time month = from_march < 10 ? from_march + 3 : from_march - 9;
    const Time year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
    const Time weekday = ((days + 3) % 7 + 7) % 7 + 1;  // 1970-01-01 was a Thursday
    return {of_day % 60, of_day / 60 % 60, of_day / 3600, weekday, day_of_month, month, year};
}

}  // namespace tyrex
