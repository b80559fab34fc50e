#include "engine.hpp"

#include <algorithm>

namespace tyrex {

namespace {

constexpr std::uint64_t trim_every = 4096;

// Whether a rule chooses one event, by `last` or `first`, without any further condition; and then its shape.
bool is_simple(const RuleCode& rule, Shape& shape) {
    if (rule.steps.size() != 1 || rule.given != 1 || rule.finest >= 0) return false;
    const Step& step = rule.steps[0];
    const bool plain = std::all_of(rule.outputs.begin(), rule.outputs.end(),
                                   [](const OutputCode& output) { return output.kind == OutputCode::Kind::Attribute; });
    if (!plain || step.policy == Policy::Each || step.k != 1 || !step.conditions.empty() ||
        step.list.key.size() > 1 || !rule.negations.empty() || !rule.guards.empty() || rule.types_repeat ||
        !rule.consumes.empty()) {
        return false;
    }
    shape.last = step.policy == Policy::Last;
    shape.family = step.list.family;
    if (!step.list.key.empty()) shape.key = step.list.key[0];
    shape.type = step.type;
    shape.defines = rule.defines;
    for (const OutputCode& output : rule.outputs) shape.outputs.push_back({output.event, output.column});
    return true;
}

}  // namespace

Engine::Engine() : machine_(strings_) {
    machine_.owner = this;
    machine_.aggregates = [](void* owner, std::uint32_t number, std::span<const Chosen> events) {
        return static_cast<Engine*>(owner)->aggregate(number, events);
    };
}

// --- What it knows ---------------------------------------------------------------------------------------

std::uint32_t Engine::add_type(const std::string& name, const std::vector<Type>& types) {
    stores_.push_back(std::make_unique<Store>(name, types));
    indexes_.push_back(std::make_unique<StaticIndex>(*stores_.back()));
    in_batch_.emplace_back();
    return static_cast<std::uint32_t>(stores_.size() - 1);
}

std::uint32_t Engine::add_predicate(std::uint32_t type, Predicate predicate) {
    std::uint32_t number;
    if (free_predicates_.empty()) {
        number = static_cast<std::uint32_t>(predicates_.size());
        predicates_.emplace_back();
    } else {
        number = free_predicates_.back();
        free_predicates_.pop_back();
    }
    predicates_[number] = std::move(predicate);
    only_inserts_.resize(predicates_.size());
    refresh(number);
    indexes_[type]->add(number, predicates_[number].access);
    return number;
}

void Engine::remove_predicate(std::uint32_t type, std::uint32_t predicate) {
    indexes_[type]->remove(predicate, predicates_[predicate].access);
    predicates_[predicate] = {};
    free_predicates_.push_back(predicate);
}

void Engine::refresh(std::uint32_t number) {
    const Predicate& predicate = predicates_[number];
    const bool only_inserts = predicate.rest.empty() && predicate.inserts.size() == 1 &&
                              predicate.terminates.empty() && predicate.sets.empty() &&
                              predicate.subscriptions.empty();
    only_inserts_[number] = only_inserts ? predicate.inserts[0] : Insert{no_list, 0};
}

std::uint32_t Engine::add_family(std::uint32_t type, const std::vector<int>& attributes, bool latest_only) {
    families_.push_back(std::make_unique<Family>(type, attributes, latest_only));
    return static_cast<std::uint32_t>(families_.size() - 1);
}

std::uint32_t Engine::add_aggregate(AggregateCode aggregate) {
    aggregates_.push_back(std::move(aggregate));
    return static_cast<std::uint32_t>(aggregates_.size() - 1);
}

// Whether a value is the same in all composites of a run: it comes from what the rule is given.
bool Engine::is_by_run(const RuleCode& rule, const OutputCode& output) const {
    switch (output.kind) {
        case OutputCode::Kind::Attribute: return output.event < rule.given;
        case OutputCode::Kind::Aggregate: return rule.steps.empty() || aggregates_[output.aggregate].shared;
        default: return rule.steps.empty();
    }
}

std::uint32_t Engine::add_rule(RuleCode rule) {
    rules_.push_back(std::move(rule));
    const auto number = static_cast<std::uint32_t>(rules_.size() - 1);
    if (rules_[number].finest >= 0) calendar_rules_.push_back(number);
    if (rules_[number].keeps_beginnings) {
        rules_[number].beginnings = families_[rules_[number].steps[0].list.family]->add_beginnings();
    }
    const RuleCode& added = rules_[number];
    ByRun& made = made_by_run_[added.defines];
    if (made.rules++ == 0) made.attributes.assign(added.outputs.size(), true);
    for (std::size_t c = 0; c < added.outputs.size(); ++c) {
        if (!is_by_run(added, added.outputs[c])) made.attributes[c] = false;
    }
    counts_.emplace_back();
    members_.emplace_back();
    Shape shape;
    if (is_simple(rules_[number], shape)) {
        const auto found = std::find(shapes_.begin(), shapes_.end(), shape);
        const Step& step = rules_[number].steps[0];
        members_[number] = {static_cast<std::uint32_t>(found - shapes_.begin()), step.list.slot, step.window,
                            rules_[number].paused, rules_[number].stored};
        if (found == shapes_.end()) shapes_.push_back(shape);
    }
    return number;
}

void Engine::remove_rule(std::uint32_t rule) {
    --made_by_run_[rules_[rule].defines].rules;
    if (rules_[rule].keeps_beginnings) {
        families_[rules_[rule].steps[0].list.family]->remove_beginnings(rules_[rule].beginnings);
    }
    // Batches that were given out still ask for its name and its events.
    RuleCode removed;
    removed.name = rules_[rule].name;
    removed.order = rules_[rule].order;
    removed.defines = rules_[rule].defines;
    removed.given = rules_[rule].given;
    removed.types = rules_[rule].types;
    removed.alive = false;
    rules_[rule] = std::move(removed);
    members_[rule].shape = no_shape;
    std::erase(calendar_rules_, rule);
}

std::size_t Engine::open_deadlines() const {
    auto copy = deadlines_;
    std::size_t open = 0;
    for (; !copy.empty(); copy.pop()) {
        const RuleCode& rule = rules_[copy.top().rule];
        if (rule.alive && !rule.consumed_first.contains(copy.top().first)) ++open;
    }
    return open;
}

std::size_t Engine::bytes() const {
    std::size_t total = strings_.bytes();
    for (const auto& store : stores_) total += store->bytes();
    for (const auto& family : families_) total += family->bytes();
    return total;
}

// --- Batches ---------------------------------------------------------------------------------------------

void Engine::begin() {
    std::uint64_t oldest = ++epoch_;
    std::erase_if(given_out_, [&](const std::weak_ptr<Batch>& given) {
        const std::shared_ptr<Batch> batch = given.lock();
        if (batch == nullptr) return true;
        if (!batch->sealed) seal(*batch);
        if (epoch_ - batch->epoch > held_calls) {
            retain_texts(*batch);
            return true;
        }
        oldest = std::min(oldest, batch->epoch);
        return false;
    });
    for (const std::uint32_t text : memory_->texts()) strings_.release(text);
    strings_.reclaim(oldest);
    strings_.enter_epoch(epoch_);
    batch_ = std::make_shared<Batch>(memory_);
    batch_->epoch = epoch_;
    in_batch_types_.clear();
    cause_ = 0;
}

std::shared_ptr<Batch> Engine::end() {
    std::shared_ptr<Batch> batch = std::move(batch_);
    batch_ = nullptr;
    if (batch->size > 0 || !batch->hits.empty()) {
        given_out_.push_back(batch);
    } else {
        batch->sealed = true;
    }
    return batch;
}

// --- Order and time --------------------------------------------------------------------------------------

void Engine::send(const Input& input) {
    std::vector<std::size_t> next(input.blocks.size(), 0);
    std::vector<std::uint64_t> passed(input.blocks.size(), 0);  // events of each block that others look at
    for (std::size_t number = 0; number < input.order.size(); ++number) {
        const std::size_t which = input.order[number];
        const InputBlock& block = input.blocks[which];
        const std::size_t at = input.table ? number : next[which]++;
        const Time time = block.times[at];
        if (time < watermark_) {
            ++late_events;
            batch_->late.push_back(number);
            continue;
        }
        if (!started_) {
            started_ = true;
            latest_ = time;
            timers_until_ = time - 1;  // time begins with the first event
        }
        const bool foreign = block.foreign || (block.shares != nullptr && block.shares[at] != input.share);
        latest_ = std::max(latest_, time);
        watermark_ = std::max(watermark_, time - delay);
        if (delay > 0) {
            // Before anything was processed, an event may come that is older than the first.
            timers_until_ = sequence() == 0 ? std::min(timers_until_, time - 1) : timers_until_;
            hold(block, at, foreign);
            continue;
        }
        const std::uint64_t arrival = arrivals_++;
        if (foreign) {
            pass_by(time);
            ++passed[which];
            continue;
        }
        accept(block.type, time);
        cause_ = arrival;
        Store& store = *stores_[block.type];
        const std::uint32_t id = block.ids == nullptr ? no_id : (*block.ids)[at];
        const Origin origin = id == no_id ? Origin::Content : Origin::Source;
        const std::size_t index = store.append(time, next_sequence_++, origin, id);
        for (std::size_t c = 0; c < block.columns.size(); ++c) {
            store.columns()[c].bits.push_back(block.columns[c]->bits[at]);
            store.columns()[c].null.push_back(block.columns[c]->null[at]);
        }
        parent_ = no_parent;
        offer(block.type, index);
        if (!queue_.empty()) drain();
    }
    for (std::size_t b = 0; b < passed.size(); ++b) stores_[input.blocks[b].type]->arrived += passed[b];
    if (delay > 0 && started_) release(watermark_);
    if (started_) pass_time(watermark_ - 1);
}

void Engine::hold(const InputBlock& block, std::size_t at, bool foreign) {
    if (foreign) return pending_.push({block.times[at], arrivals_++, block.type, Pending::elsewhere, {}});
    Pending pending{block.times[at], arrivals_++, block.type, block.ids == nullptr ? no_id : (*block.ids)[at], {}};
    pending.values.reserve(block.columns.size());
    for (const Column* column : block.columns) {
        const Value value = column->at(at);
        if (column->type == Type::String && !value.null) strings_.retain(as_string(value.bits));
        pending.values.push_back(value);
    }
    if (pending.id != no_id) strings_.retain(pending.id);
    pending_.push(std::move(pending));
}

void Engine::release(Time until) {
    while (!pending_.empty() && pending_.top().time <= until) {
        Pending event = std::move(const_cast<Pending&>(pending_.top()));  // its place in the order stays
        pending_.pop();
        if (event.foreign()) {
            pass_by(event.time);
            ++stores_[event.type]->arrived;
            continue;
        }
        accept(event.type, event.time);
        cause_ = event.arrival;
        Store& store = *stores_[event.type];
        const Origin origin = event.id == no_id ? Origin::Content : Origin::Source;
        const std::size_t index = store.append(event.time, next_sequence_++, origin, event.id);
        for (std::size_t c = 0; c < event.values.size(); ++c) {
            store.columns()[c].bits.push_back(event.values[c].bits);
            store.columns()[c].null.push_back(event.values[c].null);
        }
        parent_ = no_parent;
        offer(event.type, index);
        release_texts(event);  // the store holds them for itself by now
        if (!queue_.empty()) drain();
    }
}

// Make ready for an event of this time: what is due before it happens first.
void Engine::accept(std::uint32_t type, Time time) {
    pass_time(time - 1);
    now_ = std::max(now_, time);
    ++stores_[type]->arrived;
    trim(type);
    if (++since_trim_ >= std::max<std::uint64_t>(trim_every, stores_.size())) trim_all();
    tick();
}

// Take note of an event that another engine looks at: time moves on with it. It is counted by the caller.
void Engine::pass_by(Time time) {
    pass_time(time - 1);
    now_ = std::max(now_, time);
    if (++since_trim_ >= std::max<std::uint64_t>(trim_every, stores_.size())) trim_all();
    tick();
}

void Engine::advance(Time time) {
    watermark_ = std::max(watermark_, time);
    if (!started_) return;  // time begins with the first event
    latest_ = std::max(latest_, time);
    release(watermark_);
    pass_time(watermark_ - 1);
}

void Engine::flush(bool has_until, Time until) {
    if (!started_) return;
    release(std::numeric_limits<Time>::max());
    if (has_until) latest_ = std::max(latest_, until);
    watermark_ = std::max(watermark_, latest_);
    pass_time(latest_);
}

void Engine::trim(std::uint32_t type) {
    Store& store = *stores_[type];
    if (store.size() == 0) return;
    const Time before = now_ - store.horizon;
    const std::size_t index = store.index(store.first());
    if (store.time(index) >= before) return;
    const Row oldest = in_batch(type).oldest;
    if (oldest != no_row) {
        Row until = store.first();
        while (until < store.end() && store.time(store.index(until)) < before) ++until;
        keep(*batch_, type, oldest, until);
    }
    store.forget_before(before, strings_);
}

void Engine::trim_all() {
    since_trim_ = 0;
    for (std::uint32_t type = 0; type < stores_.size(); ++type) trim(type);
}

// Fire all timers up to an instant, in order: at one instant the calendar's first, then the deadlines.
void Engine::fire_timers(Time until) {
    while (timers_until_ < until) {
        Time instant = until;
        bool calendar = !calendar_rules_.empty() && next_calendar(until, instant);
        if (!deadlines_.empty() && deadlines_.top().due <= instant) {
            calendar = calendar && deadlines_.top().due == instant;
            instant = deadlines_.top().due;
        }
        timers_until_ = instant;
        now_ = std::max(now_, instant);
        if (calendar) fire_calendar(instant);
        while (!deadlines_.empty() && deadlines_.top().due <= instant) {
            const Deadline deadline = deadlines_.top();
            deadlines_.pop();
            expire(deadline);
        }
    }
}

// The next instant at which some calendar timer may fire.
bool Engine::next_calendar(Time until, Time& instant) {
    bool seconds = false;
    for (const std::uint32_t rule : calendar_rules_) seconds = seconds || rules_[rule].finest == 0;
    const Time step = seconds ? second : minute;
    Time at = (timers_until_ / step + (timers_until_ % step < 0 ? 0 : 1)) * step;
    for (; at <= until; at += step) {
        const TimerFields fields = zone_.fields(at);
        for (const std::uint32_t rule : calendar_rules_) {
            if (fits(rules_[rule], fields)) {
                instant = at;
                return true;
            }
        }
    }
    return false;
}

// Whether the fields finer than the finest one that the rule mentions are at their start.
bool Engine::fits(const RuleCode& rule, const TimerFields& fields) const {
    constexpr int coarseness[7] = {0, 1, 2, 3, 3, 4, 5};      // S, M, H, D, Day, Month, Year
    constexpr std::int64_t start[7] = {0, 0, 0, -1, 1, 1, -1};  // -1: has none
    for (std::size_t i = 0; i < 7; ++i) {
        if (start[i] >= 0 && coarseness[i] < rule.finest && fields[i] != start[i]) return false;
    }
    return true;
}

std::size_t Engine::append_timer(Time instant, const TimerFields& fields) {
    Store& store = *stores_[timer_type_];
    const std::size_t index = store.append(instant, next_sequence_, Origin::Content);
    for (std::size_t c = 0; c < fields.size(); ++c) {
        store.columns()[c].bits.push_back(std::bit_cast<Bits>(fields[c]));
        store.columns()[c].null.push_back(0);
    }
    return index;
}

void Engine::fire_calendar(Time instant) {
    trim(timer_type_);
    const TimerFields fields = zone_.fields(instant);
    const std::size_t index = append_timer(instant, fields);
    ++next_sequence_;
    Store& store = *stores_[timer_type_];
    chosen_.resize(std::max<std::size_t>(chosen_.size(), 2));
    bool fired = false;
    cause_ = timer_cause;
    for (const std::uint32_t number : std::vector<std::uint32_t>(calendar_rules_)) {
        const RuleCode& rule = rules_[number];
        chosen_[0] = {&store, index, store.row(index)};
        if (rule.paused || !fits(rule, fields)) continue;
        if (!machine_.all_hold(rule.timer_conditions, {chosen_.data(), 1})) continue;
        parent_ = no_parent;
        fire(number);
        fired = true;
    }
    if (!fired) store.drop_last();
    drain();
}

void Engine::set_deadline(std::uint32_t number, const Chosen& first) {
    const RuleCode& rule = rules_[number];
    const Time due = first.time() + rule.deadline;
    if (!rule.given_conditions.empty()) {
        Store& timers = *stores_[timer_type_];
        const std::size_t index = append_timer(due, zone_.fields(due));
        const Chosen given[2] = {{&timers, index, timers.row(index)}, first};
        const bool holds = machine_.all_hold(rule.given_conditions, given);
        timers.drop_last();
        if (!holds) return;
    }
    deadlines_.push({due, first.sequence(), rule.order, number, first.row});
}

void Engine::expire(const Deadline& deadline) {
    RuleCode& rule = rules_[deadline.rule];
    if (!rule.alive) return;
    if (rule.consumed_first.erase(deadline.first) > 0 || rule.paused) return;
    const Store& firsts = *stores_[rule.types[1]];
    if (deadline.first < firsts.first()) {  // other clauses say that no match has an event so old
        ++counts_[deadline.rule].evaluated;
        return;
    }
    trim(timer_type_);
    Store& timers = *stores_[timer_type_];
    const std::size_t index = append_timer(deadline.due, zone_.fields(deadline.due));
    ++next_sequence_;
    chosen_.resize(std::max<std::size_t>(chosen_.size(), 2));
    chosen_[0] = {&timers, index, timers.row(index)};
    chosen_[1] = {&firsts, firsts.index(deadline.first), deadline.first};
    cause_ = timer_cause;
    parent_ = no_parent;
    fire(deadline.rule);
    drain();
}

}  // namespace tyrex
