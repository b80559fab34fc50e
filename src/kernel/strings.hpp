#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace tyrex {

// Depends on the content alone, and stays as it is: snapshots rely on where texts were sent by it.
std::uint64_t hash_text(std::string_view text);

// Every distinct text once, known by a number: equal texts have equal numbers.
//
// A text lives as long as someone retains it. When the last one releases it, it waits in a queue until
// `reclaim` says that nothing handed out before can still name it: results of a batch name texts without
// counting, which keeps the counting off the path of every composite event.
class Strings {
public:
    Strings();

    // The number of a text. A new one is retained by nobody: whoever keeps the number retains it.
    std::uint32_t intern(std::string_view text);

    std::string_view text(std::uint32_t id) const { return entries_[id].text; }
    void retain(std::uint32_t id) { ++entries_[id].holders; }
    void release(std::uint32_t id);

    // Free what was released in an epoch before this one, and is still retained by nobody.
    void reclaim(std::uint64_t epoch);
    void enter_epoch(std::uint64_t epoch) { epoch_ = epoch; }

    std::size_t count() const { return live_; }
    std::size_t bytes() const { return bytes_; }

private:
    struct Entry {
        std::string text;
        std::uint64_t hash = 0;
        std::uint64_t touched = 0;  // the last epoch in which somebody may have got hold of it
        std::uint32_t holders = 0;
        bool waiting = false;
    };
    struct Released {
        std::uint32_t id;
        std::uint64_t epoch;
    };

    void wait(std::uint32_t id);
    void grow();
    void erase(std::uint32_t id);

    std::vector<Entry> entries_;
    std::vector<std::uint32_t> free_;
    std::vector<std::uint32_t> table_;  // open addressing with linear probing; an id, or `empty`
    std::deque<Released> released_;
    std::uint64_t epoch_ = 0;
    std::size_t live_ = 0;
    std::size_t bytes_ = 0;
};

}  // namespace tyrex
