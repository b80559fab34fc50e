"""Scenarios from TOML files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from tyrex.rules import NotUtf8, RuleSet, examine, read_sources
from tyrex.simulate.contents import Between, Draw, OneOf
from tyrex.simulate.deployment import Deployment, Model, Rates
from tyrex.simulate.raced_scenario import Raced
from tyrex.simulate.scenario import MODES, STRATEGIES, Run, Scenario
from tyrex.simulate.toml_reader import IMPOSSIBLE, UNREADABLE, Reader, Section
from tyrex.simulate.topologies import DELAY, barabasi_albert, grid, tree, waxman
from tyrex.simulate.topology import Topology, TopologyError
from tyrex.simulate.topology_file import read_topology
from tyrex.simulate.workload import Arrivals, Feed, Sink, Workload
from tyrex.tesla import TeslaError
from tyrex.tesla.diagnostics import did_you_mean, listing
from tyrex.tesla.durations import MILLISECOND, SECOND
from tyrex.tesla.types import EventType, ValueType

MODELS = ("waxman", "barabasi-albert", "grid", "tree", "file")
_BYTES_IN_MBIT = 1e6 / 8


def read_scenario(path: Path) -> Scenario:
    """The scenario in a file; `ScenarioError` with everything that is wrong, or `OSError`."""
    return parse_scenario(path.read_text("utf-8-sig"), str(path), path.parent)


def parse_scenario(text: str, name: str = "<scenario>", folder: Path = Path()) -> Scenario:
    """The scenario in a text; the files that it names are looked for in the folder."""
    reader = Reader(text, name)
    root = reader.root
    title = root.text("name", Path(name).stem) or ""
    seed = root.whole("seed", 0)
    network, workload, run = root.section("network"), root.section("workload"), root.section("run")
    kind = workload.choice("kind", ("deployment", "raced", "own"), "deployment")
    parameters = _parameters(kind, workload, seed)
    topology = _topology(network, folder, seed, parameters)
    strategies = run.choices(
        "strategies", STRATEGIES, ("RACED", "PADRES") if kind == "raced" else STRATEGIES[:5]
    )
    mode = run.choice("mode", MODES, "exact")
    usual = Run()
    how = Run(
        duration=run.duration("duration", usual.duration, least=MILLISECOND),
        warm_up=run.duration("warm_up", usual.warm_up),
        span=run.duration("span", usual.span, least=MILLISECOND),
        samples=run.whole("samples", usual.samples),
        check=run.flag("check", usual.check),
    )
    own = _Own(reader, workload, folder, topology, seed) if kind == "own" else None
    made = own.workload() if own is not None else None
    for section in (root, network, workload, run):
        section.close()
    reader.finish()
    if topology is None or (made is None and parameters is None):  # never so, as then something was wrong
        raise AssertionError(name)
    if made is None and parameters is not None:
        made = parameters.workload(topology)
    if made is None:
        raise AssertionError(name)
    return Scenario(title, topology, made, how, strategies, mode)


# --- Networks ---------------------------------------------------------------------------------------------


def _topology(
    section: Section, folder: Path, seed: int, parameters: Deployment | Raced | None
) -> Topology | None:
    usual = parameters or Deployment()
    default = usual.brokers if isinstance(usual, Raced) else usual.processors
    degree = usual.degree
    model = section.choice("model", MODELS, "waxman")
    seed = section.whole("seed", seed)
    delay = section.duration("delay", DELAY)
    mbit = section.number("mbit_per_s", 0)
    bandwidth = mbit * _BYTES_IN_MBIT if mbit else None
    try:
        match model:
            case "waxman" | "barabasi-albert":
                number = section.whole("processors", default, least=1)
                degree = section.number("degree", min(degree, number - 1))
                make: Callable[..., Topology] = waxman if model == "waxman" else barabasi_albert
                return make(number, degree=degree, seed=seed, delay=delay, bandwidth=bandwidth)
            case "grid":
                columns, rows = section.whole("columns", 5, least=1), section.whole("rows", 4, least=1)
                return grid(columns, rows, delay=delay, bandwidth=bandwidth)
            case "tree":
                number = section.whole("processors", default, least=1)
                children = section.whole("children", 2, least=1)
                return tree(number, children=children, delay=delay, bandwidth=bandwidth)
            case _:
                pass
        file = section.text("file", needed=True)
        return None if file is None else read_topology(folder / file)
    except TopologyError as error:
        section.wrong(IMPOSSIBLE, str(error), "file" if model == "file" else "degree")
        return None


# --- The papers' workloads --------------------------------------------------------------------------------


def _parameters(kind: str, section: Section, seed: int) -> Deployment | Raced | None:
    if kind == "own":
        return None
    base: Deployment | Raced = Deployment(seed=seed) if kind == "deployment" else Raced(seed=seed)
    network = {"processors", "degree", "model", "delay", "brokers"}  # these stand in [network]
    given: dict[str, Any] = {}
    for one in fields(base):
        if one.name in network or one.name not in section.keys:
            continue
        given[one.name] = _parameter(section, one.name, getattr(base, one.name))
    _offer(section, [one.name for one in fields(base) if one.name not in network])
    made = type(base)(**{"seed": seed, **given})
    return _possible(section, made)


def _parameter(section: Section, key: str, default: Any) -> Any:
    if key == "window":
        return section.duration(key, round(default * SECOND), least=MILLISECOND) / SECOND
    match default:
        case Rates() | Arrivals() | Model():
            kind = type(default)
            return kind(section.choice(key, [one.value for one in kind], default.value))
        case bool():
            return section.flag(key, default)
        case int():
            return section.whole(key, default)
        case _:
            pass
    return section.number(key, default, least=1e-9 if key in ("slowest", "fastest", "rate") else 0)


def _offer(section: Section, keys: list[str]) -> None:
    """Let a misspelt key be told with all that there are."""
    for key in keys:
        if key not in section.keys:
            section.values(key)


def _possible(section: Section, made: Deployment | Raced) -> Deployment | Raced | None:
    """The parameters if they go together."""
    wrong = _clash(made) if isinstance(made, Deployment) else _raced_clash(made)
    if wrong is None:
        return made
    key, message = wrong
    section.wrong(IMPOSSIBLE, message, key if key in section.keys else None)
    return None


def _clash(made: Deployment) -> tuple[str, str] | None:
    """A parameter that can't be, and why."""
    pool = made.types
    if made.classes and made.rules:
        pool = made.types * min(made.classes, made.rules) // made.rules
    if min(made.rules, made.length, made.types, made.values, made.sources) < 1:
        return "rules", "rules, length, types, values and sources have to be 1 or more"
    if not made.distinct and made.length > pool:
        return "length", f"a rule of {made.length} different events can't be made of {pool} types"
    if made.slowest > made.fastest:
        return "slowest", f"the slowest rate, {made.slowest:g}, is above the fastest, {made.fastest:g}"
    if not 0 <= made.each <= 1 or not 0 <= made.window_spread < 1:
        return "each", "`each` is a part, 0 to 1, and `window_spread` is below 1"
    return None


def _raced_clash(made: Raced) -> tuple[str, str] | None:
    if min(made.filters, made.values, made.clients, made.definitions) < 1:
        return "filters", "filters, values, clients and definitions have to be 1 or more"
    if made.filters + made.negated > made.types:
        return "filters", f"{made.filters + made.negated} different filters need as many types"
    return None


# --- One's own --------------------------------------------------------------------------------------------


@dataclass
class _Own:
    """Rules, sources and sinks that a file names."""

    reader: Reader
    section: Section
    folder: Path
    topology: Topology | None
    seed: int

    def workload(self) -> Workload | None:
        arrivals = Arrivals(
            self.section.choice("arrivals", [one.value for one in Arrivals], Arrivals.POISSON.value)
        )
        rules, text, raced = self._rules()
        sources, sinks = self.section.sections("source"), self.section.sections("sink")
        if rules is None:
            return None
        feeds = [feed for one in sources for feed in self._feeds(one, rules)]
        found = [sink for one in sinks for sink in self._sinks(one, rules)]
        draws = self._draws(rules)
        if not sources:
            self.section.wrong(
                IMPOSSIBLE, "nobody publishes an event", suggestion="add `[[workload.source]]`"
            )
        if not sinks:
            self.section.wrong(IMPOSSIBLE, "nobody wants an event", suggestion="add `[[workload.sink]]`")
        return Workload(
            rules=text,
            feeds=tuple(feeds),
            sinks=tuple(found),
            draws=draws,
            arrivals=arrivals,
            seed=self.seed,
            raced=raced,
        )

    def _rules(self) -> tuple[RuleSet | None, str, bool]:
        name = self.section.text("rules", needed=True)
        if name is None:
            return None, "", False
        try:
            sources = read_sources(self.folder / name)
        except (OSError, NotUtf8) as error:
            message = str(error) if isinstance(error, NotUtf8) else f"{error.filename}: {error.strerror}"
            self.section.wrong(UNREADABLE, f"the rules can't be read: {message}", "rules")
            return None, "", False
        if len(sources) != 1:
            self.section.wrong(UNREADABLE, f"{name} is no file of rules", "rules", suggestion="name one file")
            return None, "", False
        rules, diagnostics = examine(sources)
        if rules is None:
            self.reader.also(diagnostics)
        return rules, sources[0].text, name.endswith(".raced")

    def _feeds(self, section: Section, rules: RuleSet) -> list[Feed]:
        made = {rule.defines.name for rule in rules}
        type_ = self._type(section, "type", {n: t for n, t in rules.types.items() if n not in made})
        places = self._processors(section)
        rate = section.needed_number("rate", least=1e-9)
        section.close()
        return [Feed(place, type_.name, rate or 0) for place in places] if type_ is not None else []

    def _sinks(self, section: Section, rules: RuleSet) -> list[Sink]:
        wanted = []
        for text in section.texts("want", needed=True):
            try:
                rules.subscription(text if "(" in text else f"{text}()")
            except TeslaError as error:
                said = error.diagnostics[0]
                section.wrong(
                    IMPOSSIBLE,
                    f"`{text}` can't be subscribed to: {said.message}",
                    "want",
                    expected=said.expected,
                    suggestion=said.suggestion,
                )
                continue
            wanted.append(text if "(" in text else f"{text}()")
        places = self._processors(section)
        section.close()
        return [Sink(place, tuple(wanted)) for place in places]

    def _processors(self, section: Section) -> tuple[str, ...]:
        """`processor = "p1"`, a list of them, or `"all"`."""
        given = section.values("processor")
        names = [given] if isinstance(given, str) else given
        if not isinstance(names, list) or not all(isinstance(one, str) for one in names) or not names:
            section.wrong(
                IMPOSSIBLE, "it is not said at which processor", "processor", suggestion='`processor = "p1"`'
            )
            return ()
        known = self.topology.processors if self.topology is not None else tuple(names)
        if names == ["all"]:
            return known
        for name in names:
            if name not in known:
                section.wrong(
                    IMPOSSIBLE,
                    f"there is no processor `{name}`",
                    "processor",
                    expected=listing(known[:8]) + (" .." if len(known) > 8 else ""),
                    suggestion=did_you_mean(name, known),
                )
                return ()
        return tuple(names)

    def _type(self, section: Section, key: str, types: Mapping[str, EventType]) -> EventType | None:
        name = section.text(key, needed=True)
        if name is None:
            return None
        if name not in types:
            section.wrong(
                IMPOSSIBLE,
                f"there is no event type `{name}` for sources",
                key,
                expected=listing(sorted(types)),
                suggestion=did_you_mean(name, types),
            )
        return types.get(name)

    def _draws(self, rules: RuleSet) -> dict[str, dict[str, Draw]]:
        """`[workload.values.Temp]`: for attributes a list of values, or `{ low = 0, high = 10 }`."""
        section = self.section.section("values")
        found: dict[str, dict[str, Draw]] = {}
        for name in section.keys:
            below = section.section(name)
            type_ = rules.types.get(name)
            if type_ is None:
                section.wrong(
                    IMPOSSIBLE,
                    f"there is no event type `{name}`",
                    name,
                    suggestion=did_you_mean(name, rules.types),
                )
                continue
            found[name] = {}
            for attribute in type_.attributes:
                value = below.values(attribute.name)
                if value is not None:
                    draw = _draw(value, attribute.type)
                    if draw is None:
                        below.wrong(
                            IMPOSSIBLE,
                            f"`{attribute.name}` has no such values",
                            attribute.name,
                            expected=f"a list of {attribute.type.value} values, or `{{ low = 0, high = 10 }}`",
                        )
                    else:
                        found[name][attribute.name] = draw
            below.close()
        section.close()
        return found


def _draw(value: Any, type_: ValueType) -> Draw | None:
    kinds: dict[ValueType, tuple[type, ...]] = {
        ValueType.STRING: (str,),
        ValueType.INT: (int,),
        ValueType.FLOAT: (int, float),
        ValueType.BOOL: (bool,),
    }
    match value:
        case list() if value and all(
            isinstance(one, kinds[type_]) and (isinstance(one, bool) == (type_ is ValueType.BOOL))
            for one in value
        ):
            return OneOf(tuple(value))
        case {"low": int() | float() as low, "high": int() | float() as high} if (
            len(value) == 2 and low <= high and type_ in (ValueType.INT, ValueType.FLOAT)
        ):
            return Between(low, high)
        case _:
            return None
