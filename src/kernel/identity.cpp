// Ids of events (src/tyrex/events/identity.py says what is hashed), and what a batch remembers.

#include <algorithm>
#include <cstring>
#include <iterator>

#include "blake2b.hpp"
#include "engine.hpp"

namespace tyrex {

namespace {

void put(std::string& to, const void* from, std::size_t size) { to.append(static_cast<const char*>(from), size); }

void put_string(std::string& to, std::string_view text) {
    const auto size = static_cast<std::uint32_t>(text.size());
    put(to, &size, 4);
    to.append(text);
}

void put_value(std::string& to, Value value, Type type, const Strings& strings) {
    if (value.null) {
        to.push_back('\0');
    } else if (type == Type::Bool) {
        to.push_back(value.bits ? '\2' : '\1');
    } else if (type == Type::Int) {
        to.push_back('\3');
        put(to, &value.bits, 8);
    } else if (type == Type::Float) {
        to.push_back('\4');
        const Bits bits = as_key(value, type, type).bits;
        put(to, &bits, 8);
    } else {
        to.push_back('\5');
        put_string(to, strings.text(as_string(value.bits)));
    }
}

std::string hexadecimal(const std::array<std::uint8_t, 16>& digest) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (const std::uint8_t byte : digest) {
        text.push_back(digits[byte >> 4]);
        text.push_back(digits[byte & 15]);
    }
    return text;
}

std::string timer_id(Time instant) {
    std::string content = "T";
    put(content, &instant, 8);
    return hexadecimal(blake2b_16(content));
}

bool equal_values(const std::vector<Column>& columns, std::size_t x, std::size_t y) {
    for (const Column& column : columns) {
        if (column.null[x] != column.null[y]) return false;
        if (column.null[x]) continue;
        const Bits left = as_key(column.at(x), column.type, column.type).bits;
        if (left != as_key(column.at(y), column.type, column.type).bits) return false;
    }
    return true;
}

// The id of an event by its content; `occurrence` is how many equal events came before it.
std::string content_id(const std::string& type, Time time, const std::vector<Column>& columns, std::size_t at,
                       std::uint64_t occurrence, const Strings& strings) {
    std::string content = "E";
    put_string(content, type);
    put(content, &time, 8);
    const auto count = static_cast<std::uint32_t>(columns.size());
    put(content, &count, 4);
    for (const Column& column : columns) put_value(content, column.at(at), column.type, strings);
    put(content, &occurrence, 8);
    return hexadecimal(blake2b_16(content));
}

// Copy the rows from `begin` on, up to `end`, that are younger than those that are there.
void copy_rows(Evidence& to, const Store& from, Row begin, Row end) {
    if (!to.rows.empty()) begin = std::max(begin, to.rows.back() + 1);
    if (begin >= end) return;
    if (to.columns.empty()) {
        for (const Column& column : from.columns()) to.columns.push_back({column.type, {}, {}});
    }
    for (Row row = begin; row < end; ++row) {
        const std::size_t index = from.index(row);
        to.rows.push_back(row);
        to.times.push_back(from.time(index));
        to.ids.push_back(from.id(index));
        to.origins.push_back(from.origin(index));
    }
    const auto first = static_cast<std::ptrdiff_t>(from.index(begin));
    const auto last = static_cast<std::ptrdiff_t>(from.index(end));
    for (std::size_t c = 0; c < to.columns.size(); ++c) {
        const Column& source = from.columns()[c];
        Column& copy = to.columns[c];
        copy.bits.insert(copy.bits.end(), source.bits.begin() + first, source.bits.begin() + last);
        copy.null.insert(copy.null.end(), source.null.begin() + first, source.null.begin() + last);
    }
}

// The first row of the instant that a row belongs to.
Row start_of_instant(const Store& store, Row row) {
    row = std::max(row, store.first());
    while (row > store.first() && row < store.end() &&
           store.time(store.index(row - 1)) == store.time(store.index(row))) {
        --row;
    }
    return row;
}

}  // namespace

// The id of a stored event, as a text that the store retains.
std::uint32_t Engine::identify(std::uint32_t type, std::size_t index) {
    Store& store = *stores_[type];
    if (store.id(index) != no_id) return store.id(index);
    std::string id;
    if (type == timer_type_) {
        id = timer_id(store.time(index));
    } else {
        std::uint64_t occurrence = 0;
        const std::size_t first = store.index(store.first());
        for (std::size_t i = index; i-- > first && store.time(i) == store.time(index);) {
            if (store.origin(i) == Origin::Content && equal_values(store.columns(), i, index)) ++occurrence;
        }
        id = content_id(store.name(), store.time(index), store.columns(), index, occurrence, strings_);
    }
    const std::uint32_t text = strings_.intern(id);
    strings_.retain(text);
    store.set_id(index, text);
    return text;
}

// Copy the rows before `until` that composites of a batch may name.
//
// Their ids are left for later: so all rows of an instant are copied, among which equal ones are counted.
void Engine::keep(Batch& batch, std::uint32_t type, Row oldest, Row until) {
    const Store& store = *stores_[type];
    copy_rows(batch.evidence[type], store, start_of_instant(store, oldest), until);
}

const Run& Engine::run_of(const Batch& batch, std::uint64_t number) {
    return *(std::upper_bound(batch.runs.begin(), batch.runs.end(), number,
                              [](std::uint64_t n, const Run& run) { return n < run.number; }) -
             1);
}

std::uint32_t Engine::id_of(Batch& batch, std::uint32_t type, Row row) {
    const auto found = batch.evidence.find(type);
    if (found != batch.evidence.end()) {
        const std::vector<Row>& rows = found->second.rows;
        const auto at = std::lower_bound(rows.begin(), rows.end(), row);
        if (at != rows.end() && *at == row) {
            const std::uint32_t id = identify(found->second, type, static_cast<std::size_t>(at - rows.begin()));
            if (batch.retains) retain(batch, id);
            return id;
        }
    }
    return identify(type, stores_[type]->index(row));
}

// The same for an event that has left the store.
std::uint32_t Engine::identify(Evidence& evidence, std::uint32_t type, std::size_t at) {
    if (evidence.ids[at] != no_id) return evidence.ids[at];
    std::string id;
    if (type == timer_type_) {
        id = timer_id(evidence.times[at]);
    } else {
        std::uint64_t occurrence = 0;
        for (std::size_t i = at; i-- > 0 && evidence.times[i] == evidence.times[at];) {
            if (evidence.origins[i] == Origin::Content && equal_values(evidence.columns, i, at)) ++occurrence;
        }
        id = content_id(stores_[type]->name(), evidence.times[at], evidence.columns, at, occurrence, strings_);
    }
    evidence.ids[at] = strings_.intern(id);  // stays as long as the batch, as its other texts do
    return evidence.ids[at];
}

// The row of the event that a composite has at a place of its rule.
Row Engine::part_of(const Batch& batch, const Run& run, std::uint64_t number, std::size_t place) const {
    const RuleCode& rule = rules_[run.rule];
    if (place == 0) return run.terminator;
    const Row* lineage = batch.tables[run.table].lineage.data() + run.lineage;
    if (place < rule.given) return *lineage;
    const std::size_t width = rule.types.size() - rule.given;
    return lineage[rule.given - 1 + (number - run.number) * width + place - rule.given];
}

std::string Engine::composite_id(Batch& batch, std::uint64_t number) {
    return composite_id(batch, run_of(batch, number), number);
}

std::string Engine::composite_id(Batch& batch, const Run& run, std::uint64_t number) {
    const RuleCode& rule = rules_[run.rule];
    std::string content = "C";
    put_string(content, rule.name);
    const auto count = static_cast<std::uint32_t>(rule.types.size());
    put(content, &count, 4);
    for (std::size_t i = 0; i < count; ++i) {
        put_string(content, strings_.text(id_of(batch, rule.types[i], part_of(batch, run, number, i))));
    }
    return hexadecimal(blake2b_16(content));
}

void Engine::seal(Batch& batch) {
    if (batch.sealed) return;
    batch.sealed = true;
    // Where composites are many, it is cheapest to copy all that they can name; else only what they do name.
    std::uint64_t all = 0;
    for (const std::uint32_t type : in_batch_types_) {
        if (in_batch_[type].oldest < stores_[type]->end()) all += stores_[type]->end() - in_batch_[type].oldest;
    }
    if (all <= 2 * batch.size + 64) {
        for (const std::uint32_t type : in_batch_types_) {
            if (in_batch_[type].oldest != no_row) keep(batch, type, in_batch_[type].oldest, stores_[type]->end());
        }
        return;
    }
    std::map<std::uint32_t, std::vector<Row>> named;
    for (const Run& run : batch.runs) {
        const RuleCode& rule = rules_[run.rule];
        const std::size_t width = rule.types.size() - rule.given;
        named[rule.types[0]].push_back(run.terminator);
        const Row* lineage = batch.tables[run.table].lineage.data() + run.lineage;
        if (rule.given == 2) named[rule.types[1]].push_back(*lineage++);
        for (std::size_t s = 0; s < width; ++s) {
            std::vector<Row>& rows = named[rule.types[rule.given + s]];
            for (std::size_t m = 0; m < run.count; ++m) rows.push_back(lineage[m * width + s]);
        }
    }
    for (const SubscriptionHit& hit : batch.hits) {
        if (!hit.composite) named[hit.type].push_back(hit.row);
    }
    for (auto& [type, rows] : named) {
        std::sort(rows.begin(), rows.end());
        rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
        for (const Row row : rows) keep(batch, type, row, row + 1);
    }
}

void Engine::retain_texts(Batch& batch) {
    std::vector<std::uint32_t> texts;
    const auto collect = [&](const auto& columns) {
        for (const auto& column : columns) {
            if (column.type != Type::String) continue;
            for (std::size_t i = 0; i < column.bits.size(); ++i) {
                const Value value = column.at(i);
                if (!value.null && (texts.empty() || texts.back() != as_string(value.bits))) {
                    texts.push_back(as_string(value.bits));
                }
            }
        }
    };
    for (const Table& table : batch.tables) collect(table.columns);
    for (const auto& [type, evidence] : batch.evidence) {
        collect(evidence.columns);
        std::copy_if(evidence.ids.begin(), evidence.ids.end(), std::back_inserter(texts),
                     [](std::uint32_t id) { return id != no_id; });
    }
    std::sort(texts.begin(), texts.end());
    texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
    for (const std::uint32_t text : texts) strings_.retain(text);
    batch.texts = std::move(texts);
    batch.retains = true;
}

// A text that a batch came to name after it has retained its others.
void Engine::retain(Batch& batch, std::uint32_t text) {
    if (std::binary_search(batch.texts.begin(), batch.texts.end(), text)) return;
    batch.texts.insert(std::upper_bound(batch.texts.begin(), batch.texts.end(), text), text);
    strings_.retain(text);
}

}  // namespace tyrex
