#include "store.hpp"

#include <algorithm>
#include <utility>

namespace tyrex {

namespace {

constexpr std::size_t smallest_compaction = 1024;

template <typename Vector>
void drop_front(Vector& values, std::size_t count) {
    values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace

Store::Store(std::string name, const std::vector<Type>& types) : name_(std::move(name)) {
    for (const Type type : types) columns_.push_back({type, {}, {}});
}

std::size_t Store::append(Time time, Sequence sequence, Origin origin, std::uint32_t id) {
    times_.push_back(time);
    sequences_.push_back(sequence);
    ids_.push_back(id);
    origins_.push_back(origin);
    return times_.size() - 1;
}

void Store::keep_last(Strings& strings) {
    for (Column& column : columns_) {
        if (column.type == Type::String && !column.null.back()) strings.retain(as_string(column.bits.back()));
    }
    if (ids_.back() != no_id) strings.retain(ids_.back());
}

void Store::drop_last() {
    times_.pop_back();
    sequences_.pop_back();
    ids_.pop_back();
    origins_.pop_back();
    for (Column& column : columns_) {
        column.bits.pop_back();
        column.null.pop_back();
    }
}

void Store::forget_before(Time time, Strings& strings) {
    std::size_t index = first_ - origin_;
    const std::size_t from = index;
    while (index < times_.size() && times_[index] < time) ++index;
    if (index == from) return;
    for (const Column& column : columns_) {
        if (column.type != Type::String) continue;
        for (std::size_t i = from; i < index; ++i) {
            if (!column.null[i]) strings.release(as_string(column.bits[i]));
        }
    }
    for (std::size_t i = from; i < index; ++i) {
        if (ids_[i] != no_id) strings.release(ids_[i]);
    }
    first_ = origin_ + index;
    if (index >= smallest_compaction && 2 * index >= times_.size()) {
        drop_front(times_, index);
        drop_front(sequences_, index);
        drop_front(ids_, index);
        drop_front(origins_, index);
        for (Column& column : columns_) {
            drop_front(column.bits, index);
            drop_front(column.null, index);
        }
        origin_ = first_;
    }
}

std::size_t Store::bytes() const {
    std::size_t each = sizeof(Time) + sizeof(Sequence) + sizeof(std::uint32_t) + sizeof(Origin);
    each += columns_.size() * (sizeof(Bits) + 1);
    return times_.capacity() * each;
}

}  // namespace tyrex
