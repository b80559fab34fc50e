#pragma once

#include <cstdint>
#include <deque>
#include <span>

#include "store.hpp"
#include "wide_sum.hpp"

namespace tyrex {

enum class Aggregation : std::uint8_t { Avg, Sum, Min, Max, Count, StdDev, Var, First, Last, CountDistinct };

class RowList;

// An aggregate over the last `window` of one list, kept up to date as the window moves on: what enters is
// added, what leaves is subtracted. It only ever moves forward.
class Sliding {
public:
    Sliding(Aggregation function, int column) : function_(function), column_(column) {}

    // Whether a function can be kept this way: the others look through their events each time.
    static bool supports(Aggregation function);

    // The value over the rows of `list` that are not older than `from`, up to `last`, included.
    Value value(const RowList& list, const Store& store, Time from, Row last, Type type, std::uint64_t& overflows);

private:
    struct Extreme {
        std::uint64_t position;
        Bits bits;
    };

    void enter(Value value, Type type, std::uint64_t position);
    void leave(Value value, Type type, std::uint64_t position);
    void restart(std::uint64_t position);

    Aggregation function_;
    int column_;
    std::uint64_t begin_ = 0;  // positions in the list
    std::uint64_t end_ = 0;
    std::int64_t count_ = 0;  // values that are not null
    __int128 int_sum_ = 0;
    WideSum float_sum_;
    std::deque<Extreme> extremes_;
};

// The final step that sliding and plain aggregates share.
Value sum_of_ints(__int128 sum, std::uint64_t& overflows);
Value mean_of_ints(__int128 sum, std::int64_t count);

}  // namespace tyrex
