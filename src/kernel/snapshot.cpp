#include "snapshot.hpp"

#include <cstring>
#include <stdexcept>
#include <unordered_map>

namespace tyrex {

namespace {

class Writer {
public:
    template <typename T>
    void put(T value) {
        static_assert(std::is_trivially_copyable_v<T>);
        body_.append(reinterpret_cast<const char*>(&value), sizeof value);
    }

    // A text by its number in a table of its own, which goes first.
    void put_text(std::uint32_t id, const Strings& strings) {
        if (id == no_id) return put(no_id);
        const auto [found, added] = numbers_.try_emplace(id, static_cast<std::uint32_t>(numbers_.size()));
        if (added) {
            const std::string_view text = strings.text(id);
            const auto size = static_cast<std::uint32_t>(text.size());
            texts_.append(reinterpret_cast<const char*>(&size), sizeof size);
            texts_.append(text);
        }
        put(found->second);
    }

    void put_value(Value value, Type type, const Strings& strings) {
        put(static_cast<std::uint8_t>(value.null));
        if (value.null) return;
        if (type == Type::String) {
            put_text(as_string(value.bits), strings);
        } else {
            put(value.bits);
        }
    }

    std::string finish() const {
        const auto count = static_cast<std::uint64_t>(numbers_.size());
        return std::string(reinterpret_cast<const char*>(&count), sizeof count) + texts_ + body_;
    }

private:
    std::string body_;
    std::string texts_;
    std::unordered_map<std::uint32_t, std::uint32_t> numbers_;
};

class Reader {
public:
    Reader(std::string_view bytes, Strings& strings) : bytes_(bytes) {
        const auto count = get<std::uint64_t>();
        for (std::uint64_t i = 0; i < count; ++i) {
            const auto size = get<std::uint32_t>();
            texts_.push_back(strings.intern(take(size)));
        }
    }

    template <typename T>
    T get() {
        T value;
        std::memcpy(&value, take(sizeof value).data(), sizeof value);
        return value;
    }

    // How many things follow, each of which takes some bytes.
    std::uint64_t count() {
        const auto found = get<std::uint64_t>();
        if (found > bytes_.size()) fail();
        return found;
    }

    std::uint32_t get_text() {
        const auto number = get<std::uint32_t>();
        if (number == no_id) return no_id;
        if (number >= texts_.size()) fail();
        return texts_[number];
    }

    Value get_value(Type type) {
        if (get<std::uint8_t>() != 0) return {};
        return type == Type::String ? of_string(get_text()) : Value{get<Bits>(), false};
    }

    void finish() const {
        if (!bytes_.empty()) fail();
    }

    [[noreturn]] static void fail() { throw std::invalid_argument("the state is damaged"); }

private:
    std::string_view take(std::size_t size) {
        if (size > bytes_.size()) fail();
        const std::string_view taken = bytes_.substr(0, size);
        bytes_.remove_prefix(size);
        return taken;
    }

    std::string_view bytes_;
    std::vector<std::uint32_t> texts_;
};

}  // namespace

// Has access to the insides of an engine.
class SnapshotWriter {
public:
    SnapshotWriter(Engine& engine, Writer& out) : engine_(engine), out_(out) {}

    void write(const std::vector<std::uint32_t>& rules, const std::vector<ListPlace>& lists) {
        clock();
        out_.put(static_cast<std::uint64_t>(engine_.stores_.size()));
        for (const auto& store : engine_.stores_) write_store(*store);
        std::unordered_map<std::uint32_t, std::uint32_t> places;
        out_.put(static_cast<std::uint64_t>(rules.size()));
        for (const std::uint32_t number : rules) {
            places.emplace(number, static_cast<std::uint32_t>(places.size()));
            write_rule(engine_.rules_[number], engine_.counts_[number]);
        }
        out_.put(static_cast<std::uint64_t>(lists.size()));
        for (const ListPlace& list : lists) write_list(list);
        write_deadlines(places);
        write_pending();
    }

private:
    void clock() {
        out_.put(engine_.started_);
        out_.put(engine_.latest_);
        out_.put(engine_.watermark_);
        out_.put(engine_.now_);
        out_.put(engine_.timers_until_);
        out_.put(engine_.next_sequence_);
        out_.put(engine_.ticks_);
        out_.put(engine_.arrivals_);
        out_.put(engine_.late_events);
        out_.put(engine_.machine_.overflows);
    }

    void write_store(const Store& store) {
        out_.put(store.arrived);
        out_.put(store.made);
        out_.put(store.first());
        out_.put(static_cast<std::uint64_t>(store.size()));
        for (Row row = store.first(); row < store.end(); ++row) {
            const std::size_t i = store.index(row);
            out_.put(store.time(i));
            out_.put(store.sequence(i));
            out_.put(store.origin(i));
            out_.put_text(store.id(i), engine_.strings_);
            for (const Column& column : store.columns()) {
                out_.put_value(column.at(i), column.type, engine_.strings_);
            }
        }
    }

    void write_rule(const RuleCode& rule, const RuleCounts& counts) {
        out_.put(rule.paused);
        out_.put(counts.fired);
        out_.put(counts.evaluated);
        out_.put(static_cast<std::uint64_t>(rule.consumed_first.size()));
        for (const Row row : rule.consumed_first) out_.put(row);
    }

    void write_list(const ListPlace& place) {
        Family& family = *engine_.families_[place.family];
        const Row first = engine_.stores_[family.type()]->first();
        std::vector<Row> rows;
        for (const auto& bucket : family.buckets()) {
            if (place.slot < bucket->latest.size()) {
                const Row row = bucket->latest[place.slot];
                if (row != no_row && row >= first) rows.push_back(row);
            }
            if (place.slot >= bucket->lists.size()) continue;
            for (const Row row : bucket->lists[place.slot].rows()) {
                if (row >= first) rows.push_back(row);
            }
        }
        std::sort(rows.begin(), rows.end());
        out_.put(static_cast<std::uint64_t>(rows.size()));
        for (const Row row : rows) out_.put(row);
    }

    void write_deadlines(const std::unordered_map<std::uint32_t, std::uint32_t>& places) {
        auto deadlines = engine_.deadlines_;
        std::vector<Engine::Deadline> open;
        for (; !deadlines.empty(); deadlines.pop()) {
            if (places.contains(deadlines.top().rule)) open.push_back(deadlines.top());
        }
        out_.put(static_cast<std::uint64_t>(open.size()));
        for (const Engine::Deadline& deadline : open) {
            out_.put(deadline.due);
            out_.put(deadline.sequence);
            out_.put(deadline.first);
            out_.put(places.at(deadline.rule));
        }
    }

    void write_pending() {
        auto pending = engine_.pending_;
        out_.put(static_cast<std::uint64_t>(pending.size()));
        for (; !pending.empty(); pending.pop()) {
            const Pending& event = pending.top();
            out_.put(event.time);
            out_.put(event.arrival);
            out_.put(event.type);
            out_.put(event.foreign());
            if (event.foreign()) continue;
            out_.put_text(event.id, engine_.strings_);
            for (std::size_t c = 0; c < event.values.size(); ++c) {
                out_.put_value(event.values[c], engine_.stores_[event.type]->type(static_cast<int>(c)),
                               engine_.strings_);
            }
        }
    }

    Engine& engine_;
    Writer& out_;
};

class SnapshotReader {
public:
    SnapshotReader(Engine& engine, Reader& in) : engine_(engine), in_(in) {}

    void read(const std::vector<std::uint32_t>& rules, const std::vector<ListPlace>& lists) {
        clock();
        expect(engine_.stores_.size());
        for (const auto& store : engine_.stores_) read_store(*store);
        expect(rules.size());
        for (const std::uint32_t number : rules) read_rule(number);
        expect(lists.size());
        for (const ListPlace& list : lists) read_list(list);
        read_deadlines(rules);
        read_pending();
        in_.finish();
    }

private:
    void expect(std::size_t count) {
        if (in_.get<std::uint64_t>() != count) Reader::fail();
    }

    void clock() {
        engine_.started_ = in_.get<std::uint8_t>() != 0;
        engine_.latest_ = in_.get<Time>();
        engine_.watermark_ = in_.get<Time>();
        engine_.now_ = in_.get<Time>();
        engine_.timers_until_ = in_.get<Time>();
        engine_.next_sequence_ = in_.get<Sequence>();
        engine_.ticks_ = in_.get<Sequence>();
        engine_.arrivals_ = in_.get<std::uint64_t>();
        engine_.late_events = in_.get<std::uint64_t>();
        engine_.machine_.overflows = in_.get<std::uint64_t>();
    }

    void read_store(Store& store) {
        store.arrived = in_.get<std::uint64_t>();
        store.made = in_.get<std::uint64_t>();
        store.start_at(in_.get<Row>());
        const std::uint64_t count = in_.count();
        for (std::uint64_t i = 0; i < count; ++i) {
            const auto time = in_.get<Time>();
            const auto sequence = in_.get<Sequence>();
            const auto origin = in_.get<Origin>();
            if (origin > Origin::Rule) Reader::fail();
            store.append(time, sequence, origin, in_.get_text());
            for (Column& column : store.columns()) {
                const Value value = in_.get_value(column.type);
                column.bits.push_back(value.bits);
                column.null.push_back(value.null);
            }
            store.keep_last(engine_.strings_);
        }
    }

    void read_rule(std::uint32_t number) {
        engine_.set_paused(number, in_.get<std::uint8_t>() != 0);
        engine_.counts_[number].fired = in_.get<std::uint64_t>();
        engine_.counts_[number].evaluated = in_.get<std::uint64_t>();
        RuleCode& rule = engine_.rules_[number];
        const std::uint64_t count = in_.count();
        for (std::uint64_t i = 0; i < count; ++i) rule.consumed_first.insert(in_.get<Row>());
    }

    void read_list(const ListPlace& place) {
        Family& family = *engine_.families_[place.family];
        const Store& store = *engine_.stores_[family.type()];
        const std::uint64_t count = in_.count();
        for (std::uint64_t i = 0; i < count; ++i) {
            const auto row = in_.get<Row>();
            if (row < store.first() || row >= store.end()) Reader::fail();
            family.clear_cache();
            family.insert(store, store.index(row), row, place.slot);
        }
    }

    void read_deadlines(const std::vector<std::uint32_t>& rules) {
        const std::uint64_t count = in_.count();
        for (std::uint64_t i = 0; i < count; ++i) {
            const auto due = in_.get<Time>();
            const auto sequence = in_.get<Sequence>();
            const auto first = in_.get<Row>();
            const auto place = in_.get<std::uint32_t>();
            if (place >= rules.size()) Reader::fail();
            const RuleCode& rule = engine_.rules_[rules[place]];
            if (rule.deadline < 0) Reader::fail();
            const Store& store = *engine_.stores_[rule.types[1]];
            if (first >= store.end()) Reader::fail();
            engine_.deadlines_.push({due, sequence, rule.order, rules[place], first});
        }
    }

    void read_pending() {
        const std::uint64_t count = in_.count();
        for (std::uint64_t i = 0; i < count; ++i) {
            Pending event{};
            event.time = in_.get<Time>();
            event.arrival = in_.get<std::uint64_t>();
            event.type = in_.get<std::uint32_t>();
            if (event.type >= engine_.stores_.size()) Reader::fail();
            if (in_.get<std::uint8_t>() != 0) {
                event.id = Pending::elsewhere;
                engine_.pending_.push(std::move(event));
                continue;
            }
            event.id = in_.get_text();
            if (event.id != no_id) engine_.strings_.retain(event.id);
            for (const Column& column : engine_.stores_[event.type]->columns()) {
                const Value value = in_.get_value(column.type);
                if (column.type == Type::String && !value.null) engine_.strings_.retain(as_string(value.bits));
                event.values.push_back(value);
            }
            engine_.pending_.push(std::move(event));
        }
    }

    Engine& engine_;
    Reader& in_;
};

std::string save(Engine& engine, const std::vector<std::uint32_t>& rules, const std::vector<ListPlace>& lists) {
    Writer out;
    SnapshotWriter(engine, out).write(rules, lists);
    return out.finish();
}

void load(Engine& engine, std::string_view state, const std::vector<std::uint32_t>& rules,
          const std::vector<ListPlace>& lists) {
    Reader in(state, engine.strings());
    SnapshotReader(engine, in).read(rules, lists);
}

}  // namespace tyrex
