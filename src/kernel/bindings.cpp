// Everything Python sees of the kernel, and all that the kernel knows of Python.

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <string>

#include "blake2b.hpp"
#include "engine.hpp"
#include "exact_sum.hpp"
#include "snapshot.hpp"
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

// --- Arrow's columns -------------------------------------------------------------------------------------

template <typename T>
const T* at_address(std::uintptr_t address) {
    return reinterpret_cast<const T*>(address);
}

bool bit(const std::uint8_t* bitmap, std::size_t i) { return ((bitmap[i >> 3] >> (i & 7)) & 1) != 0; }

// A column as Arrow lays it out in memory: (layout, offset, validity, addresses...). The caller keeps it alive.
Column to_column(nb::handle given, Type type, std::size_t count, Strings& strings) {
    Column column{type, std::vector<Bits>(count), std::vector<std::uint8_t>(count)};
    const auto layout = nb::cast<std::string>(given[0]);
    if (layout == "objects") {
        std::size_t i = 0;
        for (const nb::handle value : nb::cast<nb::sequence>(given[1])) {
            const Value found = to_value(value, type, strings);
            column.bits[i] = found.bits;
            column.null[i++] = found.null;
        }
        return column;
    }
    const auto offset = nb::cast<std::size_t>(given[1]);
    const auto* validity = at_address<std::uint8_t>(nb::cast<std::uintptr_t>(given[2]));
    if (layout == "null") {
        std::fill(column.null.begin(), column.null.end(), std::uint8_t{1});
        return column;
    }
    if (validity != nullptr) {
        for (std::size_t i = 0; i < count; ++i) column.null[i] = !bit(validity, offset + i);
    }
    const auto data = nb::cast<std::uintptr_t>(given[3]);
    if (layout == "words") {
        std::memcpy(column.bits.data(), at_address<Bits>(data) + offset, count * sizeof(Bits));
        if (type == Type::Float) {
            for (std::size_t i = 0; i < count; ++i) column.null[i] |= std::isnan(as_float(column.bits[i]));
        }
    } else if (layout == "bits") {
        for (std::size_t i = 0; i < count; ++i) column.bits[i] = bit(at_address<std::uint8_t>(data), offset + i);
    } else if (layout == "texts" || layout == "long texts") {
        const auto texts = at_address<char>(nb::cast<std::uintptr_t>(given[4]));
        const auto read = [&](auto* offsets) {
            for (std::size_t i = 0; i < count; ++i) {
                if (column.null[i]) continue;
                const auto from = offsets[offset + i];
                const auto size = static_cast<std::size_t>(offsets[offset + i + 1] - from);
                column.bits[i] = strings.intern({texts + from, size});
            }
        };
        if (layout == "texts") {
            read(at_address<std::int32_t>(data));
        } else {
            read(at_address<std::int64_t>(data));
        }
    } else {  // "dictionary": indices into texts
        const nb::handle texts = given[4];
        const Column dictionary = to_column(texts, type, nb::cast<std::size_t>(given[5]), strings);
        const auto* indices = at_address<std::int32_t>(data);
        for (std::size_t i = 0; i < count; ++i) {
            if (column.null[i]) continue;
            const auto index = static_cast<std::size_t>(indices[offset + i]);
            column.bits[i] = dictionary.bits[index];
            column.null[i] = dictionary.null[index];
        }
    }
    return column;
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

// (validity bitmap, data[, texts]) as Arrow lays them out.
nb::tuple to_arrow(const Column& column, const Strings& strings) {
    const std::size_t count = column.bits.size();
    std::string validity((count + 7) / 8, '\0');
    std::size_t nulls = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (column.null[i]) {
            ++nulls;
        } else {
            validity[i >> 3] = static_cast<char>(validity[i >> 3] | (1 << (i & 7)));
        }
    }
    const nb::bytes valid = bytes_of(validity.data(), nulls == 0 ? 0 : validity.size());
    if (column.type == Type::String) {
        std::vector<std::int64_t> offsets(count + 1, 0);
        std::string texts;
        for (std::size_t i = 0; i < count; ++i) {
            if (!column.null[i]) texts += strings.text(as_string(column.bits[i]));
            offsets[i + 1] = static_cast<std::int64_t>(texts.size());
        }
        return nb::make_tuple(valid, bytes_of(offsets.data(), offsets.size() * 8),
                              bytes_of(texts.data(), texts.size()));
    }
    if (column.type == Type::Bool) {
        std::string packed((count + 7) / 8, '\0');
        for (std::size_t i = 0; i < count; ++i) {
            if (column.bits[i]) packed[i >> 3] = static_cast<char>(packed[i >> 3] | (1 << (i & 7)));
        }
        return nb::make_tuple(valid, bytes_of(packed.data(), packed.size()));
    }
    return nb::make_tuple(valid, bytes_of(column.bits.data(), count * 8));
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

// A batch and the engine that it came from, which knows its texts.
struct Result {
    std::shared_ptr<Engine> engine;
    std::shared_ptr<Batch> batch;
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
    InputBlock block{type, {}, &input.times.emplace_back(1, time), nullptr};
    Strings& strings = engine->strings();
    std::size_t c = 0;
    for (const nb::handle value : values) {
        const Type kind = engine->store(type).type(static_cast<int>(c++));
        const Value found = to_value(value, kind, strings);
        block.columns.push_back(&input.columns.emplace_back(Column{kind, {found.bits}, {found.null}}));
    }
    if (!id.is_none()) block.ids = &input.ids.emplace_back(1, strings.intern(utf8(id)));
    input.blocks.push_back(std::move(block));
    input.order.push_back(0);
    {
        nb::gil_scoped_release release;
        engine->send(input);
    }
    return {engine, engine->end()};
}

// columns: (type of values, rows, layout); times: (address, rows); ids: a layout of texts with its rows;
// blocks: (type, numbers of columns, number of times, number of ids or -1); order: address of 32-bit numbers.
Result send_input(const std::shared_ptr<Engine>& engine, nb::sequence columns, nb::sequence times,
                  nb::sequence ids, nb::sequence blocks, std::uintptr_t order, std::size_t count, bool table) {
    const Exclusive exclusive(*engine);
    engine->begin();
    Input input;
    input.table = table;
    Strings& strings = engine->strings();
    for (const nb::handle column : columns) {
        const auto kind = static_cast<Type>(nb::cast<int>(column[0]));
        input.columns.push_back(to_column(column[2], kind, nb::cast<std::size_t>(column[1]), strings));
    }
    for (const nb::handle given : times) {
        const auto* from = at_address<Time>(nb::cast<std::uintptr_t>(given[0]));
        input.times.emplace_back(from, from + nb::cast<std::size_t>(given[1]));
    }
    for (const nb::handle given : ids) {
        const Column texts = to_column(given[1], Type::String, nb::cast<std::size_t>(given[0]), strings);
        std::vector<std::uint32_t>& numbers = input.ids.emplace_back();
        for (std::size_t i = 0; i < texts.bits.size(); ++i) {
            numbers.push_back(texts.null[i] ? no_id : as_string(texts.bits[i]));
        }
    }
    for (const nb::handle given : blocks) {
        InputBlock block{nb::cast<std::uint32_t>(given[0]), {}, &input.times[nb::cast<std::size_t>(given[2])], nullptr};
        for (const nb::handle column : nb::cast<nb::sequence>(given[1])) {
            block.columns.push_back(&input.columns[nb::cast<std::size_t>(column)]);
        }
        const auto which = nb::cast<std::int64_t>(given[3]);
        if (which >= 0) block.ids = &input.ids[static_cast<std::size_t>(which)];
        input.blocks.push_back(std::move(block));
    }
    const auto* numbers = at_address<std::uint32_t>(order);
    input.order.assign(numbers, numbers + count);
    {
        nb::gil_scoped_release release;
        engine->send(input);
    }
    return {engine, engine->end()};
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
                 return nb::make_tuple(e.store(type).arrived, e.store(type).size());
             })
        .def("stored",
             [](Engine& e, std::uint32_t type) {
                 // (sequence, time, values) of what is stored, in order
                 const Store& store = e.store(type);
                 nb::list events;
                 for (Row row = store.first(); row < store.end(); ++row) {
                     const std::size_t i = store.index(row);
                     events.append(nb::make_tuple(row, store.sequence(i), store.time(i),
                                                  row_of(store.columns(), i, e.strings())));
                 }
                 return events;
             })
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

void bind_result(nb::module_& m) {
    nb::class_<Result>(m, "Result", "The composite events of one call.")
        .def("__len__", [](const Result& r) { return r.batch->size; })
        .def("late", [](const Result& r) { return r.batch->late; })
        .def("tables",
             [](const Result& r) {
                 nb::list tables;
                 for (const Table& table : r.batch->tables) tables.append(nb::make_tuple(table.type, table.rows));
                 return tables;
             })
        .def("composite",
             [](const Result& r, std::uint64_t number) { const Exclusive exclusive(*r.engine);
                 // (type, rule, time, values)
                 const Run& run = r.engine->run_of(*r.batch, number);
                 const Table& table = r.batch->tables[run.table];
                 return nb::make_tuple(table.type, run.rule, run.time,
                                       row_of(table.columns, run.start + (number - run.number), r.engine->strings()));
             })
        .def("head",
             [](const Result& r, std::uint64_t number) { const Exclusive exclusive(*r.engine);
                 const Run& run = r.engine->run_of(*r.batch, number);
                 return nb::make_tuple(r.batch->tables[run.table].type, run.rule, run.time);
             })
        .def("column", [](const Result& r, std::size_t table,
                          std::size_t c) { const Exclusive exclusive(*r.engine); return to_arrow(r.batch->tables[table].columns[c], r.engine->strings()); })
        .def("table_runs",
             [](const Result& r, std::size_t table) {
                 // 64-bit numbers, row by row of the table: time; and rule
                 std::vector<Time> times;
                 std::vector<std::int64_t> rules;
                 for (const Run& run : r.batch->runs) {
                     if (run.table != table) continue;
                     times.insert(times.end(), run.count, run.time);
                     rules.insert(rules.end(), run.count, run.rule);
                 }
                 return nb::make_tuple(bytes_of(times.data(), times.size() * 8),
                                       bytes_of(rules.data(), rules.size() * 8));
             })
        .def("id",
             [](const Result& r, std::uint64_t number) { const Exclusive exclusive(*r.engine);
                 if (!r.batch->sealed) r.engine->seal(*r.batch);
                 return r.engine->composite_id(*r.batch, number);
             })
        .def("lineage",
             [](const Result& r, std::uint64_t number) { const Exclusive exclusive(*r.engine);
                 // (type, time, values, id, origin) of each of its events, in order of declaration
                 if (!r.batch->sealed) r.engine->seal(*r.batch);
                 const Run& run = r.engine->run_of(*r.batch, number);
                 const RuleCode& rule = r.engine->rule(run.rule);
                 nb::list events;
                 for (std::size_t i = 0; i < rule.types.size(); ++i) {
                     const Row row = r.engine->part_of(*r.batch, number, i);
                     const Evidence& evidence = r.batch->evidence.at(rule.types[i]);
                     const std::size_t at = evidence_index(evidence, row);
                     const std::string_view id =
                         r.engine->strings().text(r.engine->id_of(*r.batch, rule.types[i], row));
                     events.append(nb::make_tuple(rule.types[i], evidence.times[at],
                                                  row_of(evidence.columns, at, r.engine->strings()),
                                                  nb::str(id.data(), id.size()),
                                                  static_cast<int>(evidence.origins[at])));
                 }
                 return events;
             })
        .def("hits", [](const Result& r) { const Exclusive exclusive(*r.engine);
            // (subscription, number of the composite or -1, type, time, values) in order
            if (!r.batch->sealed) r.engine->seal(*r.batch);
            nb::list hits;
            for (const SubscriptionHit& hit : r.batch->hits) {
                if (hit.composite) {
                    hits.append(nb::make_tuple(hit.subscription, hit.number, hit.type, 0, nb::list(), nb::none()));
                    continue;
                }
                const Evidence& evidence = r.batch->evidence.at(hit.type);
                const std::size_t at = evidence_index(evidence, hit.row);
                const std::string_view id =
                    r.engine->strings().text(r.engine->id_of(*r.batch, hit.type, hit.row));
                hits.append(nb::make_tuple(hit.subscription, -1, hit.type, evidence.times[at],
                                           row_of(evidence.columns, at, r.engine->strings()),
                                           nb::str(id.data(), id.size())));
            }
            return hits;
        });
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
    bind_result(m);
    bind_snapshot(m);
}
