"""Random rules, sites and histories to split, and what comes of them when only what is asked for is sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from tests.engine import random_rules as every_construct

from tyrex import Engine, Event, RuleSet, TeslaError, parse
from tyrex.plan.partition import Mode, Opening, PartialRule, Site, compile_rules, partition, pull_plan
from tyrex.plan.partition.compile import ROW
from tyrex.tesla.checked import CheckedRules
from tyrex.tesla.durations import SECOND
from tyrex.tesla.types import EventType

TYPES = "ABCDE"
DECLARATIONS = "".join(f"event {name}(k: int, v: int)\n" for name in TYPES)
DROPPED = "Dropped"
"""No rule knows this type, so such an event does nothing but let time pass."""


@dataclass(frozen=True)
class Deployed:
    """An event, in the order that all places agree on, and the site where it happens."""

    row: int
    event: Event
    leaf: str


@dataclass(frozen=True)
class Scenario:
    """A group of rules, a tree of two levels, and a history."""

    rules: RuleSet
    tree: dict[str, dict[str, frozenset[str]]]
    """For each site, the types that come from each of the places below it."""
    history: tuple[Deployed, ...]

    @property
    def sites(self) -> list[Site]:
        """The sites as the root sees them."""
        return [
            Site(name, frozenset(t for types in below.values() for t in types))
            for name, below in self.tree.items()
        ]

    def below(self, name: str) -> list[Site]:
        """The places below a site."""
        return [Site(leaf, types) for leaf, types in self.tree[name].items()]


def random_scenario(random: Random) -> Scenario | None:
    """Something to be split; None if the rules contradict themselves."""
    plain = random.random() < 0.7
    rules = _parsed(sequence_text(random)) if plain else every_construct.random_rules(random)
    if rules is None:
        return None
    groups = rules.plan.groups
    group = random.choice(groups)
    chosen = RuleSet(CheckedRules(tuple(rules.checked.rules[i] for i in group), rules.types))
    names = list(TYPES) if plain else [*every_construct.PRIMITIVE, *rules.plan.types_defined]
    tree = random_tree(random, names)
    leaves = [leaf for below in tree.values() for leaf in below]
    homes = {
        name: [leaf for b in tree.values() for leaf, types in b.items() if name in types] for name in names
    }
    if plain:
        used = [name for name in TYPES if name in rules.plan.types_needed]
        events = plain_history(random, used)
    else:
        events = [
            replace(e, type=random.choice(names)) if random.random() < 0.1 else e
            for e in every_construct.random_history(random)
        ]
    history = []
    for row, event in enumerate(events):
        home = homes.get(event.type, leaves)
        if home:  # nobody publishes what was not advertised
            history.append(Deployed(row, replace(event, id=f"e{row}"), random.choice(home)))
    return Scenario(chosen, tree, tuple(history))


def random_tree(random: Random, names: Iterable[str]) -> dict[str, dict[str, frozenset[str]]]:
    """Up to four sites with up to three places below each, and the types that come from them."""
    sites = [f"s{n}" for n in range(random.randint(1, 4))]
    leaves = {site: [f"{site}.{n}" for n in range(random.randint(1, 3))] for site in sites}
    every = [leaf for below in leaves.values() for leaf in below]
    types: dict[str, set[str]] = {leaf: set() for leaf in every}
    for name in names:
        for leaf in random.sample(every, min(len(every), random.choice((1, 1, 1, 1, 2, 3)))):
            if random.random() < 0.98:
                types[leaf].add(name)
    return {site: {leaf: frozenset(types[leaf]) for leaf in below} for site, below in leaves.items()}


def sequence_text(random: Random) -> str:
    """A rule with a tree of events, often of different types, with negations and aggregates."""
    size = random.randint(2, 5)
    types = random.sample(TYPES, size) if random.random() < 0.6 else random.choices(TYPES, k=size)
    conjuncts = [f"{types[0]}({_conditions(random, [])}) as E0"]
    for index in range(1, size):
        policy = random.choice("each last last last first first 2-last 2-first 3-last".split())
        anchor = index - 1 if random.random() < 0.7 else random.randrange(index)
        conditions = _conditions(random, [f"E{i}" for i in range(index)])
        window = random.randint(1, 6)
        conjuncts.append(
            f"{policy} {types[index]}({conditions}) as E{index} within {window} s from E{anchor}"
        )
    names = [f"E{i}" for i in range(size)]
    if size > 2 and random.random() < 0.15:
        earlier, later = random.sample(names, 2)
        conjuncts.append(f"{earlier} within {random.randint(1, 6)} s from {later}")
    for _ in range(random.choice((0, 0, 1, 1, 2))):
        absent = f"not {random.choice(TYPES)}({_conditions(random, names, 0.4)})"
        conjuncts.append(f"{absent} {_interval(random, names)}")
    values = ["n = 0"]
    if random.random() < 0.3:
        values = [
            f"n = Count({random.choice(TYPES)}({_conditions(random, names, 0.4)})) {_interval(random, names)}"
        ]
    if random.random() < 0.1:
        conjuncts.append(f"Count({random.choice(TYPES)}()) {_interval(random, names)} > 1")
    consumed = [name for name in names if random.random() < 0.5] if random.random() < 0.1 else []
    consuming = f"consuming {', '.join(consumed)}" if consumed else ""
    return f"{DECLARATIONS}define X(n: int) from {' and '.join(conjuncts)} where {values[0]} {consuming}"


def plain_history(random: Random, used: Sequence[str]) -> list[Event]:
    """Events in order of time, several at the same one, most of types that matter."""
    times = sorted(random.choices(range(random.choice((8, 14, 20))), k=random.randint(5, 40)))
    return [
        Event(
            random.choice([*used, *used, *used, *used, *TYPES]),
            t * SECOND,
            {"k": random.choice((0, 1, 1, None)), "v": random.randint(0, 2)},
        )
        for t in times
    ]


def _conditions(random: Random, names: Sequence[str], least: float = 0.7) -> str:
    if random.random() < least:
        return ""
    static = ("v > 0", "v = 1", "k = 1", "v < 2")
    return random.choice(
        (*static, *(f"k = {name}.k" for name in names), *(f"v > {name}.v" for name in names))
    )


def _interval(random: Random, names: Sequence[str]) -> str:
    if len(names) > 1 and random.random() < 0.6:
        return f"between {random.choice(names[1:])} and {random.choice(names[:2])}"
    return f"within {random.randint(1, 5)} s from {random.choice(names)}"


def _parsed(text: str) -> RuleSet | None:
    try:
        return parse(text)
    except TeslaError:
        return None


# --- Sending ------------------------------------------------------------------------------------------------


def forwarded(scenario: Scenario, mode: Mode) -> tuple[list[Deployed], str | None]:
    """What reaches the place that makes the composites, and which place that is: None is the root."""
    split = partition([rule.plan for rule in scenario.rules], scenario.sites, mode)
    if split.delegated is not None:
        name = split.delegated
        below = partition([rule.plan for rule in scenario.rules], scenario.below(name), mode)
        if below.delegated is not None:
            return [e for e in scenario.history if e.leaf == below.delegated], below.delegated
        return _from_leaves(scenario, {share.site: share.rules for share in below.shares}), name
    found: list[Deployed] = []
    for share in split.shares:
        below = partition(share.rules, scenario.below(share.site), mode)
        arrived = _from_leaves(scenario, {one.site: one.rules for one in below.shares})
        found += sent(share.rules, arrived, scenario.rules.types)
    return sorted(found, key=lambda e: e.row), None


def _from_leaves(scenario: Scenario, asked: dict[str, tuple[PartialRule, ...]]) -> list[Deployed]:
    found = []
    for leaf, rules in asked.items():
        found += sent(rules, [e for e in scenario.history if e.leaf == leaf], scenario.rules.types)
    return sorted(found, key=lambda e: e.row)


def sent(
    rules: Sequence[PartialRule], events: Sequence[Deployed], types: Mapping[str, EventType]
) -> list[Deployed]:
    """What a place sends of the events that it has."""
    compiled = compile_rules(rules, types)
    engine = Engine(RuleSet(compiled.checked))
    by_row = {e.row: e for e in events}
    rows: set[int] = set()
    for composite in engine.send_batch(
        [replace(e.event, attributes={**e.event.attributes, ROW: e.row}) for e in events]
    ):
        for column in compiled.columns[composite.type]:
            row = composite[column.attribute]
            assert isinstance(row, int)
            assert by_row[row].event.type == column.type
            rows.add(row)
    return [by_row[row] for row in sorted(rows)]


def composites(scenario: Scenario, events: Iterable[Deployed]) -> list[tuple[str, str | None]]:
    """What the rules make of some of the events; time passes with all of them."""
    rows = {e.row for e in events}
    engine = Engine(scenario.rules)
    found = engine.send_batch(
        [
            e.event if e.row in rows else Event(DROPPED, e.event.timestamp, {}, e.event.id)
            for e in scenario.history
        ]
    )
    return [(str(event), event.id) for event in [*found, *engine.flush()]]


# --- Pulling ------------------------------------------------------------------------------------------------


def pulled(scenario: Scenario, random: Random) -> tuple[list[Deployed], bool]:
    """What reaches the root if slaves are asked, with rates that make any site the master; whether one is asked."""
    plans, sites, types = [rule.plan for rule in scenario.rules], scenario.sites, scenario.rules.types
    split = partition(plans, sites)
    if split.delegated is not None:
        return list(scenario.history), False
    rates = {(site.name, name): random.choice((0.1, 1.0, 10.0)) for site in sites for name in site.types}
    plan = pull_plan(plans, sites, split, rates)
    by_site = {
        share.site: sent(
            share.rules, [e for e in scenario.history if e.leaf.split(".")[0] == share.site], types
        )
        for share in split.shares
    }
    asking = by_site[plan.master] if plan.master is not None else []
    slaves = {slave.site: slave for slave in plan.slaves}
    found = [
        e
        for site, events in by_site.items()
        for e in events
        if site not in slaves
        or any(is_asked(opening, m.event, e.event) for opening in slaves[site].openings for m in asking)
    ]
    return sorted(found, key=lambda e: e.row), bool(slaves)


def is_asked(opening: Opening, master: Event, slave: Event) -> bool:
    """Whether an event of the master makes a slave send an event."""
    return (
        opening.master == master.type
        and opening.slave == slave.type
        and -opening.past <= slave.timestamp - master.timestamp <= opening.future
        and all(
            master.get(pair.master) is not None and master.get(pair.master) == slave.get(pair.slave)
            for pair in opening.values
        )
    )
