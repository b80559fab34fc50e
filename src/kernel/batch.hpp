#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "store.hpp"

namespace tyrex {

// The composite events that one rule made of one terminator: they stand together in the table of their type.
struct Run {
    std::uint32_t rule;
    std::uint32_t table;    // of the batch
    std::uint32_t count;
    std::uint64_t number;   // of the first of them among all composites of the batch
    std::uint64_t start;    // of their rows in the table
    std::uint64_t lineage;  // of their chosen events in the table's lineage
    Time time;
    Row terminator;
    Row first;              // what set the deadline
    std::uint64_t cause;    // the number of the event from outside, or of the timer, that began it
    std::uint64_t parent;   // the composite that is the terminator, or no_parent
};

constexpr std::uint64_t no_parent = ~std::uint64_t{0};

// Composite events of one type, as columns. `lineage` holds the chosen events of each, in order of declaration.
struct Table {
    std::uint32_t type;
    std::uint64_t rows = 0;
    std::vector<Column> columns;
    std::vector<Row> lineage;
};

// Events that composites of a batch were made of, kept when they leave the store.
struct Evidence {
    std::vector<Row> rows;  // ascending
    std::vector<Time> times;
    std::vector<std::uint32_t> ids;
    std::vector<Origin> origins;
    std::vector<Column> columns;
};

struct SubscriptionHit {
    std::uint32_t subscription;
    bool composite;
    std::uint64_t number;  // of the composite in the batch
    std::uint32_t type;    // of another event
    Row row;
};

// What came of one call.
struct Batch {
    std::uint64_t epoch = 0;
    std::uint64_t size = 0;
    std::vector<Run> runs;
    std::vector<Table> tables;              // one for each type that occurs
    std::vector<std::uint64_t> late;        // events from outside, by their number in the call
    std::vector<SubscriptionHit> hits;
    std::map<std::uint32_t, Evidence> evidence;
    bool sealed = false;
};

}  // namespace tyrex
