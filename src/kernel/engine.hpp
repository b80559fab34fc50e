#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <queue>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "batch.hpp"
#include "calendar.hpp"
#include "lists.hpp"
#include "program.hpp"
#include "rule.hpp"
#include "static_index.hpp"
#include "store.hpp"
#include "strings.hpp"

namespace tyrex {

// Where the events of one type stand among the columns of an input.
struct InputBlock {
    std::uint32_t type;
    std::vector<const Column*> columns;  // in declared order
    const Time* times;
    const std::vector<std::uint32_t>* ids;  // given by the source, or no_id; null if none has one
    const std::uint16_t* shares = nullptr;  // to which share each event belongs; null if all are the engine's own
    bool foreign = false;                   // none is its own
};

// Events in the order of their arrival, as columns; texts are interned.
//
// `order` says to which block each event belongs. In a `table` an event's row is its place in that order, and
// blocks share columns; otherwise each block has columns, and rows, of its own.
//
// An engine that is one of many learns of all events, as they move time on, and looks at those of its share.
struct Input {
    std::deque<Column> columns;
    std::deque<std::vector<std::uint32_t>> ids;
    std::vector<InputBlock> blocks;
    std::span<const std::uint32_t> order;
    bool table = false;
    std::uint16_t share = 0;
};

// An event that waits for the watermark. Of a foreign one only its place in the order is known.
struct Pending {
    Time time;
    std::uint64_t arrival;
    std::uint32_t type;
    std::uint32_t id;  // a text, no_id, or `elsewhere`
    std::vector<Value> values;

    static constexpr std::uint32_t elsewhere = no_id - 1;

    bool foreign() const { return id == elsewhere; }
    bool operator>(const Pending& other) const {
        return time != other.time ? time > other.time : arrival > other.arrival;
    }
};

// T-Rex's engine: rules over stored events (T-Rex paper, section 4), event by event, in order of time.
//
// An event goes to the predicates that it fulfils: these put it on lists, and name the rules that it
// terminates. Such a rule is evaluated there and then over the lists; nothing is kept of partial matches.
class Engine {
public:
    Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // --- What it knows
    std::uint32_t add_type(const std::string& name, const std::vector<Type>& types);
    std::uint32_t add_predicate(std::uint32_t type, Predicate predicate);
    void remove_predicate(std::uint32_t type, std::uint32_t predicate);
    std::uint32_t add_family(std::uint32_t type, const std::vector<int>& attributes, bool latest_only);
    std::uint32_t add_aggregate(AggregateCode aggregate);
    std::uint32_t add_rule(RuleCode rule);
    void remove_rule(std::uint32_t rule);
    void set_calendar_type(std::uint32_t type) { timer_type_ = type; }

    // Change what follows from a predicate.
    template <typename Change>
    void change_predicate(std::uint32_t number, Change change) {
        change(predicates_[number]);
        refresh(number);
    }
    Family& family(std::uint32_t number) { return *families_[number]; }
    RuleCode& rule(std::uint32_t number) { return rules_[number]; }
    RuleCounts& counts(std::uint32_t number) { return counts_[number]; }
    void set_paused(std::uint32_t rule, bool paused) { rules_[rule].paused = members_[rule].paused = paused; }
    void set_stored(std::uint32_t rule, bool stored) { rules_[rule].stored = members_[rule].stored = stored; }
    Store& store(std::uint32_t type) { return *stores_[type]; }
    std::size_t types() const { return stores_.size(); }
    std::size_t rules() const { return rules_.size(); }
    Strings& strings() { return strings_; }
    Zone& zone() { return zone_; }
    Machine& machine() { return machine_; }

    // --- What happens
    void begin();  // a batch: until `end`, texts that are interned stay
    std::shared_ptr<Batch> end();
    void send(const Input& input);
    void advance(Time time);
    void flush(bool has_until, Time until);

    // Copy what a batch refers to, so that it needs the engine no more.
    void seal(Batch& batch);
    std::string composite_id(Batch& batch, std::uint64_t number);
    std::string composite_id(Batch& batch, const Run& run, std::uint64_t number);
    std::uint32_t id_of(Batch& batch, std::uint32_t type, Row row);
    Row part_of(const Batch& batch, const Run& run, std::uint64_t number, std::size_t place) const;
    static const Run& run_of(const Batch& batch, std::uint64_t number);

    std::mutex busy;  // held by whoever works with the engine or reads one of its batches

    // --- As one of many engines that share the events of a stream
    void join();
    // Know of time and of what waits what another one knows.
    void follow(const Engine& other);
    // The place in the order at which rules are deployed: that of the next event. The same for all engines.
    void mark(Sequence moment);
    std::vector<Pending> take_pending();
    void give_pending(std::vector<Pending> pending);
    void hold_texts(Pending& pending, const Strings& from);
    void release_texts(Pending& pending);

    static constexpr int spacing = 16;  // bits for what follows from one event

    Time delay = 0;
    std::uint64_t late_events = 0;
    std::size_t open_deadlines() const;
    std::size_t waiting() const { return pending_.size(); }
    std::size_t bytes() const;
    bool has_time() const { return started_; }
    Time now() const { return latest_; }
    Sequence sequence() const { return std::max(next_sequence_, ticks_ << spacing); }

private:
    friend class SnapshotWriter;
    friend class SnapshotReader;

    struct Deadline {
        Time due;
        Sequence sequence;  // of what set it
        std::uint64_t order;
        std::uint32_t rule;
        Row first;

        bool operator>(const Deadline& other) const {
            if (due != other.due) return due > other.due;
            return sequence != other.sequence ? sequence > other.sequence : order > other.order;
        }
    };
    struct Waiting {  // composite events that are to be offered
        std::uint64_t run;
        std::uint32_t next;
    };

    // Order and time
    void hold(const InputBlock& block, std::size_t at, bool foreign);
    void release(Time until);
    void accept(std::uint32_t type, Time time);
    void pass_by(Time time);
    // Go on to the next event from outside. Engines that share a stream give it the same place in the order,
    // however much each has made of those before it; only where that is more than there is room for, one runs
    // ahead.
    void tick() {
        if (one_of_many_) next_sequence_ = std::max(next_sequence_, ticks_++ << spacing);
    }
    void fire_timers(Time until);
    // Let time pass until an instant, which it includes.
    void pass_time(Time until) {
        if (timers_until_ >= until) return;
        if (!calendar_rules_.empty() || (!deadlines_.empty() && deadlines_.top().due <= until)) {
            return fire_timers(until);
        }
        timers_until_ = until;
        now_ = std::max(now_, until);
    }
    bool next_calendar(Time until, Time& instant);
    bool fits(const RuleCode& rule, const TimerFields& fields) const;
    std::size_t append_timer(Time instant, const TimerFields& fields);
    void fire_calendar(Time instant);
    void expire(const Deadline& deadline);
    void trim(std::uint32_t type);
    void trim_all();

    // Detection
    void offer(std::uint32_t type, std::size_t index);
    void drain();
    void set_deadline(std::uint32_t rule, const Chosen& first);
    void fire(std::uint32_t rule);
    void fire_alike(std::span<const std::uint32_t> rules);
    void add_run(std::uint32_t rule, std::uint32_t number, std::size_t count, Table& table, const Chosen& terminator);
    std::uint32_t add_table(std::uint32_t type);
    bool is_by_run(const RuleCode& rule, const OutputCode& output) const;
    void refresh(std::uint32_t predicate);
    void extend(const RuleCode& rule, std::size_t step);
    void extend_beginnings(const RuleCode& rule);
    void choose(const RuleCode& rule, std::size_t step, const Store& store, Row row);
    bool is_complete(const RuleCode& rule);
    void emit(RuleCode& rule, std::uint32_t number);
    void consume(RuleCode& rule);
    std::span<const Row> look_up(const Lookup& lookup);
    Bucket* find_bucket(const Lookup& lookup);
    std::pair<std::size_t, std::size_t> cut(std::span<const Row> rows, const Store& store, Time from,
                                            Sequence before) const;
    bool is_absent(const NegationCode& negation);
    Value aggregate(std::uint32_t number, std::span<const Chosen> events);
    Value compute(const AggregateCode& code, const Store& store, std::span<const Row> rows);

    // Identity
    std::uint32_t identify(std::uint32_t type, std::size_t index);
    std::uint32_t identify(Evidence& evidence, std::uint32_t type, std::size_t at);
    void retain_texts(Batch& batch);
    void retain(Batch& batch, std::uint32_t text);
    void keep(Batch& batch, std::uint32_t type, Row oldest, Row until);

    Strings strings_;
    std::vector<std::unique_ptr<Store>> stores_;
    std::vector<std::unique_ptr<StaticIndex>> indexes_;
    std::vector<Predicate> predicates_;
    std::vector<Insert> only_inserts_;  // for each predicate that puts events on one list and does nothing else
    std::vector<std::uint32_t> free_predicates_;
    std::vector<std::unique_ptr<Family>> families_;
    std::vector<AggregateCode> aggregates_;
    std::vector<RuleCode> rules_;
    std::vector<RuleCounts> counts_;  // for each rule
    std::vector<Shape> shapes_;    // of simple rules
    std::vector<Member> members_;  // for each rule
    Machine machine_;
    Zone zone_;
    std::uint32_t timer_type_ = 0;
    std::vector<std::uint32_t> calendar_rules_;  // in order of deployment

    bool started_ = false;
    Time latest_ = 0;      // the greatest timestamp seen
    Time watermark_ = std::numeric_limits<Time>::min();  // what is older is late
    Time now_ = 0;         // of the event that is being processed
    Time timers_until_ = 0;
    Sequence next_sequence_ = 0;
    bool one_of_many_ = false;
    Sequence ticks_ = 0;  // as one of many: the events from outside, so that all agree on places in the order
    std::uint64_t arrivals_ = 0;
    std::uint64_t cause_ = 0;
    std::uint64_t parent_ = no_parent;
    std::uint64_t epoch_ = 0;
    std::uint64_t since_trim_ = 0;
    std::priority_queue<Pending, std::vector<Pending>, std::greater<>> pending_;
    std::priority_queue<Deadline, std::vector<Deadline>, std::greater<>> deadlines_;
    std::deque<Waiting> queue_;

    // For each type, where the current batch keeps its composites, and the oldest row that these name.
    struct InBatch {
        std::uint64_t epoch = 0;
        std::uint32_t table = no_id;
        Row oldest = no_row;
    };
    InBatch& in_batch(std::uint32_t type) {
        InBatch& found = in_batch_[type];
        if (found.epoch != epoch_) {
            found = {epoch_, no_id, no_row};
            in_batch_types_.push_back(type);
        }
        return found;
    }

    std::shared_ptr<Memory> memory_ = std::make_shared<Memory>();
    std::shared_ptr<Batch> batch_;
    std::vector<InBatch> in_batch_;
    std::vector<std::uint32_t> in_batch_types_;  // those that occur
    // Batches of the last calls: no text of theirs goes. Those that are kept longer retain their own.
    static constexpr std::uint64_t held_calls = 8;
    std::vector<std::weak_ptr<Batch>> given_out_;

    // For the rule that is being evaluated
    std::vector<Chosen> chosen_;
    // For each type, which attributes are the same in all composites of a run, whatever rule makes them.
    struct ByRun {
        std::size_t rules = 0;
        std::vector<bool> attributes;
    };
    std::unordered_map<std::uint32_t, ByRun> made_by_run_;

    std::vector<Row, Uncleared<Row>> matches_;  // the chosen rows of each match, one after the other
    std::uint64_t reached_ = 0;  // how often all events of a rule were chosen
    std::span<const Row> matched_;  // these, or the part of a list that they would be a copy of
    std::vector<std::uint32_t> hit_rules_;
    std::vector<std::uint32_t> hit_members_;
    std::vector<std::uint32_t> hit_subscriptions_;
    std::vector<Bits> key_;
};

}  // namespace tyrex
