// Everything Python sees of the kernel, and all that the kernel knows of Python.

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <deque>
#include <string>

#include "blake2b.hpp"
#include "engine.hpp"
#include "exact_sum.hpp"
#include "merge.hpp"
#include "snapshot.hpp"
#include "source.hpp"
#include "team.hpp"
#include "wide_sum.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace tyrex;

namespace {

// --- From Python -----------------------------------------------------------------------------------------

// Four numbers for each instruction: operation, a, b, bits.
Program to_program(nb::handle given) {
    const auto numbers = nb::cast<nb::sequence>(given);
    Program program;
    Instruction instruction{};
    int part = 0;
    for (const nb::handle number : numbers) {
        switch (part) {
            case 0: instruction.op = static_cast<Op>(nb::cast<int>(number)); break;
            case 1: instruction.a = nb::cast<std::uint8_t>(number); break;
            case 2: instruction.b = nb::cast<std::int16_t>(number); break;
            default: instruction.bits = nb::cast<std::uint64_t>(number); program.push_back(instruction);
        }
        part = (part + 1) % 4;
    }
    return program;
}

std::vector<Program> to_programs(nb::handle given) {
    std::vector<Program> programs;
    for (const nb::handle program : nb::cast<nb::sequence>(given)) programs.push_back(to_program(program));
    return programs;
}

template <typename T>
T field(nb::handle given, const char* name) {
    return nb::cast<T>(given[name]);
}

Lookup to_lookup(nb::handle given) {
    Lookup lookup{field<std::uint32_t>(given, "family"), field<std::uint32_t>(given, "slot"), {}};
    for (const nb::handle part : nb::cast<nb::sequence>(given["key"])) {
        lookup.key.push_back({nb::cast<std::uint8_t>(part[0]), nb::cast<std::int16_t>(part[1]),
                              static_cast<Type>(nb::cast<int>(part[2])),
                              static_cast<Type>(nb::cast<int>(part[3]))});
    }
    return lookup;
}

Stretch to_stretch(nb::handle given) {
    return {field<bool>(given, "between"), field<std::uint8_t>(given, "earlier"),
            field<std::uint8_t>(given, "later"), field<Time>(given, "window")};
}

AggregateCode to_aggregate(nb::handle given) {
    return {static_cast<Aggregation>(field<int>(given, "function")),
            field<std::uint32_t>(given, "type"),
            field<int>(given, "column"),
            to_lookup(given["list"]),
            to_programs(given["conditions"]),
            to_stretch(given["stretch"]),
            field<bool>(given, "shared"),
            field<std::int64_t>(given, "sliding"),
            ~Sequence{0},
            {}};
}

RuleCode to_rule(nb::handle given) {
    RuleCode rule;
    rule.name = field<std::string>(given, "name");
    rule.order = field<std::uint64_t>(given, "order");
    rule.defines = field<std::uint32_t>(given, "defines");
    rule.given = field<std::uint8_t>(given, "given");
    rule.types = field<std::vector<std::uint32_t>>(given, "types");
    rule.types_repeat = field<bool>(given, "types_repeat");
    rule.keeps_beginnings = field<bool>(given, "keeps_beginnings");
    rule.begins_alone = field<bool>(given, "begins_alone");
    rule.stored = field<bool>(given, "stored");
    rule.deadline = field<Time>(given, "deadline");
    rule.finest = field<int>(given, "finest");
    rule.given_conditions = to_programs(given["given_conditions"]);
    rule.timer_conditions = to_programs(given["timer_conditions"]);
    rule.guards = to_programs(given["guards"]);
    rule.consumes = field<std::vector<std::uint8_t>>(given, "consumes");
    for (const nb::handle step : nb::cast<nb::sequence>(given["steps"])) {
        rule.steps.push_back({field<std::uint32_t>(step, "type"), to_lookup(step["list"]),
                              field<std::uint8_t>(step, "anchor"), field<Time>(step, "window"),
                              static_cast<Policy>(field<int>(step, "policy")), field<std::uint64_t>(step, "k"),
                              to_programs(step["conditions"])});
    }
    for (const nb::handle negation : nb::cast<nb::sequence>(given["negations"])) {
        rule.negations.push_back({field<std::uint32_t>(negation, "type"), to_lookup(negation["list"]),
                                  to_programs(negation["conditions"]), to_stretch(negation["stretch"])});
    }
    for (const nb::handle output : nb::cast<nb::sequence>(given["outputs"])) {
        rule.outputs.push_back({static_cast<OutputCode::Kind>(field<int>(output, "kind")),
                                field<std::uint8_t>(output, "event"), field<std::int16_t>(output, "column"),
                                field<std::uint32_t>(output, "aggregate"), to_program(output["program"])});
    }
    return rule;
}

double to_double(nb::handle given) {
    const double x = PyFloat_AsDouble(given.ptr());
    if (x == -1.0 && PyErr_Occurred()) throw nb::python_error();
    return x;
}

std::string_view utf8(nb::handle text) {
    Py_ssize_t size = 0;
    const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (data == nullptr) throw nb::python_error();
    return {data, static_cast<std::size_t>(size)};
}

Value to_value(nb::handle given, Type type, Strings& strings) {
    if (given.is_none()) return {};
    switch (type) {
        case Type::Int: return of_int(nb::cast<std::int64_t>(given));
        case Type::Float: return of_float(to_double(given));
        case Type::Bool: return of_bool(given.ptr() == Py_True);
        case Type::String: return of_string(strings.intern(utf8(given)));
    }
    return {};
}

// --- Columns from outside --------------------------------------------------------------------------------

template <typename T>
const T* at_address(std::uintptr_t address) {
    return reinterpret_cast<const T*>(address);
}

void add_value(Source& source, nb::handle given) {
    const bool null = given.is_none();
    Value value{0, null};
    if (source.type == Type::String) {
        source.texts.push_back(null ? std::string_view() : utf8(given));
    } else if (!null) {
        value = source.type == Type::Int     ? of_int(nb::cast<std::int64_t>(given))
                : source.type == Type::Float ? of_float(to_double(given))
                                             : of_bool(given.ptr() == Py_True);
    }
    source.bits.push_back(value.bits);
    source.null.push_back(value.null);
}

// ("objects", values), or as Arrow lays it out in memory: (layout, offset, validity, addresses...).
Source to_source(nb::handle given, Type type, std::size_t count) {
    Source source;
    source.type = type;
    source.count = count;
    const auto layout = nb::cast<std::string>(given[0]);
    if (layout == "objects") {
        source.layout = Source::Layout::Values;
        source.bits.reserve(count);
        source.null.reserve(count);
        if (type == Type::String) source.texts.reserve(count);
        for (const nb::handle value : nb::cast<nb::sequence>(given[1])) add_value(source, value);
        return source;
    }
    source.offset = nb::cast<std::size_t>(given[1]);
    source.validity = at_address<std::uint8_t>(nb::cast<std::uintptr_t>(given[2]));
    if (layout == "null") return source;
    source.data = at_address<void>(nb::cast<std::uintptr_t>(given[3]));
    if (layout == "words") {
        source.layout = Source::Layout::Words;
    } else if (layout == "bits") {
        source.layout = Source::Layout::Bits;
    } else if (layout == "dictionary") {
        source.layout = Source::Layout::Dictionary;
        source.dictionary =
            std::make_shared<Source>(to_source(given[4], type, nb::cast<std::size_t>(given[5])));
    } else {
        source.layout = layout == "texts" ? Source::Layout::Texts : Source::Layout::LongTexts;
        source.characters = at_address<char>(nb::cast<std::uintptr_t>(given[4]));
    }
    return source;
}

// columns: (type of values, rows, layout); times: (address, rows); ids: a layout of texts with its rows;
// blocks: (type, numbers of columns, number of times, number of ids or -1); order: address of 32-bit numbers.
// The caller keeps all of it alive.
Parcel to_parcel(nb::sequence columns, nb::sequence times, nb::sequence ids, nb::sequence blocks,
                 std::uintptr_t order, std::size_t count, bool table) {
    Parcel parcel;
    parcel.table = table;
    parcel.order = {at_address<std::uint32_t>(order), count};
    for (const nb::handle column : columns) {
        const auto kind = static_cast<Type>(nb::cast<int>(column[0]));
        parcel.columns.push_back(to_source(column[2], kind, nb::cast<std::size_t>(column[1])));
    }
    for (const nb::handle given : times) {
        parcel.times.push_back(at_address<Time>(nb::cast<std::uintptr_t>(given[0])));
    }
    for (const nb::handle given : ids) {
        parcel.ids.push_back(to_source(given[1], Type::String, nb::cast<std::size_t>(given[0])));
    }
    for (const nb::handle given : blocks) {
        parcel.blocks.push_back({nb::cast<std::uint32_t>(given[0]), nb::cast<std::vector<std::size_t>>(given[1]),
                                 nb::cast<std::size_t>(given[2]), nb::cast<std::int64_t>(given[3])});
    }
    return parcel;
}

// --- To Python -------------------------------------------------------------------------------------------

nb::object to_python(Value value, Type type, const Strings& strings) {
    if (value.null) return nb::none();
    switch (type) {
        case Type::Int: return nb::cast(as_int(value.bits));
        case Type::Float: return nb::cast(as_float(value.bits));
        case Type::Bool: return nb::cast(value.bits != 0);
        case Type::String: {
            const std::string_view text = strings.text(as_string(value.bits));
            return nb::str(text.data(), text.size());
        }
    }
    return nb::none();
}

nb::list row_of(const std::vector<Column>& columns, std::size_t index, const Strings& strings) {
    nb::list values;
    for (const Column& column : columns) values.append(to_python(column.at(index), column.type, strings));
    return values;
}

nb::bytes bytes_of(const void* data, std::size_t size) { return nb::bytes(data, size); }

// Some values of a column, or one of them some times; and who knows its texts.
struct Slice {
    const Values* values;
    std::size_t start;
    std::size_t count;
    bool repeats;
    const Strings* strings;
};

template <typename Action>
void for_values(const std::vector<Slice>& slices, Action action) {
    std::size_t row = 0;
    for (const Slice& slice : slices) {
        for (std::size_t i = 0; i < slice.count; ++i, ++row) {
            action(slice, row, slice.values->at(slice.repeats ? slice.start : slice.start + i));
        }
    }
}

// (validity bitmap, data[, texts]) as Arrow lays them out, of slices one after the other.
nb::tuple to_arrow(const std::vector<Slice>& slices, Type type) {
    std::size_t count = 0;
    bool nulls = false;
    for (const Slice& slice : slices) {
        count += slice.count;
        nulls = nulls || !slice.values->null.empty();
    }
    const auto set = [](std::string& bitmap, std::size_t row) {
        bitmap[row >> 3] = static_cast<char>(bitmap[row >> 3] | (1 << (row & 7)));
    };
    std::string validity(nulls ? (count + 7) / 8 : 0, '\0');
    if (nulls) {
        for_values(slices, [&](const Slice&, std::size_t row, Value value) {
            if (!value.null) set(validity, row);
        });
    }
    const nb::bytes valid = bytes_of(validity.data(), validity.size());
    if (type == Type::String) {
        std::vector<std::int64_t> offsets(count + 1, 0);
        std::string texts;
        for_values(slices, [&](const Slice& slice, std::size_t row, Value value) {
            if (!value.null) texts += slice.strings->text(as_string(value.bits));
            offsets[row + 1] = static_cast<std::int64_t>(texts.size());
        });
        return nb::make_tuple(valid, bytes_of(offsets.data(), offsets.size() * 8),
                              bytes_of(texts.data(), texts.size()));
    }
    if (type == Type::Bool) {
        std::string packed((count + 7) / 8, '\0');
        for_values(slices, [&](const Slice&, std::size_t row, Value value) {
            if (value.bits) set(packed, row);
        });
        return nb::make_tuple(valid, bytes_of(packed.data(), packed.size()));
    }
    Words words;
    words.reserve(count);
    for (const Slice& slice : slices) {
        const Bits* from = slice.values->bits.data() + slice.start;
        if (slice.repeats) {
            words.insert(words.end(), slice.count, *from);
        } else {
            words.insert(words.end(), from, from + slice.count);
        }
    }
    return nb::make_tuple(valid, bytes_of(words.data(), words.size() * 8));
}

// --- The engine and its batches --------------------------------------------------------------------------

// The engine for oneself. Nobody waits for it while holding the GIL, which the one who has it may need.
class Exclusive {
public:
    explicit Exclusive(Engine& engine) : engine_(engine) {
        if (engine_.busy.try_lock()) return;
        nb::gil_scoped_release release;
        engine_.busy.lock();
    }
    ~Exclusive() { engine_.busy.unlock(); }
    Exclusive(const Exclusive&) = delete;
    Exclusive& operator=(const Exclusive&) = delete;

private:
    Engine& engine_;
};

// A batch and the engine that it came from, which knows its texts; or several, put in order.
struct Result {
    std::shared_ptr<Engine> engine;
    std::shared_ptr<Batch> batch;
    std::shared_ptr<Merge> merge = nullptr;
};

template <typename Action>
Result in_batch(const std::shared_ptr<Engine>& engine, Action action) {
    const Exclusive exclusive(*engine);
    engine->begin();
    action();
    return {engine, engine->end()};
}

Result send_one(const std::shared_ptr<Engine>& engine, std::uint32_t type, Time time, nb::sequence values,
                nb::object id) {
    const Exclusive exclusive(*engine);
    engine->begin();
    Input input;
    InputBlock block{type, {}, &time, nullptr};
    Strings& strings = engine->strings();
    std::size_t c = 0;
    for (const nb::handle value : values) {
        const Type kind = engine->store(type).type(static_cast<int>(c++));
        const Value found = to_value(value, kind, strings);
        block.columns.push_back(&input.columns.emplace_back(Column{kind, {found.bits}, {found.null}}));
    }
    if (!id.is_none()) block.ids = &input.ids.emplace_back(1, strings.intern(utf8(id)));
    input.blocks.push_back(std::move(block));
    const std::uint32_t order = 0;
    input.order = {&order, 1};
    {
        nb::gil_scoped_release release;
        engine->send(input);
    }
    return {engine, engine->end()};
}

Result send_input(const std::shared_ptr<Engine>& engine, nb::sequence columns, nb::sequence times,
                  nb::sequence ids, nb::sequence blocks, std::uintptr_t order, std::size_t count, bool table) {
    const Exclusive exclusive(*engine);
    const Parcel parcel = to_parcel(columns, times, ids, blocks, order, count, table);
    engine->begin();
    {
        nb::gil_scoped_release release;
        engine->send(unpack(parcel, engine->strings()));
    }
    return {engine, engine->end()};
}

// --- Several engines -------------------------------------------------------------------------------------

using Batches = std::vector<std::shared_ptr<Batch>>;

// Let a team do something, and put in order what came of it.
template <typename Action>
Result together(Team& team, Action action) {
    std::deque<Exclusive> exclusive;
    for (const std::shared_ptr<Engine>& engine : team.engines()) exclusive.emplace_back(*engine);
    nb::gil_scoped_release release;
    const Batches batches = action();
    std::vector<Merge::Part> parts;
    for (std::size_t i = 0; i < batches.size(); ++i) {
        if (batches[i]->size > 0 || !batches[i]->hits.empty()) parts.push_back({team.engines()[i], batches[i]});
    }
    if (parts.empty()) return {team.engines()[0], batches[0]};
    if (parts.size() == 1) return {parts[0].engine, parts[0].batch};
    const Merge::Part first = parts[0];
    return {first.engine, first.batch, std::make_shared<Merge>(std::move(parts))};
}

Result team_send_one(Team& team, std::uint32_t type, Time time, nb::sequence values, nb::object id) {
    Parcel parcel;
    const std::uint32_t order = 0;
    parcel.order = {&order, 1};
    parcel.times.push_back(&time);
    Parcel::Block block{type, {}, 0, -1};
    const auto add = [](std::vector<Source>& to, Type kind, nb::handle value) {
        Source& source = to.emplace_back();
        source.type = kind;
        source.count = 1;
        source.layout = Source::Layout::Values;
        add_value(source, value);
    };
    for (const nb::handle value : values) {
        block.columns.push_back(parcel.columns.size());
        add(parcel.columns, team.engines()[0]->store(type).type(static_cast<int>(parcel.columns.size())), value);
    }
    if (!id.is_none()) {
        block.ids = 0;
        add(parcel.ids, Type::String, id);
    }
    parcel.blocks.push_back(std::move(block));
    return together(team, [&] { return team.send(parcel); });
}

Result team_send_input(Team& team, nb::sequence columns, nb::sequence times, nb::sequence ids,
                       nb::sequence blocks, std::uintptr_t order, std::size_t count, bool table) {
    const Parcel parcel = to_parcel(columns, times, ids, blocks, order, count, table);
    return together(team, [&] { return team.send(parcel); });
}

void bind_team(nb::module_& m) {
    nb::class_<Team>(m, "Team", "Kernels that look at one stream together, each at its share.")
        .def_static("create",
                    [](const std::vector<std::shared_ptr<Engine>>& engines, std::size_t threads) {
                        return std::make_shared<Team>(engines, threads);
                    })
        .def("set_places",
             [](Team& team, nb::sequence given) {
                 // (first kernel, number of kernels, (kind of route, column) for each type)
                 std::vector<Place> places;
                 for (const nb::handle one : given) {
                     Place place{nb::cast<std::size_t>(one[0]), nb::cast<std::size_t>(one[1]), {}};
                     for (const nb::handle route : nb::cast<nb::sequence>(one[2])) {
                         place.routes.push_back(
                             {static_cast<Route::By>(nb::cast<int>(route[0])), nb::cast<int>(route[1])});
                     }
                     places.push_back(std::move(place));
                 }
                 team.set_places(std::move(places));
             })
        .def("send_one", &team_send_one, nb::arg("type"), nb::arg("time"), nb::arg("values"),
             nb::arg("id").none())
        .def("send_input", &team_send_input)
        .def("advance", [](Team& team, Time time) { return together(team, [&] { return team.advance(time); }); })
        .def("flush",
             [](Team& team, nb::object until) {
                 const bool has_until = !until.is_none();
                 const Time time = has_until ? nb::cast<Time>(until) : 0;
                 return together(team, [&] { return team.flush(has_until, time); });
             },
             nb::arg("until").none());
}

std::size_t evidence_index(const Evidence& evidence, Row row) {
    return static_cast<std::size_t>(
        std::lower_bound(evidence.rows.begin(), evidence.rows.end(), row) - evidence.rows.begin());
}

void bind_engine(nb::module_& m) {
    nb::class_<Engine>(m, "Kernel", "The detection engine; `tyrex.engine` is its Python face.")
        .def_prop_ro("late", [](const Engine& e) { return e.late_events; })
        .def_prop_ro("overflows", [](Engine& e) { return e.machine().overflows; })
        .def_prop_ro("sequence", &Engine::sequence)
        .def_prop_ro("waiting", &Engine::waiting)
        .def_prop_ro("open_deadlines", &Engine::open_deadlines)
        .def_prop_ro("bytes", &Engine::bytes)
        .def_prop_ro("now", [](const Engine& e) { return e.has_time() ? nb::cast(e.now()) : nb::none(); })
        .def_prop_ro("texts", [](Engine& e) { return e.strings().count(); })
        .def_prop_rw("delay", [](const Engine& e) { return e.delay; }, [](Engine& e, Time d) { e.delay = d; })
        .def("add_type",
             [](Engine& e, const std::string& name, const std::vector<int>& types) {
                 std::vector<Type> kinds;
                 for (const int type : types) kinds.push_back(static_cast<Type>(type));
                 return e.add_type(name, kinds);
             })
        .def("pin",
             [](Engine& e, nb::str text) {
                 const std::uint32_t id = e.strings().intern(utf8(text));
                 e.strings().retain(id);
                 return id;
             })
        .def("unpin", [](Engine& e, std::uint32_t id) { e.strings().release(id); })
        .def("intern", [](Engine& e, nb::str text) { return e.strings().intern(utf8(text)); })
        .def("set_zone", [](Engine& e, std::vector<Time> instants,
                            std::vector<Time> offsets) { e.zone().set(std::move(instants), std::move(offsets)); })
        .def("set_timer_type", &Engine::set_calendar_type)
        .def("set_casing",
             [](Engine& e, nb::callable casing) {
                 e.machine().casing = [casing](std::string_view text, bool upper) {
                     nb::gil_scoped_acquire acquire;
                     return nb::cast<std::string>(casing(nb::str(text.data(), text.size()), upper));
                 };
             })
        .def("set_horizon", [](Engine& e, std::uint32_t type, Time horizon) { e.store(type).horizon = horizon; })
        .def("add_predicate",
             [](Engine& e, std::uint32_t type, int kind, int column, std::uint64_t bits, bool strict,
                nb::sequence rest) {
                 Predicate predicate;
                 predicate.access = {static_cast<Access::Kind>(kind), column, bits, strict};
                 predicate.rest = to_programs(rest);
                 return e.add_predicate(type, std::move(predicate));
             })
        .def("remove_predicate", &Engine::remove_predicate)
        .def("connect",
             [](Engine& e, std::uint32_t p, std::uint32_t family, std::uint32_t slot) {
                 e.change_predicate(p, [&](Predicate& predicate) { predicate.inserts.push_back({family, slot}); });
             })
        .def("disconnect",
             [](Engine& e, std::uint32_t p, std::uint32_t family, std::uint32_t slot) {
                 e.change_predicate(p, [&](Predicate& predicate) {
                     std::erase_if(predicate.inserts, [&](const Insert& insert) {
                         return insert.family == family && insert.slot == slot;
                     });
                 });
             })
        .def("link",
             [](Engine& e, std::uint32_t p, const std::string& kind, std::uint32_t number, bool add) {
                 e.change_predicate(p, [&](Predicate& predicate) {
                     std::vector<std::uint32_t>& numbers = kind == "terminates" ? predicate.terminates
                                                           : kind == "sets"     ? predicate.sets
                                                                                : predicate.subscriptions;
                     if (add) {
                         numbers.push_back(number);
                     } else {
                         std::erase(numbers, number);
                     }
                 });
             })
        .def("add_family", &Engine::add_family)
        .def("add_list", [](Engine& e, std::uint32_t family) { return e.family(family).add_list(); })
        .def("remove_list",
             [](Engine& e, std::uint32_t family, std::uint32_t slot) { e.family(family).remove_list(slot); })
        .def("add_sliding", [](Engine& e, std::uint32_t family) { return e.family(family).add_sliding(); })
        .def("add_aggregate", [](Engine& e, nb::dict given) { return e.add_aggregate(to_aggregate(given)); })
        .def("add_rule", [](Engine& e, nb::dict given) { return e.add_rule(to_rule(given)); })
        .def("remove_rule", &Engine::remove_rule)
        .def("set_paused", [](Engine& e, std::uint32_t rule, bool paused) { e.set_paused(rule, paused); })
        .def("set_stored", [](Engine& e, std::uint32_t rule, bool stored) { e.set_stored(rule, stored); })
        .def("rule_counts",
             [](Engine& e, std::uint32_t rule) {
                 return nb::make_tuple(e.counts(rule).evaluated, e.counts(rule).fired);
             })
        .def("type_counts",
             [](Engine& e, std::uint32_t type) {
                 // from outside, by rules, stored, gone again
                 const Store& store = e.store(type);
                 return nb::make_tuple(store.arrived, store.made, store.size(), store.first());
             })
        .def("stored",
             [](Engine& e, std::uint32_t type) {
                 // (sequence, time, values) of what is stored, in order
                 const Store& store = e.store(type);
                 nb::list events;
                 for (Row row = store.first(); row < store.end(); ++row) {
                     const std::size_t i = store.index(row);
                     events.append(nb::make_tuple(store.sequence(i), store.time(i),
                                                  row_of(store.columns(), i, e.strings())));
                 }
                 return events;
             })
        .def("join", &Engine::join)
        .def("follow", &Engine::follow)
        .def("mark", &Engine::mark)
        .def_static("create", [] { return std::make_shared<Engine>(); });
    m.def("send_one", &send_one, nb::arg("kernel"), nb::arg("type"), nb::arg("time"), nb::arg("values"),
          nb::arg("id").none());
    m.def("send_input", &send_input);
    m.def("advance", [](const std::shared_ptr<Engine>& engine, Time time) {
        return in_batch(engine, [&] {
            nb::gil_scoped_release release;
            engine->advance(time);
        });
    });
    m.def("flush", [](const std::shared_ptr<Engine>& engine, nb::object until) {
        const bool has_until = !until.is_none();
        const Time time = has_until ? nb::cast<Time>(until) : 0;
        return in_batch(engine, [&] {
            nb::gil_scoped_release release;
            engine->flush(has_until, time);
        });
    }, nb::arg("kernel"), nb::arg("until").none());
}

std::vector<ListPlace> to_places(nb::sequence given) {
    std::vector<ListPlace> places;
    for (const nb::handle place : given) {
        places.push_back({nb::cast<std::uint32_t>(place[0]), nb::cast<std::uint32_t>(place[1])});
    }
    return places;
}

void bind_snapshot(nb::module_& m) {
    m.def("save", [](Engine& engine, const std::vector<std::uint32_t>& rules, nb::sequence lists) {
        const Exclusive exclusive(engine);
        const std::string state = save(engine, rules, to_places(lists));
        return bytes_of(state.data(), state.size());
    });
    m.def("load", [](Engine& engine, nb::bytes state, const std::vector<std::uint32_t>& rules, nb::sequence lists) {
        const Exclusive exclusive(engine);
        load(engine, {state.c_str(), state.size()}, rules, to_places(lists));
    });
}

// A composite event of a result, in the batch that has it.
struct Found {
    Engine& engine;
    Batch& batch;
    const Run& run;
    std::uint64_t number;
};

Found find(const Result& result, std::uint64_t number) {
    if (result.merge == nullptr) return {*result.engine, *result.batch, Engine::run_of(*result.batch, number), number};
    const Piece& piece = result.merge->piece_of(number);
    const Merge::Part& part = result.merge->parts[piece.part];
    const Run& run = part.batch->runs[piece.run];
    return {*part.engine, *part.batch, run, run.number + (number - piece.number)};
}

// Do something for each run of a table, in order; the batches' engines are the caller's.
template <typename Action>
void for_runs(const Result& result, std::size_t table, Action action) {
    if (result.merge == nullptr) {
        for (const Run& run : result.batch->runs) {
            if (run.table == table) action(*result.engine, *result.batch, run);
        }
        return;
    }
    for (const std::size_t place : result.merge->tables()[table].pieces) {
        const Piece& piece = result.merge->pieces[place];
        const Merge::Part& part = result.merge->parts[piece.part];
        action(*part.engine, *part.batch, result.merge->run(piece));
    }
}

std::deque<Exclusive> all_engines(const Result& result) {
    std::deque<Exclusive> exclusive;
    if (result.merge == nullptr) {
        exclusive.emplace_back(*result.engine);
    } else {
        for (const Merge::Part& part : result.merge->parts) exclusive.emplace_back(*part.engine);
    }
    return exclusive;
}

nb::tuple column_of(const Result& result, std::size_t table, std::size_t c) {
    const std::deque<Exclusive> exclusive = all_engines(result);
    std::vector<Slice> slices;
    if (result.merge == nullptr && !result.batch->tables[table].columns[c].by_run) {
        const Table& whole = result.batch->tables[table];
        slices.push_back({&whole.columns[c], 0, whole.rows, false, &result.engine->strings()});
        return to_arrow(slices, whole.columns[c].type);
    }
    for_runs(result, table, [&](Engine& engine, Batch& batch, const Run& run) {
        const Values& values = batch.tables[run.table].columns[c];
        const std::size_t start = values.by_run ? run.ordinal : run.start;
        slices.push_back({&values, start, run.count, values.by_run, &engine.strings()});
    });
    return to_arrow(slices, slices[0].values->type);
}

// The ids of the composites of a table as texts; all have 32 characters.
nb::tuple ids_of(const Result& result, std::size_t table) {
    const std::deque<Exclusive> exclusive = all_engines(result);
    std::string texts;
    std::vector<std::int64_t> offsets(1, 0);
    {
        nb::gil_scoped_release release;
        for_runs(result, table, [&](Engine& engine, Batch& batch, const Run& run) {
            engine.seal(batch);
            for (std::uint64_t i = 0; i < run.count; ++i) {
                texts += engine.composite_id(batch, run, run.number + i);
                offsets.push_back(static_cast<std::int64_t>(texts.size()));
            }
        });
    }
    return nb::make_tuple(nb::bytes("", 0), bytes_of(offsets.data(), offsets.size() * 8),
                          bytes_of(texts.data(), texts.size()));
}

nb::tuple hit_of(Engine& engine, Batch& batch, const SubscriptionHit& hit, std::uint64_t number) {
    if (hit.composite) {
        return nb::make_tuple(hit.subscription, number, hit.type, hit.time, nb::list(), nb::none());
    }
    const Evidence& evidence = batch.evidence.at(hit.type);
    const std::size_t at = evidence_index(evidence, hit.row);
    const std::string_view id = engine.strings().text(engine.id_of(batch, hit.type, hit.row));
    return nb::make_tuple(hit.subscription, -1, hit.type, hit.time, row_of(evidence.columns, at, engine.strings()),
                          nb::str(id.data(), id.size()));
}

// (subscription, number of the composite or -1, type, time, values, id) in order
nb::list hits_of(const Result& result) {
    const std::deque<Exclusive> exclusive = all_engines(result);
    nb::list hits;
    if (result.merge == nullptr) {
        result.engine->seal(*result.batch);
        for (const SubscriptionHit& hit : result.batch->hits) {
            hits.append(hit_of(*result.engine, *result.batch, hit, hit.number));
        }
        return hits;
    }
    for (const Merge::Part& part : result.merge->parts) part.engine->seal(*part.batch);
    for (const MergedHit& hit : result.merge->hits()) {
        const Merge::Part& part = result.merge->parts[hit.part];
        hits.append(hit_of(*part.engine, *part.batch, part.batch->hits[hit.hit], hit.number));
    }
    return hits;
}

nb::list lineage_of(const Result& result, std::uint64_t number) {
    // (type, time, values, id, origin) of each of its events, in order of declaration
    const Found found = find(result, number);
    Engine& engine = found.engine;
    const Exclusive exclusive(engine);
    engine.seal(found.batch);
    const RuleCode& rule = engine.rule(found.run.rule);
    nb::list events;
    for (std::size_t i = 0; i < rule.types.size(); ++i) {
        const Row row = engine.part_of(found.batch, found.run, found.number, i);
        const Evidence& evidence = found.batch.evidence.at(rule.types[i]);
        const std::size_t at = evidence_index(evidence, row);
        const std::string_view id = engine.strings().text(engine.id_of(found.batch, rule.types[i], row));
        events.append(nb::make_tuple(rule.types[i], evidence.times[at], row_of(evidence.columns, at, engine.strings()),
                                     nb::str(id.data(), id.size()), static_cast<int>(evidence.origins[at])));
    }
    return events;
}

void bind_result(nb::module_& m) {
    // Rules are meant by their order, which is the same in all engines.
    nb::class_<Result>(m, "Result", "The composite events of one call.")
        .def("__len__", [](const Result& r) { return r.merge == nullptr ? r.batch->size : r.merge->size; })
        .def("late", [](const Result& r) { return r.batch->late; })
        .def("tables",
             [](const Result& r) {
                 nb::list tables;
                 if (r.merge == nullptr) {
                     for (const Table& table : r.batch->tables) tables.append(nb::make_tuple(table.type, table.rows));
                 } else {
                     for (const auto& table : r.merge->tables()) tables.append(nb::make_tuple(table.type, table.rows));
                 }
                 return tables;
             })
        .def("composite",
             [](const Result& r, std::uint64_t number) {
                 // (type, rule, time, values)
                 const Found found = find(r, number);
                 const Exclusive exclusive(found.engine);
                 const Table& table = found.batch.tables[found.run.table];
                 nb::list values;
                 for (std::size_t c = 0; c < table.columns.size(); ++c) {
                     const Value value = table.value(c, found.run, found.number - found.run.number);
                     values.append(to_python(value, table.columns[c].type, found.engine.strings()));
                 }
                 return nb::make_tuple(table.type, found.engine.rule(found.run.rule).order, found.run.time, values);
             })
        .def("head",
             [](const Result& r, std::uint64_t number) {
                 const Found found = find(r, number);
                 const Exclusive exclusive(found.engine);
                 return nb::make_tuple(found.batch.tables[found.run.table].type,
                                       found.engine.rule(found.run.rule).order, found.run.time);
             })
        .def("column", &column_of)
        .def("table_runs",
             [](const Result& r, std::size_t table) {
                 // 64-bit numbers, row by row of the table: time; and rule
                 const std::deque<Exclusive> exclusive = all_engines(r);
                 std::vector<Time> times;
                 std::vector<std::uint64_t> rules;
                 for_runs(r, table, [&](Engine& engine, Batch&, const Run& run) {
                     times.insert(times.end(), run.count, run.time);
                     rules.insert(rules.end(), run.count, engine.rule(run.rule).order);
                 });
                 return nb::make_tuple(bytes_of(times.data(), times.size() * 8),
                                       bytes_of(rules.data(), rules.size() * 8));
             })
        .def("ids", &ids_of)
        .def("id",
             [](const Result& r, std::uint64_t number) {
                 const Found found = find(r, number);
                 const Exclusive exclusive(found.engine);
                 found.engine.seal(found.batch);
                 return found.engine.composite_id(found.batch, found.run, found.number);
             })
        .def("lineage", &lineage_of)
        .def("hits", &hits_of);
}

double exact_sum(const nb::iterable& values) {
    ExactSum sum;
    for (const nb::handle value : values) sum.add(to_double(value));
    return sum.value();
}

double sliding_sum(const nb::iterable& added, const nb::iterable& taken) {
    WideSum sum;
    for (const nb::handle value : added) sum.add(to_double(value));
    for (const nb::handle value : taken) sum.subtract(to_double(value));
    return sum.value();
}

}  // namespace

NB_MODULE(_kernel, m) {
    m.doc() = "The part of Tyrex that is written in C++.";

    m.def("version", [] { return TYREX_VERSION; }, "The version of Tyrex this kernel was built for.");

    m.def("exact_sum", &exact_sum, nb::arg("values"),
          "Sum floats with a single rounding, so that their order does not matter.\n\n"
          "Any NaN, or +inf together with -inf, gives NaN; a sum beyond the range of float gives the\n"
          "infinity of its sign, and partial sums may lie beyond it.");

    m.def("sliding_sum", &sliding_sum, nb::arg("added"), nb::arg("taken"),
          "Sum the added floats without those that were taken away again, with a single rounding.");

    m.def("digest", [](nb::bytes content) {
        const auto digest = blake2b_16({content.c_str(), content.size()});
        return bytes_of(digest.data(), digest.size());
    });
    bind_engine(m);
    bind_team(m);
    bind_result(m);
    bind_snapshot(m);
}
