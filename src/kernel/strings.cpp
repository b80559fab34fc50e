#include "strings.hpp"

#include <cstring>

#include "value.hpp"

namespace tyrex {

namespace {

constexpr std::uint32_t empty = 0xffffffff;

}  // namespace

std::uint64_t hash_text(std::string_view text) {
    std::uint64_t hash = mix(text.size() + 0x9e3779b97f4a7c15ULL);
    const char* at = text.data();
    std::size_t left = text.size();
    while (left >= 8) {
        std::uint64_t word;
        std::memcpy(&word, at, 8);
        hash = mix(hash ^ word);
        at += 8;
        left -= 8;
    }
    if (left > 0) {
        std::uint64_t word = 0;
        std::memcpy(&word, at, left);
        hash = mix(hash ^ word);
    }
    return hash;
}

Strings::Strings() : table_(64, empty) {}

std::uint32_t Strings::intern(std::string_view text) {
    const std::uint64_t hash = hash_text(text);
    const std::size_t mask = table_.size() - 1;
    std::size_t slot = hash & mask;
    for (; table_[slot] != empty; slot = (slot + 1) & mask) {
        Entry& entry = entries_[table_[slot]];
        if (entry.hash == hash && entry.text == text) {
            entry.touched = epoch_;
            return table_[slot];
        }
    }
    std::uint32_t id;
    if (free_.empty()) {
        id = static_cast<std::uint32_t>(entries_.size());
        entries_.emplace_back();
    } else {
        id = free_.back();
        free_.pop_back();
    }
    entries_[id] = {std::string(text), hash, epoch_, 0, false};
    table_[slot] = id;
    ++live_;
    bytes_ += text.size() + sizeof(Entry);
    if (2 * live_ > table_.size()) grow();
    wait(id);
    return id;
}

void Strings::release(std::uint32_t id) {
    entries_[id].touched = epoch_;
    if (--entries_[id].holders == 0) wait(id);
}

void Strings::wait(std::uint32_t id) {
    if (entries_[id].waiting) return;
    entries_[id].waiting = true;
    released_.push_back({id, epoch_});
}

void Strings::reclaim(std::uint64_t epoch) {
    while (!released_.empty() && released_.front().epoch < epoch) {
        const std::uint32_t id = released_.front().id;
        released_.pop_front();
        entries_[id].waiting = false;
        if (entries_[id].holders > 0) continue;
        if (entries_[id].touched < epoch) {
            erase(id);
        } else {
            wait(id);
        }
    }
}

void Strings::grow() {
    std::vector<std::uint32_t> old(2 * table_.size(), empty);
    old.swap(table_);
    const std::size_t mask = table_.size() - 1;
    for (const std::uint32_t id : old) {
        if (id == empty) continue;
        std::size_t slot = entries_[id].hash & mask;
        while (table_[slot] != empty) slot = (slot + 1) & mask;
        table_[slot] = id;
    }
}

void Strings::erase(std::uint32_t id) {
    const std::size_t mask = table_.size() - 1;
    std::size_t hole = entries_[id].hash & mask;
    while (table_[hole] != id) hole = (hole + 1) & mask;
    // Move back what was pushed on by this entry, so that no probe ends at the hole.
    for (std::size_t slot = (hole + 1) & mask; table_[slot] != empty; slot = (slot + 1) & mask) {
        const std::size_t home = entries_[table_[slot]].hash & mask;
        if (((slot - home) & mask) >= ((slot - hole) & mask)) {
            table_[hole] = table_[slot];
            hole = slot;
        }
    }
    table_[hole] = empty;
    bytes_ -= entries_[id].text.size() + sizeof(Entry);
    entries_[id].text = std::string();
    free_.push_back(id);
    --live_;
}

}  // namespace tyrex
