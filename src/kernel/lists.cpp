#include "lists.hpp"

#include <algorithm>

namespace tyrex {

namespace {

constexpr std::uint32_t empty = 0xffffffff;
constexpr std::size_t smallest_compaction = 32;

std::uint64_t hash_key(std::span<const Bits> key) {
    std::uint64_t hash = 0x9e3779b97f4a7c15ULL;
    for (const Bits bits : key) hash = mix(hash ^ bits);
    return hash;
}

}  // namespace

// Room comes first from the rows that have left.
void RowList::make_room(Row first_live) {
    while (head_ < rows_.size() && rows_[head_] < first_live) ++head_;
    if (4 * head_ >= rows_.size()) compact();
}

void RowList::compact() {
    rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(head_));
    dropped_ += head_;
    head_ = 0;
}

void RowList::trim(Row first_live) {
    while (head_ < rows_.size() && rows_[head_] < first_live) ++head_;
    if (head_ >= smallest_compaction && 2 * head_ >= rows_.size()) compact();
}

bool RowList::erase(Row row) {
    const auto from = rows_.begin() + static_cast<std::ptrdiff_t>(head_);
    const auto found = std::lower_bound(from, rows_.end(), row);
    if (found == rows_.end() || *found != row) return false;
    rows_.erase(found);
    return true;
}

Family::Family(std::uint32_t type, std::vector<int> attributes, bool latest_only)
    : type_(type),
      attributes_(std::move(attributes)),
      latest_only_(latest_only),
      table_(16, empty),
      scratch_(attributes_.size()) {}

std::uint32_t Family::add_list() {
    ++live_lists_;
    if (!free_lists_.empty()) {
        const std::uint32_t slot = free_lists_.back();
        free_lists_.pop_back();
        return slot;
    }
    return static_cast<std::uint32_t>(list_count_++);
}

void Family::remove_list(std::uint32_t slot) {
    --live_lists_;
    for (const auto& bucket : buckets_) {
        if (slot < bucket->lists.size()) bucket->lists[slot] = RowList();
        if (slot < bucket->latest.size()) bucket->latest[slot] = no_row;
    }
    free_lists_.push_back(slot);
}

std::uint32_t Family::add_sliding() { return static_cast<std::uint32_t>(sliding_count_++); }

std::uint32_t Family::add_beginnings() {
    if (free_beginnings_.empty()) return static_cast<std::uint32_t>(beginnings_count_++);
    const std::uint32_t slot = free_beginnings_.back();
    free_beginnings_.pop_back();
    return slot;
}

void Family::remove_beginnings(std::uint32_t slot) {
    for (const auto& bucket : buckets_) {
        if (slot < bucket->beginnings.size()) bucket->beginnings[slot].reset();
    }
    free_beginnings_.push_back(slot);
}

Bucket* Family::bucket_of(const Store& store, std::size_t index) {
    for (std::size_t i = 0; i < attributes_.size(); ++i) {
        const int column = attributes_[i];
        const Value value = as_key(store.value(index, column), store.type(column), store.type(column));
        if (value.null) return nullptr;
        scratch_[i] = value.bits;
    }
    return find_or_add(scratch_, store);
}

Bucket* Family::search(std::span<const Bits> key) const {
    const std::uint64_t hash = hash_key(key);
    const std::size_t mask = table_.size() - 1;
    for (std::size_t slot = hash & mask; table_[slot] != empty; slot = (slot + 1) & mask) {
        Bucket* bucket = buckets_[table_[slot]].get();
        if (bucket->hash == hash && std::equal(key.begin(), key.end(), bucket->key.begin())) return bucket;
    }
    return nullptr;
}

Bucket* Family::find_or_add(std::span<const Bits> key, const Store& store) {
    if (Bucket* bucket = search(key)) return bucket;
    if (buckets_.size() >= sweep_at_) sweep(store);
    if (2 * (buckets_.size() + 1) > table_.size()) rehash(2 * table_.size());
    auto bucket = std::make_unique<Bucket>();
    bucket->key.assign(key.begin(), key.end());
    bucket->hash = hash_key(key);
    buckets_.push_back(std::move(bucket));
    place(static_cast<std::uint32_t>(buckets_.size() - 1));
    return buckets_.back().get();
}

// Buckets whose events have all left are of no use. Sweeping when their number has doubled costs a constant
// for each bucket made.
void Family::sweep(const Store& store) {
    std::erase_if(buckets_, [&](const std::unique_ptr<Bucket>& bucket) {
        for (RowList& list : bucket->lists) list.trim(store.first());
        return std::all_of(bucket->lists.begin(), bucket->lists.end(), [](const RowList& l) { return l.empty(); }) &&
               std::all_of(bucket->latest.begin(), bucket->latest.end(),
                           [&](Row row) { return row == no_row || row < store.first(); });
    });
    std::size_t capacity = 16;
    while (capacity < 2 * (buckets_.size() + 1)) capacity *= 2;
    rehash(capacity);
    sweep_at_ = std::max<std::size_t>(64, 2 * buckets_.size());
    clear_cache();
}

void Family::rehash(std::size_t capacity) {
    table_.assign(capacity, empty);
    for (std::size_t i = 0; i < buckets_.size(); ++i) place(static_cast<std::uint32_t>(i));
}

void Family::place(std::uint32_t bucket) {
    const std::size_t mask = table_.size() - 1;
    std::size_t slot = buckets_[bucket]->hash & mask;
    while (table_[slot] != empty) slot = (slot + 1) & mask;
    table_[slot] = bucket;
}

std::size_t Family::bytes() const {
    std::size_t total = table_.capacity() * sizeof(std::uint32_t);
    for (const auto& bucket : buckets_) {
        total += sizeof(Bucket) + bucket->lists.capacity() * sizeof(RowList);
        total += bucket->latest.capacity() * sizeof(Row);
        for (const RowList& list : bucket->lists) total += list.bytes();
        for (const auto& beginnings : bucket->beginnings) total += beginnings ? beginnings->bytes() : 0;
    }
    return total;
}

}  // namespace tyrex
