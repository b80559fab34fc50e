// Detection: an event finds its predicates, a terminator its rule's other events.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_set>

#include "engine.hpp"
#include "exact_sum.hpp"

namespace tyrex {

// Offer a stored event to the rules, in the order of their deployment (SEMANTICS, section 6).
void Engine::offer(std::uint32_t type, std::size_t index) {
    Store& store = *stores_[type];
    const Row row = store.row(index);
    const Chosen event{&store, index, row};
    bool used = false;
    hit_rules_.clear();
    int terminating = 0;  // predicates that name rules
    std::uint32_t family = no_list;  // that of the last predicate, and where its latest rows stand
    std::span<Row> latest;
    indexes_[type]->match(index, [&](std::uint32_t number) {
        const Insert only = only_inserts_[number];
        if (only.family != no_list) {
            used = true;
            if (only.family != family) {
                family = only.family;
                latest = families_[family]->latest(store, index, row);
            }
            if (!latest.empty()) {
                latest[only.slot] = row;
            } else {
                families_[family]->insert(store, index, row, only.slot);
            }
            return;
        }
        const Predicate& predicate = predicates_[number];
        if (!predicate.rest.empty() && !machine_.all_hold(predicate.rest, {&event, 1}, &event)) return;
        used = true;
        for (const Insert& insert : predicate.inserts) {
            families_[insert.family]->insert(store, index, row, insert.slot);
        }
        if (!predicate.terminates.empty()) {
            ++terminating;
            hit_rules_.insert(hit_rules_.end(), predicate.terminates.begin(), predicate.terminates.end());
        }
        for (const std::uint32_t rule : predicate.sets) set_deadline(rule, event);
        hit_subscriptions_.insert(hit_subscriptions_.end(), predicate.subscriptions.begin(),
                                  predicate.subscriptions.end());
    });
    if (!hit_subscriptions_.empty()) {
        const bool composite = parent_ != no_parent;
        std::sort(hit_subscriptions_.begin(), hit_subscriptions_.end());
        for (const std::uint32_t subscription : hit_subscriptions_) {
            batch_->hits.push_back(
                {subscription, composite, composite ? parent_ : 0, type, row, store.time(index), cause_});
        }
        if (!composite) in_batch(type).oldest = std::min(in_batch(type).oldest, row);
        hit_subscriptions_.clear();
    }
    if (!used) {
        store.drop_last();
        return;
    }
    store.keep_last(strings_);
    if (hit_rules_.empty()) return;
    if (terminating > 1) {
        std::sort(hit_rules_.begin(), hit_rules_.end(),
                  [&](std::uint32_t x, std::uint32_t y) { return rules_[x].order < rules_[y].order; });
    }
    if (chosen_.empty()) chosen_.resize(1);
    chosen_[0] = event;
    in_batch(type).oldest = std::min(in_batch(type).oldest, row);
    for (std::size_t i = 0; i < hit_rules_.size();) {
        const std::uint32_t rule = hit_rules_[i];
        const std::uint32_t shape = members_[rule].shape;
        std::size_t end = i + 1;
        if (shape != no_shape) {
            while (end < hit_rules_.size() && members_[hit_rules_[end]].shape == shape) ++end;
            fire_alike({hit_rules_.data() + i, end - i});
        } else if (!rules_[rule].paused) {
            chosen_[0] = event;
            fire(rule);
        }
        i = end;
    }
}

// Offer the composite events that wait, and what they make in turn, first in, first out.
void Engine::drain() {
    while (!queue_.empty()) {
        const std::uint64_t run_number = queue_.front().run;
        const std::uint32_t at = queue_.front().next++;
        const Run run = batch_->runs[run_number];
        if (at + 1 == run.count) queue_.pop_front();
        const Table& table = batch_->tables[run.table];
        const std::uint32_t type = table.type;
        Store& store = *stores_[type];
        trim(type);
        ++store.made;
        const std::size_t index = store.append(run.time, next_sequence_++, Origin::Rule);
        for (std::size_t c = 0; c < table.columns.size(); ++c) {
            const Value value = table.value(c, run, at);
            store.columns()[c].bits.push_back(value.bits);
            store.columns()[c].null.push_back(value.null);
        }
        parent_ = run.number + at;
        offer(type, index);
        // Its id is made of events that will have left long before it does.
        if (store.end() == store.row(index) + 1) {
            const std::uint32_t id = strings_.intern(composite_id(*batch_, run.number + at));
            strings_.retain(id);
            store.set_id(index, id);
        }
    }
    parent_ = no_parent;
}

// Evaluate a rule whose given events stand in `chosen_`.
void Engine::fire(std::uint32_t number) {
    RuleCode& rule = rules_[number];
    ++counts_[number].evaluated;
    const std::size_t width = rule.steps.size();
    if (chosen_.size() < rule.given + width) chosen_.resize(rule.given + width);
    matches_.clear();
    if (width == 0) {
        if (!is_complete(rule)) return;
        matched_ = {};
    } else {
        matched_ = {};
        if (rule.keeps_beginnings) {
            extend_beginnings(rule);
        } else {
            extend(rule, 0);
        }
        if (matched_.empty()) matched_ = matches_;
        if (matched_.empty()) return;
    }
    emit(rule, number);
    if (!rule.consumes.empty()) consume(rule);
}

Bucket* Engine::find_bucket(const Lookup& lookup) {
    Family& family = *families_[lookup.family];
    key_.resize(lookup.key.size());
    for (std::size_t i = 0; i < lookup.key.size(); ++i) {
        const KeyPart& part = lookup.key[i];
        const Value value = as_key(chosen_[part.event].value(part.column), part.from, part.to);
        if (value.null) return nullptr;
        key_[i] = value.bits;
    }
    return family.find(key_);
}

std::span<const Row> Engine::look_up(const Lookup& lookup) {
    Bucket* bucket = find_bucket(lookup);
    if (bucket == nullptr || lookup.slot >= bucket->lists.size()) return {};
    RowList& list = bucket->lists[lookup.slot];
    list.trim(stores_[families_[lookup.family]->type()]->first());
    return list.rows();
}

// The part of some rows that is not older than `from` and comes before `before`.
std::pair<std::size_t, std::size_t> Engine::cut(std::span<const Row> rows, const Store& store, Time from,
                                                Sequence before) const {
    std::size_t end = rows.size();
    if (end > 0 && store.sequence(store.index(rows[end - 1])) >= before) {
        end = static_cast<std::size_t>(
            std::partition_point(rows.begin(), rows.end(),
                                 [&](Row row) { return store.sequence(store.index(row)) < before; }) -
            rows.begin());
    }
    std::size_t begin = 0;
    if (end > 0 && store.time(store.index(rows[0])) < from) {
        begin = static_cast<std::size_t>(
            std::partition_point(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(end),
                                 [&](Row row) { return store.time(store.index(row)) < from; }) -
            rows.begin());
    }
    return {begin, end};
}

// Choose the event of a step, given those before it, and go on to the next step (SEMANTICS, section 2).
void Engine::extend(const RuleCode& rule, std::size_t step_number) {
    const Step& step = rule.steps[step_number];
    const Chosen anchor = chosen_[step.anchor];
    const std::span<const Row> rows = look_up(step.list);
    if (rows.empty()) return;
    const Store& store = *stores_[step.type];
    const Time from = anchor.time() - step.window;

    if (step.policy == Policy::Last && step.conditions.empty()) {
        // The usual case needs no search: the last of all comes before the anchor.
        std::size_t end = rows.size();
        if (store.sequence(store.index(rows[end - 1])) >= anchor.sequence()) {
            end = cut(rows, store, from, anchor.sequence()).second;
        }
        if (end < step.k || store.time(store.index(rows[end - step.k])) < from) return;
        choose(rule, step_number, store, rows[end - step.k]);
        return;
    }

    const auto [begin, end] = cut(rows, store, from, anchor.sequence());
    if (begin == end) return;
    const bool is_last_step = step_number + 1 == rule.steps.size();
    if (step.policy == Policy::Each && step.conditions.empty() && is_last_step && rule.negations.empty() &&
        rule.guards.empty() && !rule.types_repeat) {
        const std::size_t width = rule.steps.size();
        reached_ += end - begin;
        if (width == 1 && rule.consumes.empty()) {
            matched_ = rows.subspan(begin, end - begin);
            return;
        }
        const std::size_t made = matches_.size();
        matches_.resize(made + (end - begin) * width);
        Row* match = matches_.data() + made;
        for (std::size_t i = begin; i < end; ++i, match += width) {
            for (std::size_t s = 0; s + 1 < width; ++s) match[s] = chosen_[rule.given + s].row;
            match[width - 1] = rows[i];
        }
        return;
    }

    Chosen& place = chosen_[rule.given + step_number];
    const auto fits = [&](std::size_t i) {
        place = {&store, store.index(rows[i]), rows[i]};
        return machine_.all_hold(step.conditions, {chosen_.data(), rule.given + step_number + 1});
    };
    if (step.policy == Policy::Each) {
        for (std::size_t i = begin; i < end; ++i) {
            if (fits(i)) choose(rule, step_number, store, rows[i]);
        }
        return;
    }
    std::uint64_t left = step.k;
    if (step.policy == Policy::First) {
        for (std::size_t i = begin; i < end; ++i) {
            if (fits(i) && --left == 0) return choose(rule, step_number, store, rows[i]);
        }
    } else {
        for (std::size_t i = end; i-- > begin;) {
            if (fits(i) && --left == 0) return choose(rule, step_number, store, rows[i]);
        }
    }
}

void Engine::choose(const RuleCode& rule, std::size_t step_number, const Store& store, Row row) {
    chosen_[rule.given + step_number] = {&store, store.index(row), row};
    if (step_number + 1 < rule.steps.size()) return extend(rule, step_number + 1);
    ++reached_;
    if (!is_complete(rule)) return;
    for (std::size_t s = 0; s < rule.steps.size(); ++s) matches_.push_back(chosen_[rule.given + s].row);
}

// The same as `extend` from the first step on, which is an `each`: what was found before the events of that step
// is remembered, so that a terminator looks for it only before those that have come since the last one.
void Engine::extend_beginnings(const RuleCode& rule) {
    const Step& step = rule.steps[0];
    Bucket* bucket = find_bucket(step.list);
    if (bucket == nullptr || step.list.slot >= bucket->lists.size()) return;
    if (rule.beginnings >= bucket->beginnings.size()) bucket->beginnings.resize(rule.beginnings + 1);
    std::unique_ptr<Beginnings>& kept = bucket->beginnings[rule.beginnings];
    const std::size_t width = rule.begins_alone ? rule.steps.size() : 1;
    if (kept == nullptr) kept = std::make_unique<Beginnings>(width);

    const Store& store = *stores_[step.type];
    const Chosen terminator = chosen_[0];
    const Time from = terminator.time() - step.window;
    const std::span<const Row> known = kept->since(from, store);
    if (!rule.begins_alone) {
        for (const Row row : known) choose(rule, 0, store, row);
    } else if (rule.negations.empty() && rule.guards.empty() && !rule.types_repeat) {
        matches_.insert(matches_.end(), known.begin(), known.end());
    } else {
        for (std::size_t i = 0; i < known.size(); i += width) {
            for (std::size_t s = 0; s < width; ++s) {
                const Store& its = *stores_[rule.steps[s].type];
                chosen_[rule.given + s] = {&its, its.index(known[i + s]), known[i + s]};
            }
            if (is_complete(rule)) matches_.insert(matches_.end(), known.begin() + static_cast<std::ptrdiff_t>(i),
                                                   known.begin() + static_cast<std::ptrdiff_t>(i + width));
        }
    }

    RowList& list = bucket->lists[step.list.slot];
    list.trim(store.first());
    const std::span<const Row> rows = list.rows();
    const auto [begin, end] = cut(rows, store, from, terminator.sequence());
    const auto at = std::lower_bound(rows.begin() + static_cast<std::ptrdiff_t>(begin),
                                     rows.begin() + static_cast<std::ptrdiff_t>(end), kept->looked_at());
    for (auto i = static_cast<std::size_t>(at - rows.begin()); i < end; ++i) {
        const std::uint64_t before = reached_;
        choose(rule, 0, store, rows[i]);
        kept->look_at(rows[i] + 1);
        if (reached_ == before) continue;
        for (std::size_t s = 0; s < width; ++s) kept->add(chosen_[rule.given + s].row);
    }
}

// What is tested on the complete tuple: its events are distinct, the negations and the conditions on aggregates.
bool Engine::is_complete(const RuleCode& rule) {
    const std::size_t count = rule.given + rule.steps.size();
    if (rule.types_repeat) {
        for (std::size_t i = 0; i < count; ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                if (chosen_[i].sequence() == chosen_[j].sequence()) return false;
            }
        }
    }
    for (const NegationCode& negation : rule.negations) {
        if (!is_absent(negation)) return false;
    }
    return machine_.all_hold(rule.guards, {chosen_.data(), count});
}

bool Engine::is_absent(const NegationCode& negation) {
    const std::span<const Row> rows = look_up(negation.list);
    if (rows.empty()) return true;
    const Store& store = *stores_[negation.type];
    const Stretch& stretch = negation.stretch;
    const Chosen& later = chosen_[stretch.later];
    std::size_t begin;
    std::size_t end;
    if (stretch.between) {
        // Everything before the later event and not before the earlier one; then the earlier one itself goes.
        const Chosen& earlier = chosen_[stretch.earlier];
        std::tie(begin, end) = cut(rows, store, earlier.time(), later.sequence());
        while (begin < end && store.sequence(store.index(rows[begin])) <= earlier.sequence()) ++begin;
    } else {
        std::tie(begin, end) = cut(rows, store, later.time() - stretch.window + 1, later.sequence());
    }
    if (negation.conditions.empty()) return begin >= end;
    for (std::size_t i = begin; i < end; ++i) {
        const Chosen candidate{&store, store.index(rows[i]), rows[i]};
        if (machine_.all_hold(negation.conditions, chosen_, &candidate)) return false;
    }
    return true;
}

// The value of an aggregate for the events in `chosen_` (SEMANTICS, section 4).
Value Engine::aggregate(std::uint32_t number, std::span<const Chosen> events) {
    AggregateCode& code = aggregates_[number];
    const Sequence terminator = events[0].sequence();
    if (code.shared && code.known_for == terminator) return code.known;
    const Store& store = *stores_[code.type];
    Value value;
    if (code.sliding >= 0) {
        Bucket* bucket = find_bucket(code.list);
        if (bucket != nullptr && code.list.slot < bucket->lists.size()) {
            RowList& list = bucket->lists[code.list.slot];
            list.trim(store.first());
            const auto slot = static_cast<std::size_t>(code.sliding);
            if (slot >= bucket->sliding.size()) bucket->sliding.resize(slot + 1);
            if (!bucket->sliding[slot]) {
                bucket->sliding[slot] = std::make_unique<Sliding>(code.function, code.column);
            }
            value = bucket->sliding[slot]->value(list, store, events[0].time() - code.stretch.window,
                                                 ~Row{0}, store.type(code.column), machine_.overflows);
        }
    } else {
        const std::span<const Row> rows = look_up(code.list);
        const Chosen& later = events[code.stretch.later];
        const Time from = code.stretch.between ? events[code.stretch.earlier].time()
                                               : later.time() - code.stretch.window;
        auto [begin, end] = cut(rows, store, from, later.sequence() + 1);
        if (code.stretch.between) {
            const Sequence first = events[code.stretch.earlier].sequence();
            while (begin < end && store.sequence(store.index(rows[begin])) < first) ++begin;
        }
        if (code.conditions.empty()) {
            value = compute(code, store, rows.subspan(begin, end - begin));
        } else {
            std::vector<Row> fitting;
            for (std::size_t i = begin; i < end; ++i) {
                const Chosen candidate{&store, store.index(rows[i]), rows[i]};
                if (machine_.all_hold(code.conditions, events, &candidate)) fitting.push_back(rows[i]);
            }
            value = compute(aggregates_[number], store, fitting);
        }
    }
    AggregateCode& again = aggregates_[number];
    again.known_for = terminator;
    again.known = value;
    return value;
}

namespace {

Value variance(const std::vector<double>& values) {
    ExactSum sum;
    for (const double x : values) sum.add(x);
    const auto count = static_cast<double>(values.size());
    const double mean = sum.value() / count;
    ExactSum squares;
    for (const double x : values) squares.add((x - mean) * (x - mean));
    return of_float(squares.value() / count);
}

}  // namespace

Value Engine::compute(const AggregateCode& code, const Store& store, std::span<const Row> rows) {
    if (code.function == Aggregation::Count) return of_int(static_cast<std::int64_t>(rows.size()));
    const Type type = store.type(code.column);
    std::vector<Bits> values;
    values.reserve(rows.size());
    for (const Row row : rows) {
        const Value value = store.value(store.index(row), code.column);
        if (!value.null) values.push_back(value.bits);
    }
    if (code.function == Aggregation::CountDistinct) {
        std::unordered_set<Bits> distinct;
        for (const Bits bits : values) distinct.insert(as_key({bits, false}, type, type).bits);
        return of_int(static_cast<std::int64_t>(distinct.size()));
    }
    if (values.empty()) return {};
    const auto less = [&](Bits x, Bits y) {
        switch (type) {
            case Type::Float: return as_float(x) < as_float(y);
            case Type::String: return strings_.text(as_string(x)) < strings_.text(as_string(y));
            default: return as_int(x) < as_int(y);
        }
    };
    const auto count = static_cast<std::int64_t>(values.size());
    const auto floats = [&] {
        std::vector<double> found;
        found.reserve(values.size());
        for (const Bits bits : values) {
            found.push_back(type == Type::Int ? static_cast<double>(as_int(bits)) : as_float(bits));
        }
        return found;
    };
    const auto int_sum = [&] {
        __int128 sum = 0;
        for (const Bits bits : values) sum += as_int(bits);
        return sum;
    };
    const auto float_sum = [&] {
        ExactSum sum;
        for (const Bits bits : values) sum.add(as_float(bits));
        return sum.value();
    };
    switch (code.function) {
        case Aggregation::First: return {values.front(), false};
        case Aggregation::Last: return {values.back(), false};
        case Aggregation::Min: return {*std::min_element(values.begin(), values.end(), less), false};
        case Aggregation::Max: return {*std::max_element(values.begin(), values.end(), less), false};
        case Aggregation::Sum:
            return type == Type::Int ? sum_of_ints(int_sum(), machine_.overflows) : of_float(float_sum());
        case Aggregation::Avg:
            return type == Type::Int ? mean_of_ints(int_sum(), count)
                                     : of_float(float_sum() / static_cast<double>(count));
        case Aggregation::Var: return variance(floats());
        case Aggregation::StdDev: {
            const Value found = variance(floats());
            return found.null ? found : of_float(std::sqrt(as_float(found.bits)));
        }
        default: return {};
    }
}

namespace {

// Whether one of these rows is null in a column. If they ascend and lie close together, it is looked for in all
// that lies between, which is quicker.
bool any_null(const std::uint8_t* null, std::span<const Row> rows, Row origin, std::size_t width) {
    const std::size_t first = rows.front() - origin;
    const std::size_t length = rows.back() - rows.front() + 1;
    if (width == 1 && length <= 16 * rows.size() && std::memchr(null + first, 1, length) == nullptr) return false;
    for (std::size_t m = 0; m < rows.size(); m += width) {
        if (null[rows[m] - origin]) return true;
    }
    return false;
}

// Add an attribute of stored events: of every `width`th of these rows.
void copy_values(const Store& store, int number, std::span<const Row> rows, std::size_t width, Values& values) {
    const std::size_t count = (rows.size() + width - 1) / width;
    const Row origin = store.row(0);
    Bits* bits = values.add_bits(count);
    if (number < 0) {
        for (std::size_t m = 0; m < count; ++m) bits[m] = std::bit_cast<Bits>(store.time(rows[m * width] - origin));
        if (!values.null.empty()) std::fill_n(values.add_nulls(count), count, std::uint8_t{0});
        return;
    }
    const Column& column = store.columns()[static_cast<std::size_t>(number)];
    const Bits* from = column.bits.data();
    if (width == 1) {
        for (std::size_t m = 0; m < count; ++m) bits[m] = from[rows[m] - origin];
    } else {
        for (std::size_t m = 0; m < count; ++m) bits[m] = from[rows[m * width] - origin];
    }
    const std::uint8_t* null_from = column.null.data();
    if (values.null.empty() && !any_null(null_from, rows, origin, width)) return;
    std::uint8_t* null = values.add_nulls(count);
    for (std::size_t m = 0; m < count; ++m) null[m] = null_from[rows[m * width] - origin];
}

}  // namespace

// Write the composite events of the matches: column by column.
void Engine::emit(RuleCode& rule, std::uint32_t number) {
    const std::size_t width = rule.steps.size();
    const std::size_t count = width == 0 ? 1 : matched_.size() / width;
    InBatch& home = in_batch(rule.defines);
    if (home.table == no_id) home.table = add_table(rule.defines);
    Table& table = batch_->tables[home.table];
    const Chosen terminator = chosen_[0];
    if (rule.stored) queue_.push_back({batch_->runs.size(), 0});
    add_run(number, home.table, count, table, terminator);
    if (rule.given == 2) table.lineage.push_back(chosen_[1].row);  // what set the deadline, once for all matches
    table.lineage.insert(table.lineage.end(), matched_.begin(), matched_.end());

    for (std::size_t c = 0; c < rule.outputs.size(); ++c) {
        const OutputCode& output = rule.outputs[c];
        Values& values = table.columns[c];
        if (output.kind == OutputCode::Kind::Aggregate && (width == 0 || aggregates_[output.aggregate].shared)) {
            values.add(aggregate(output.aggregate, {chosen_.data(), rule.given + width}), values.by_run ? 1 : count);
        } else if (output.kind != OutputCode::Kind::Attribute) {
            for (std::size_t m = 0; m < count; ++m) {
                for (std::size_t s = 0; s < width; ++s) {
                    const Store& store = *stores_[rule.steps[s].type];
                    const Row row = matched_[m * width + s];
                    chosen_[rule.given + s] = {&store, store.index(row), row};
                }
                values.add(machine_.run(output.program, {chosen_.data(), rule.given + width}), 1);
            }
        } else if (output.event < rule.given) {
            values.add(chosen_[output.event].value(output.column), values.by_run ? 1 : count);
        } else {
            const std::size_t s = output.event - rule.given;
            copy_values(*stores_[rule.steps[s].type], output.column, matched_.subspan(s), width, values);
        }
    }

    // The oldest row of each type that is named, so that it is copied when it leaves before the batch ends.
    const auto name = [&](std::uint32_t type, Row row) {
        Row& oldest = in_batch(type).oldest;
        oldest = std::min(oldest, row);
    };
    name(rule.types[0], terminator.row);
    if (rule.given == 2) name(rule.types[1], chosen_[1].row);
    for (std::size_t s = 0; s < width; ++s) {
        Row& known = in_batch(rule.steps[s].type).oldest;
        // The first step's rows ascend; those of the others need not.
        const std::size_t look = s == 0 ? 1 : count;
        for (std::size_t m = 0; m < look; ++m) known = std::min(known, matched_[m * width + s]);
    }
    counts_[number].fired += count;
}

// The same as `fire`, for simple rules of one shape.
void Engine::fire_alike(std::span<const std::uint32_t> rules) {
    const Shape& shape = shapes_[members_[rules[0]].shape];
    const Chosen& terminator = chosen_[0];
    const Store& store = *stores_[shape.type];
    Family& family = *families_[shape.family];
    Bucket* bucket = nullptr;
    const Value key = shape.key ? as_key(terminator.value(shape.key->column), shape.key->from, shape.key->to) : Value{};
    if (!shape.key || !key.null) bucket = family.find({&key.bits, shape.key ? 1u : 0u});

    matches_.clear();
    hit_members_.clear();
    for (const std::uint32_t number : rules) {
        const Member& member = members_[number];
        if (member.paused) continue;
        ++counts_[number].evaluated;
        if (bucket == nullptr) continue;
        const Time from = terminator.time() - member.window;
        Row row;
        if (family.latest_only()) {
            row = member.slot < bucket->latest.size() ? bucket->latest[member.slot] : no_row;
            if (row == no_row || row < store.first() || store.time(store.index(row)) < from) continue;
        } else {
            if (member.slot >= bucket->lists.size()) continue;
            RowList& list = bucket->lists[member.slot];
            list.trim(store.first());
            const auto [begin, end] = cut(list.rows(), store, from, terminator.sequence());
            if (begin == end) continue;
            row = list.rows()[shape.last ? end - 1 : begin];
        }
        matches_.push_back(row);
        hit_members_.push_back(number);
    }
    const std::size_t count = matches_.size();
    if (count == 0) return;

    InBatch& home = in_batch(shape.defines);
    if (home.table == no_id) home.table = add_table(shape.defines);
    Table& table = batch_->tables[home.table];
    const std::size_t start = table.rows;
    const std::size_t first_run = batch_->runs.size();
    batch_->runs.resize(first_run + count);
    for (std::size_t m = 0; m < count; ++m) {
        const std::uint32_t number = hit_members_[m];
        if (members_[number].stored) queue_.push_back({first_run + m, 0});
        batch_->runs[first_run + m] = {number, home.table, 1, table.runs++, batch_->size + m, start + m,
                                       table.lineage.size() + m, terminator.time(), terminator.row};
        ++counts_[number].fired;
    }
    if (one_of_many_) batch_->causes.resize(first_run + count, {cause_, parent_});
    table.lineage.insert(table.lineage.end(), matches_.begin(), matches_.end());
    table.rows += count;
    batch_->size += count;
    Row& known = in_batch(shape.type).oldest;
    known = std::min(known, *std::min_element(matches_.begin(), matches_.end()));
    for (std::size_t c = 0; c < shape.outputs.size(); ++c) {
        const auto [event, column] = shape.outputs[c];
        if (event == 0) {
            table.columns[c].add(terminator.value(column), count);
        } else {
            copy_values(store, column, matches_, 1, table.columns[c]);
        }
    }
}

// Note that a rule has made so many composites, whose rows come next in the table.
void Engine::add_run(std::uint32_t rule, std::uint32_t number, std::size_t count, Table& table,
                     const Chosen& terminator) {
    batch_->runs.push_back({rule, number, static_cast<std::uint32_t>(count), table.runs++, batch_->size, table.rows,
                            table.lineage.size(), terminator.time(), terminator.row});
    if (one_of_many_) batch_->causes.push_back({cause_, parent_});
    table.rows += count;
    batch_->size += count;
}

std::uint32_t Engine::add_table(std::uint32_t type) {
    return batch_->add_table(*stores_[type], type, made_by_run_[type].attributes);
}

std::uint32_t Batch::add_table(const Store& store, std::uint32_t type, const std::vector<bool>& by_run) {
    Table table;
    if (!spare.empty()) {
        table = std::move(spare.back());
        spare.pop_back();
        table.lineage.clear();
    }
    table.type = type;
    table.rows = 0;
    table.runs = 0;
    table.columns.resize(store.columns().size());
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        Values& values = table.columns[c];
        values.type = store.columns()[c].type;
        values.by_run = by_run[c];
        values.bits.clear();
        values.null.clear();
    }
    tables.push_back(std::move(table));
    return static_cast<std::uint32_t>(tables.size() - 1);
}

// Take the consumed events out of the lists that this rule chooses from; no other rule uses these.
void Engine::consume(RuleCode& rule) {
    const std::size_t width = rule.steps.size();
    const std::size_t count = width == 0 ? 1 : matched_.size() / width;
    for (std::size_t m = 0; m < count; ++m) {
        for (const std::uint8_t consumed : rule.consumes) {
            if (m > 0 && consumed < rule.given) continue;
            const std::uint32_t type = rule.types[consumed];
            const Row row = consumed < rule.given ? chosen_[consumed].row
                                                  : matched_[m * width + (consumed - rule.given)];
            const Store& store = *stores_[type];
            for (const Step& step : rule.steps) {
                if (step.type != type) continue;
                Bucket* bucket = families_[step.list.family]->bucket_of(store, store.index(row));
                if (bucket != nullptr && step.list.slot < bucket->lists.size()) {
                    bucket->lists[step.list.slot].erase(row);
                }
            }
            if (rule.deadline >= 0 && type == rule.types[1]) rule.consumed_first.insert(row);
        }
    }
}

}  // namespace tyrex
