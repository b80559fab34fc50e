#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "store.hpp"

namespace tyrex {

// The beginnings of matches in one bucket: what a rule has found among the events before its terminators, kept
// from one terminator to the next (the incremental sequences of the T-Rex paper, Section 3.1, made when they are
// first asked for).
//
// A beginning is the event nearest to the terminator, followed by the rows of the others where these are decided
// by it; else by nothing. Events that nothing goes before have none, and are not looked at again.
class Beginnings {
public:
    explicit Beginnings(std::size_t width) : width_(width) {}

    // The rows below this one have been looked at.
    Row looked_at() const { return looked_at_; }
    void look_at(Row next) { looked_at_ = next; }

    void add(Row first) { rows_.push_back(first); }

    // Forget what a window that begins here, or later, does not reach; and give the rest, one after the other.
    std::span<const Row> since(Time from, const Store& store) {
        while (head_ < rows_.size() &&
               (rows_[head_] < store.first() || store.time(store.index(rows_[head_])) < from)) {
            head_ += width_;
        }
        if (head_ >= smallest_compaction && 2 * head_ >= rows_.size()) {
            rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(head_));
            head_ = 0;
        }
        return {rows_.data() + head_, rows_.size() - head_};
    }

    std::size_t bytes() const { return sizeof(Beginnings) + rows_.capacity() * sizeof(Row); }

private:
    static constexpr std::size_t smallest_compaction = 64;

    std::size_t width_;
    std::vector<Row> rows_;
    std::size_t head_ = 0;  // what stands before has left the window
    Row looked_at_ = 0;
};

}  // namespace tyrex
