"""Trees of processors that are driven by hand: no control plane, links with any delay, moves of any length."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from tyrex import Engine, Event, RuleSet
from tyrex.network.blocks import NUMBER, ORIGIN, Block, block_of
from tyrex.network.data.interface import Split, Step, Task
from tyrex.network.data.tree import LocalTree
from tyrex.network.messages import BEGINNING, Awaken, Group, Part, PartMode, Retune
from tyrex.network.messages import Tree as TreeName
from tyrex.plan.partition import Mode, PartialRule, Site, parse_partial, partition
from tyrex.tesla.checked import CheckedRules
from tyrex.tesla.durations import SECOND

TREE = TreeName("root", 1)


@dataclass(frozen=True)
class Places:
    """A tree: for each processor its parent, children after parents, and the types of its own sources."""

    parents: Mapping[str, str | None]
    types: Mapping[str, frozenset[str]]

    def children(self, name: str) -> list[str]:
        """Those below a processor."""
        return [child for child, parent in self.parents.items() if parent == name]

    def below(self, name: str) -> frozenset[str]:
        """The types that come from a processor and from all below it."""
        return self.types[name].union(*(self.below(child) for child in self.children(name)))

    def sites(self, name: str) -> list[Site]:
        """What a processor knows of where its events come from."""
        return [Site(child, self.below(child)) for child in self.children(name)] + [
            Site(name, self.types[name])
        ]


@dataclass(frozen=True)
class Placed:
    """An event, and the processor whose source it is of."""

    event: Event
    origin: str
    number: int

    @property
    def id(self) -> str:
        """What everybody calls it."""
        return self.event.id or f"{self.origin}/{self.number}"


def random_places(random: Random, types: Iterable[str], *, depth: int = 3) -> Places:
    """A root, and up to three levels below; each type has one source or some."""
    parents: dict[str, str | None] = {"root": None}
    level = ["root"]
    for _ in range(random.randint(1, depth)):
        level = [f"{parent}.{n}" for parent in level for n in range(random.randint(0, 3))][:6]
        parents |= {name: name.rpartition(".")[0] for name in level}
    owned: dict[str, set[str]] = {name: set() for name in parents}
    for type_ in types:
        for name in random.sample(list(parents), min(len(parents), random.choice((1, 1, 1, 2, 3)))):
            owned[name].add(type_)
    return Places(parents, {name: frozenset(types) for name, types in owned.items()})


def busy_history(random: Random, used: Sequence[str], seconds: int) -> list[Event]:
    """Many events, of types that come more or less often; and this changes once."""
    found = []
    for half in range(2):
        for name in used:
            often = random.choice((0.1, 0.3, 1.0, 3.0))
            for _ in range(round(often * seconds / 2)):
                time = random.randrange(half * seconds, (half + 1) * seconds) * SECOND // 2
                found.append(
                    Event(name, time, {"k": random.choice((0, 1, 1, None)), "v": random.randint(0, 2)})
                )
    return sorted(found, key=lambda event: event.timestamp)


def place(random: Random, places: Places, events: Iterable[Event]) -> list[Placed]:
    """Events at sources that have their type, some with an id of their own; in the order of all."""
    numbers: Counter[str] = Counter()
    found = []
    for event in events:
        homes = [name for name, types in places.types.items() if event.type in types]
        if homes:
            home = random.choice(homes)
            numbers[home] += 1
            given = f"given {home} {numbers[home]}" if random.random() < 0.1 else None
            found.append(Placed(replace(event, id=given), home, numbers[home]))
    return sorted(found, key=lambda p: (p.event.timestamp, p.origin, p.number))


# --- Deployment ---------------------------------------------------------------------------------------------


def tasks(
    places: Places, rules: RuleSet, mode: Mode = Mode.EXACT, *, adaptive: bool = False
) -> dict[str, Task]:
    """What each processor does so that the root's rules are detected: the control plane's work, in short."""
    types = dict(rules.types)
    groups: dict[str, list[Group]] = defaultdict(list)
    groups["root"] = [
        Group(tuple(rules.rules[i].canonical_text for i in group), tuple(BEGINNING for _ in group))
        for group in rules.plan.groups
    ]
    parts: dict[str, list[Part]] = defaultdict(list)
    made = {}
    for name, parent in places.parents.items():
        sites = places.sites(name)
        given: dict[str, list[Part]] = defaultdict(list)
        here = []
        splits = []
        for group in groups[name]:
            plans = [rules[_name_of(rules, text)].plan for text in group.rules]
            split = partition(plans, sites, mode)
            if split.delegated not in (None, name):
                groups[split.delegated].append(group)
                continue
            here.append(group)
            shares = {} if split.delegated else {s.site: s.rules for s in split.shares if s.site != name}
            splits.append(Split(group, None, _give(given, shares), tuple(sites), mode))
        for part in parts[name]:
            partials = [parse_partial(text, types) for text in part.partial_rules]
            shares = {s.site: s.rules for s in partition(partials, sites, mode).shares if s.site != name}
            splits.append(Split(None, part.number, _give(given, shares), tuple(sites), mode))
        parts |= given
        made[name] = Task(
            tree=TREE,
            name=name,
            parent=parent,
            children=tuple(places.children(name)),
            start=BEGINNING,
            horizon=0,
            types=types,
            groups=tuple(here),
            parts=tuple(parts[name]),
            everything=frozenset(),
            given={child: tuple(every) for child, every in given.items()},
            splits=tuple(splits),
            adaptive=adaptive,
        )
    return made


def centralized(places: Places, rules: RuleSet) -> dict[str, Task]:
    """All rules are at the root, and everything goes there without a look."""
    plain = tasks(places, rules)
    groups = tuple(
        Group(tuple(rules.rules[i].canonical_text for i in group), tuple(BEGINNING for _ in group))
        for group in rules.plan.groups
    )
    return {
        name: replace(
            task,
            groups=groups if name == "root" else (),
            parts=(),
            given={},
            splits=(),
            everything=frozenset() if name == "root" else frozenset(rules.plan.types_needed),
        )
        for name, task in plain.items()
    }


def _name_of(rules: RuleSet, text: str) -> str:
    return next(rule.name for rule in rules if rule.canonical_text == text)


def _give(
    given: dict[str, list[Part]], shares: Mapping[str, Sequence[PartialRule]]
) -> dict[str, tuple[int, ...]]:
    numbers: dict[str, tuple[int, ...]] = {}
    for site, partial_rules in shares.items():
        number = len(given[site])
        keep = max((max(rule.horizon.values()) for rule in partial_rules), default=0)
        given[site].append(Part(number, PartMode.PUSH, tuple(rule.text for rule in partial_rules), keep))
        numbers[site] = (number,)
    return numbers


# --- Running ------------------------------------------------------------------------------------------------


@dataclass
class Driven:
    """Processors, and what is on its way between them."""

    places: Places
    trees: dict[str, LocalTree]
    up: dict[str, deque[Step]] = field(default_factory=lambda: defaultdict(deque))
    down: dict[str, deque[Awaken | Retune]] = field(default_factory=lambda: defaultdict(deque))
    composites: list[Event] = field(default_factory=list)
    travelled: Counter[tuple[str, str, str, int]] = field(default_factory=Counter)
    """For each sender, and each event by type, origin and number, how often it went up."""
    told: dict[str, int] = field(default_factory=dict)
    """The time that each processor has told its parent."""

    def run(self, random: Random, history: Sequence[Placed], end: int, *, slowly: bool = False) -> None:
        """Let sources publish and messages travel, in any order that links and clocks may cause."""
        coming = {name: deque(p for p in history if p.origin == name) for name in self.places.parents}
        reached = dict.fromkeys(coming, -1)
        while True:
            actions: list[tuple[str, str]] = [("publish", name) for name in coming if reached[name] < end]
            actions += [("up", name) for name, queue in self.up.items() if queue]
            actions += [("down", name) for name, queue in self.down.items() if queue]
            if not actions:
                break
            kind, name = random.choice(actions)
            if kind == "publish":
                far = 1 if slowly else 20
                upto = min(end, reached[name] + random.choice((1, SECOND, 3 * SECOND, far * SECOND)))
                if random.random() < 0.2 and not slowly:
                    upto = end
                reached[name] = upto
                due = []
                while coming[name] and coming[name][0].event.timestamp <= upto:
                    due.append(coming[name].popleft())
                self.trees[name].local(blocks(due, self.trees[name].task), upto)
                self._stepped(random, name)
            elif kind == "up":
                parent = self.places.parents[name]
                assert parent is not None
                step = self.up[name].popleft()
                self.trees[parent].received(name, step.up, step.upto, step.answered)
                self._stepped(random, parent)
            else:
                message = self.down[name].popleft()
                if isinstance(message, Awaken):
                    self.trees[name].awakened(message)
                else:
                    self.trees[name].retuned(message)
                self._stepped(random, name)
            if not any(self.up.values()) and not any(self.down.values()):
                for other in self.trees:
                    self._step(other)

    def _stepped(self, random: Random, name: str) -> None:
        if random.random() < 0.7:
            self._step(name)

    def _step(self, name: str) -> None:
        step = self.trees[name].step()
        for block in step.composites:
            self.composites += list(block.events())
        for child, message in step.down:
            self.down[child].append(message)
        for block in step.up:
            origins: Any = block.table.column(ORIGIN).to_pylist()
            numbers: Any = block.table.column(NUMBER).to_pylist()
            for origin, number in zip(origins, numbers, strict=True):
                self.travelled[name, block.type, origin, number] += 1
        news = step.up or step.answered is not None or self.told.get(name) != step.upto
        if self.places.parents[name] is not None and news:
            self.told[name] = step.upto
            self.up[name].append(step)


def blocks(events: Iterable[Placed], task: Task) -> list[Block]:
    """Events of one source as blocks."""
    by_type: dict[str, list[Placed]] = defaultdict(list)
    for placed in events:
        by_type[placed.event.type].append(placed)
    found = []
    for type_, some in by_type.items():
        found += [block_of(task.types[type_], [p.event], p.origin, p.number) for p in some]
    return found


def run(
    random: Random,
    places: Places,
    made: Mapping[str, Task],
    history: Sequence[Placed],
    end: int,
    *,
    period: int | None = None,
    slowly: bool = False,
) -> Driven:
    """All processors of a tree, run to the end; slowly if sources never publish far ahead."""
    driven = Driven(places, {name: LocalTree(task, period=period) for name, task in made.items()})
    driven.run(random, history, end, slowly=slowly)
    return driven


def central(rules: RuleSet, history: Sequence[Placed], end: int) -> list[Event]:
    """What one engine detects that gets all events."""
    engine = Engine(rules)
    found = list(engine.send_batch([replace(p.event, id=p.id) for p in history]))
    return [*found, *engine.advance((end + 1) / 1_000_000)]


def central_by_group(rules: RuleSet, history: Sequence[Placed], end: int) -> list[Event]:
    """The same with an engine for each group, which gets what its rules look at: its time begins with that."""
    found: list[Event] = []
    for group in rules.plan.groups:
        own = RuleSet(CheckedRules(tuple(rules.checked.rules[i] for i in group), rules.types))
        some = [p for p in history if p.event.type in own.plan.horizon]
        found += central(own, some, end)
    return found


def known(events: Iterable[Event]) -> Counter[tuple[str, str | None]]:
    """Composites, by all that they are but the rule that made them."""
    return Counter((str(replace(event, id=None, rule=None)), event.id) for event in events)
