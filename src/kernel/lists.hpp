#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "beginnings.hpp"
#include "sliding.hpp"
#include "store.hpp"

namespace tyrex {

// The rows of a store that were admitted to one state, in order.
//
// `position` counts from the first row ever admitted, so it stays good when rows leave at the front.
class RowList {
public:
    void push(Row row, Row first_live) {
        if (rows_.size() == rows_.capacity()) make_room(first_live);
        rows_.push_back(row);
    }
    void trim(Row first_live);
    bool erase(Row row);
    void restore(std::vector<Row> rows) { rows_ = std::move(rows); }

    std::span<const Row> rows() const { return {rows_.data() + head_, rows_.size() - head_}; }
    std::uint64_t begin_position() const { return dropped_ + head_; }
    bool empty() const { return head_ == rows_.size(); }
    std::size_t bytes() const { return rows_.capacity() * sizeof(Row); }

private:
    void make_room(Row first_live);
    void compact();

    std::vector<Row> rows_;
    std::size_t head_ = 0;       // the rows before it have left
    std::uint64_t dropped_ = 0;  // how many rows were before rows_[0]
};

// What one value of a family's key has: a list for each state, and the running aggregates over them.
struct Bucket {
    std::vector<Bits> key;
    std::uint64_t hash = 0;
    std::vector<RowList> lists;
    std::vector<Row> latest;  // for each state, in a family that keeps no more than that
    std::vector<std::unique_ptr<Sliding>> sliding;
    std::vector<std::unique_ptr<Beginnings>> beginnings;  // of rules whose nearest event is on a list here

    RowList& list(std::uint32_t slot) {
        if (slot >= lists.size()) lists.resize(slot + 1);
        return lists[slot];
    }
};

// States on one type of events whose lists are divided by the same attributes: an event finds the bucket once
// for all of them. No attributes: one bucket holds everything.
//
// A state that is only ever asked for its last event, from now on, keeps only that: `latest_only`.
class Family {
public:
    Family(std::uint32_t type, std::vector<int> attributes, bool latest_only);

    bool latest_only() const { return latest_only_; }

    // Put an event on the list of a state.
    void insert(const Store& store, std::size_t index, Row row, std::uint32_t slot) {
        Bucket* bucket = cached_bucket(store, index, row);
        if (bucket == nullptr) return;
        if (latest_only_) {
            if (slot >= bucket->latest.size()) bucket->latest.resize(list_count_, no_row);
            bucket->latest[slot] = row;
        } else {
            bucket->list(slot).push(row, store.first());
        }
    }

    // For each state the last event with the key of this one; nothing if the family keeps more than that.
    std::span<Row> latest(const Store& store, std::size_t index, Row row) {
        Bucket* bucket = latest_only_ ? cached_bucket(store, index, row) : nullptr;
        if (bucket == nullptr) return {};
        if (bucket->latest.size() < list_count_) bucket->latest.resize(list_count_, no_row);
        return bucket->latest;
    }

    std::uint32_t type() const { return type_; }
    const std::vector<int>& attributes() const { return attributes_; }

    std::uint32_t add_list();
    void remove_list(std::uint32_t slot);
    std::uint32_t add_sliding();
    std::uint32_t add_beginnings();
    void remove_beginnings(std::uint32_t slot);

    // The bucket of a stored event, made if there is none; null if an attribute of the key is.
    Bucket* bucket_of(const Store& store, std::size_t index);

    // The bucket with this key, if there is one. Rules of one terminator ask for the same one again and again.
    Bucket* find(std::span<const Bits> key) {
        if (found_ != nullptr && std::equal(key.begin(), key.end(), found_->key.begin())) return found_;
        Bucket* bucket = search(key);
        if (bucket != nullptr) found_ = bucket;
        return bucket;
    }
    Bucket* find_or_add(std::span<const Bits> key, const Store& store);

    // The memory of the last event's bucket, so that states of the same family share the search.
    Bucket* cached_bucket(const Store& store, std::size_t index, Row row) {
        if (cached_row_ != row) {
            cached_row_ = row;
            cached_ = bucket_of(store, index);
        }
        return cached_;
    }

    std::size_t lists() const { return list_count_; }
    std::size_t live_lists() const { return live_lists_; }
    std::vector<std::unique_ptr<Bucket>>& buckets() { return buckets_; }
    std::size_t bytes() const;
    void clear_cache() {
        cached_row_ = ~Row{0};
        found_ = nullptr;
    }

private:
    Bucket* search(std::span<const Bits> key) const;
    void sweep(const Store& store);
    void rehash(std::size_t capacity);
    void place(std::uint32_t bucket);

    std::uint32_t type_;
    std::vector<int> attributes_;
    bool latest_only_;
    std::vector<std::unique_ptr<Bucket>> buckets_;
    std::vector<std::uint32_t> table_;
    std::size_t sweep_at_ = 64;
    std::size_t list_count_ = 0;
    std::size_t live_lists_ = 0;
    std::vector<std::uint32_t> free_lists_;
    std::size_t sliding_count_ = 0;
    std::size_t beginnings_count_ = 0;
    std::vector<std::uint32_t> free_beginnings_;
    std::vector<Bits> scratch_;
    Row cached_row_ = ~Row{0};
    Bucket* cached_ = nullptr;
    Bucket* found_ = nullptr;
};

}  // namespace tyrex
