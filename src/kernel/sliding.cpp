#include "sliding.hpp"

#include "lists.hpp"

namespace tyrex {

namespace {

bool before(Bits left, Bits right, Type type) {
    return type == Type::Int ? as_int(left) < as_int(right) : as_float(left) < as_float(right);
}

}  // namespace

Value sum_of_ints(__int128 sum, std::uint64_t& overflows) {
    if (sum < std::numeric_limits<std::int64_t>::min() || sum > std::numeric_limits<std::int64_t>::max()) {
        ++overflows;
        return {};
    }
    return of_int(static_cast<std::int64_t>(sum));
}

Value mean_of_ints(__int128 sum, std::int64_t count) {
    return of_float(static_cast<double>(sum) / static_cast<double>(count));
}

bool Sliding::supports(Aggregation function) {
    return function == Aggregation::Avg || function == Aggregation::Sum || function == Aggregation::Min ||
           function == Aggregation::Max;
}

void Sliding::restart(std::uint64_t position) {
    begin_ = end_ = position;
    count_ = 0;
    int_sum_ = 0;
    float_sum_.clear();
    extremes_.clear();
}

void Sliding::enter(Value value, Type type, std::uint64_t position) {
    if (value.null) return;
    ++count_;
    if (function_ == Aggregation::Min || function_ == Aggregation::Max) {
        // Of equal values the first one counts, as it would in a search from the front.
        const auto beats = [&](Bits other) {
            return function_ == Aggregation::Min ? before(value.bits, other, type) : before(other, value.bits, type);
        };
        while (!extremes_.empty() && beats(extremes_.back().bits)) extremes_.pop_back();
        extremes_.push_back({position, value.bits});
    } else if (type == Type::Int) {
        int_sum_ += as_int(value.bits);
    } else {
        float_sum_.add(as_float(value.bits));
    }
}

void Sliding::leave(Value value, Type type, std::uint64_t position) {
    if (value.null) return;
    --count_;
    if (function_ == Aggregation::Min || function_ == Aggregation::Max) {
        if (!extremes_.empty() && extremes_.front().position == position) extremes_.pop_front();
    } else if (type == Type::Int) {
        int_sum_ -= as_int(value.bits);
    } else {
        float_sum_.subtract(as_float(value.bits));
    }
}

Value Sliding::value(const RowList& list, const Store& store, Time from, Row last, Type type,
                     std::uint64_t& overflows) {
    const std::span<const Row> rows = list.rows();
    const std::uint64_t offset = list.begin_position();
    if (begin_ < offset) restart(offset);  // rows left that had not been subtracted
    while (end_ - offset < rows.size() && rows[end_ - offset] <= last) {
        enter(store.value(store.index(rows[end_ - offset]), column_), type, end_);
        ++end_;
    }
    while (begin_ < end_) {
        const std::size_t index = store.index(rows[begin_ - offset]);
        if (store.time(index) >= from) break;
        leave(store.value(index, column_), type, begin_);
        ++begin_;
    }
    if (count_ == 0) return {};
    switch (function_) {
        case Aggregation::Min:
        case Aggregation::Max:
            return {extremes_.front().bits, false};
        case Aggregation::Sum:
            return type == Type::Int ? sum_of_ints(int_sum_, overflows) : of_float(float_sum_.value());
        default:
            return type == Type::Int ? mean_of_ints(int_sum_, count_)
                                     : of_float(float_sum_.value() / static_cast<double>(count_));
    }
}

}  // namespace tyrex
