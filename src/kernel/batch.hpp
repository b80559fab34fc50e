#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "store.hpp"

namespace tyrex {

// The composite events that one rule made of one terminator: they stand together in the table of their type.
struct Run {
    std::uint32_t rule;
    std::uint32_t table;    // of the batch
    std::uint32_t count;
    std::uint32_t ordinal;  // of the run among those of the table
    std::uint64_t number;   // of the first of them among all composites of the batch
    std::uint64_t start;    // of their rows in the table
    std::uint64_t lineage;  // of their chosen events in the table's lineage
    Time time;
    Row terminator;
};
using Runs = std::vector<Run, Uncleared<Run>>;

// What a run follows from.
struct Cause {
    std::uint64_t event;   // the arrival of the event from outside, or timer_cause
    std::uint64_t parent;  // the composite that is the terminator, or no_parent
};

constexpr std::uint64_t no_parent = ~std::uint64_t{0};
constexpr std::uint64_t timer_cause = ~std::uint64_t{0};  // timers come after all events of their instant

// One attribute of composite events: a value for each, or for each run of them where it is the same in a run.
struct Values {
    Type type;
    bool by_run = false;
    Words bits;
    Flags null;  // empty as long as no value is null

    Value at(std::size_t index) const { return {bits[index], !null.empty() && null[index] != 0}; }

    void add(Value value, std::size_t count) {
        if (value.null) need_nulls();
        bits.resize(bits.size() + count, value.bits);
        if (!null.empty() || value.null) null.resize(bits.size(), value.null);
    }

    // Room for more, which the caller fills; of nulls only if there are some.
    Bits* add_bits(std::size_t count) {
        bits.resize(bits.size() + count);
        return bits.data() + bits.size() - count;
    }
    std::uint8_t* add_nulls(std::size_t count) {
        if (null.empty()) null.assign(bits.size() - count, 0);
        null.resize(bits.size());
        return null.data() + null.size() - count;
    }

private:
    void need_nulls() {
        if (null.empty()) null.assign(bits.size(), 0);
    }
};

// Composite events of one type, as columns. `lineage` holds the chosen events of each, in order of declaration,
// run by run; a run of a deadline begins with the event that set it.
struct Table {
    std::uint32_t type;
    std::uint64_t rows = 0;
    std::uint32_t runs = 0;
    std::vector<Values> columns;
    std::vector<Row> lineage;

    Value value(std::size_t column, const Run& run, std::size_t number) const {
        const Values& values = columns[column];
        return values.at(values.by_run ? run.ordinal : run.start + number);
    }
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
    Time time;
    std::uint64_t cause;   // as in Cause
};

// The memory of batches that are gone, for those to come: asking the system for it anew costs more than
// filling it. Batches may go in any thread.
class Memory {
public:
    void take(Runs& runs, std::vector<Table>& tables) {
        const std::lock_guard lock(mutex_);
        runs.swap(runs_);
        tables.swap(tables_);
    }
    void give(Runs& runs, std::vector<Table>& tables, const std::vector<std::uint32_t>& texts) {
        const std::lock_guard lock(mutex_);
        texts_.insert(texts_.end(), texts.begin(), texts.end());
        runs.clear();
        if (runs.capacity() > runs_.capacity() && runs.capacity() < most) runs_.swap(runs);
        if (tables_.empty()) tables_.swap(tables);
    }

    // The texts that batches have retained and need no more.
    std::vector<std::uint32_t> texts() {
        const std::lock_guard lock(mutex_);
        return std::exchange(texts_, {});
    }

private:
    static constexpr std::size_t most = 1 << 20;

    std::mutex mutex_;
    Runs runs_;
    std::vector<Table> tables_;
    std::vector<std::uint32_t> texts_;
};

// What came of one call.
struct Batch {
    Batch(std::shared_ptr<Memory> from) : memory(std::move(from)) { memory->take(runs, spare); }
    ~Batch() { memory->give(runs, tables, texts); }
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

    // A table for composites of a type, with memory from an earlier batch where there is some.
    std::uint32_t add_table(const Store& store, std::uint32_t type, const std::vector<bool>& by_run);

    std::shared_ptr<Memory> memory;
    std::vector<Table> spare;
    std::uint64_t epoch = 0;
    std::uint64_t size = 0;
    Runs runs;
    std::vector<Cause> causes;  // of the runs, if the engine is one of many
    std::vector<Table> tables;              // one for each type that occurs
    std::vector<std::uint64_t> late;        // events from outside, by their number in the call
    std::vector<SubscriptionHit> hits;
    std::map<std::uint32_t, Evidence> evidence;
    bool sealed = false;
    bool retains = false;  // its texts: else they live because the engine knows its epoch
    std::vector<std::uint32_t> texts;
};

}  // namespace tyrex
