"""Scenarios from TOML files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from tyrex.simulate.deployment import Deployment, Model, Rates
from tyrex.simulate.own_workload import OwnWorkload
from tyrex.simulate.raced_scenario import Raced
from tyrex.simulate.scenario import MODES, STRATEGIES, Run, Scenario
from tyrex.simulate.toml_reader import IMPOSSIBLE, Reader, Section
from tyrex.simulate.topologies import DELAY, barabasi_albert, grid, tree, waxman
from tyrex.simulate.topology import Topology, TopologyError
from tyrex.simulate.topology_file import read_topology
from tyrex.simulate.workload import Arrivals
from tyrex.tesla.durations import MILLISECOND, SECOND

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
    made = OwnWorkload(reader, workload, topology, seed).read(folder) if kind == "own" else None
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
