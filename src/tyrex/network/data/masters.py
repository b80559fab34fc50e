"""The parent's side of push and pull: who is master, what its events open, and whose answers time waits for.

Everything is pushed at first. From what comes the parent learns the rates of each child and type, and from time to
time asks `pull_plan` for the master with the least traffic. A change is made in two steps, so that no event is
missed and none comes twice:

1. children that are to push again are told so; they send what they have kept. The parent's time waits for them;
2. when they have answered, the new slaves are told to keep what they match, and are sent the spans that the
   master's events of late have opened. From then on each event of the master opens its spans when it arrives.

The parent's time never passes an event of the master before the slaves have answered for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tyrex.events import LAST_TIMESTAMP
from tyrex.network.blocks import SEPARATOR, Block
from tyrex.network.data.deployed import group_of, partials_of
from tyrex.network.data.interface import Split, Task
from tyrex.network.data.log import Log
from tyrex.network.data.order import NEVER, Inbox
from tyrex.network.data.spans import around
from tyrex.network.messages import Awaken, Mode, PartMode, Retune, Span
from tyrex.plan.model import RulePlan
from tyrex.plan.partition import Opening, PartialRule, Partition, PullPlan, partition, pull_plan
from tyrex.tesla.durations import SECOND

_LEAST_PERIOD = 10 * SECOND
"""Rates are looked at no more often than this, if nothing else is said."""
_WORTH_IT = 0.9
"""Nobody has to wait for less than a tenth of the traffic."""


@dataclass(slots=True)
class Choice:
    """A division of a group or of a part, and who is its master."""

    split: Split
    items: Sequence[RulePlan] | Sequence[PartialRule]
    partition: Partition
    reach: int
    """How far an event of the master, or what is held back with it, can look."""
    plan: PullPlan | None = None
    """None while everything is pushed."""
    next: PullPlan | None = None
    """What it is changed to when the children in `awaited` have answered."""
    awaited: set[str] = field(default_factory=set)
    liked: PullPlan | None = None
    """What was best when rates were looked at last: it has to be best twice."""
    opens: dict[str, list[tuple[str, Opening]]] = field(default_factory=dict)
    """For each type of the master, what it opens, and at which child."""

    def follow(self, plan: PullPlan) -> None:
        """Go by a plan from now on."""
        self.plan, self.next, self.awaited = plan, None, set()
        self.opens = {}
        for slave in plan.slaves:
            if slave.site in self.split.parts:
                for opening in slave.openings:
                    self.opens.setdefault(opening.master, []).append((slave.site, opening))

    @property
    def sends(self) -> set[tuple[str, str]]:
        """Who sends which types."""
        return {
            (share.site, type_)
            for share in self.partition.shares
            for rule in share.rules
            for type_ in rule.sent_types
        }

    @property
    def waiting(self) -> set[tuple[str, str]]:
        """Who keeps which types."""
        slaves = () if self.plan is None else self.plan.slaves
        return {(slave.site, opening.slave) for slave in slaves for opening in slave.openings}


class Masters:
    """The choices of one tree at one processor."""

    def __init__(self, task: Task, choices: Sequence[Choice], period: int | None = None) -> None:
        self._task = task
        self._choices = choices
        self._numbers: dict[str, int] = defaultdict(int)
        self._unanswered: dict[str, dict[int, int]] = defaultdict(dict)
        """For each child the questions it has not answered, and what time must not pass before it has."""
        self._down: list[tuple[str, Awaken | Retune]] = []
        self._told: dict[str, int] = {}
        self._came: dict[tuple[str, str], int] = defaultdict(int)
        self._rates: dict[tuple[str, str], float] = {}
        self._looked: int | None = None
        self._open: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
        self._period = period or max([_LEAST_PERIOD, *(4 * choice.reach for choice in choices)])
        self.awakenings = 0
        self.switches = 0

    @property
    def keep(self) -> dict[str, int]:
        """For each type that may be a master's, how long its events are needed to open spans anew."""
        found: dict[str, int] = defaultdict(int)
        for choice in self._choices:
            for share in choice.partition.shares:
                for rule in share.rules:
                    for type_ in rule.sent_types:
                        found[type_] = max(found[type_], choice.reach)
        return dict(found)

    # Events come

    def came(self, site: str, blocks: Iterable[Block], time: int) -> None:
        """Events of a child, or of the processor's own sources, have arrived; `time` is the processor's."""
        spans: dict[str, list[Span]] = defaultdict(list)
        earliest = LAST_TIMESTAMP
        for block in blocks:
            if not len(block):
                continue
            self._came[site, block.type] += len(block)
            for choice in self._choices:
                if choice.plan is None or choice.plan.master != site:
                    continue
                for child, opening in choice.opens.get(block.type, ()):
                    earliest = min(earliest, int(block.times.min()))
                    spans[child] += self._spans(choice, child, opening, block)
        for child, asked in spans.items():
            self._ask(child, asked, time, max(time, earliest - 1))

    def answered(self, child: str, number: int) -> None:
        """A child has answered a question, and all before it."""
        open_ = self._unanswered[child]
        for done in [n for n in open_ if n <= number]:
            del open_[done]

    def limit(self) -> int:
        """What time must not pass for want of answers."""
        return min((b for open_ in self._unanswered.values() for b in open_.values()), default=LAST_TIMESTAMP)

    def _spans(self, choice: Choice, child: str, opening: Opening, block: Block) -> Iterable[Span]:
        """What some events of a master ask for."""
        times = block.times
        groups: list[tuple[dict[str, Any], Any]] = [({}, times)]
        if opening.values:
            columns: list[list[Any]] = [
                block.table.column(SEPARATOR + pair.master).to_pylist() for pair in opening.values
            ]
            by_value: dict[tuple[Any, ...], list[int]] = defaultdict(list)
            for row, values in enumerate(zip(*columns, strict=True)):
                if all(value is not None for value in values):  # nothing is equal to null
                    by_value[values].append(row)
            groups = []
            for values, rows in by_value.items():
                wanted: dict[str, Any] = {}
                if all(
                    wanted.setdefault(p.slave, v) == v for p, v in zip(opening.values, values, strict=True)
                ):
                    groups.append((wanted, times[rows]))
        for wanted, own in groups:
            for since, until in around(own, opening.past, opening.future):
                if not wanted:
                    self._open[child, opening.slave].append((since, until))
                for part in choice.split.parts[child]:
                    yield Span(part, opening.slave, since, until, wanted)

    def _ask(self, child: str, spans: Sequence[Span], time: int, bound: int) -> None:
        self._numbers[child] += 1
        number = self._numbers[child]
        self._unanswered[child][number] = bound
        self._told[child] = time
        self.awakenings += 1
        self._down.append((child, Awaken(self._task.tree, number, time, tuple(spans))))

    # Time moves

    def moved(self, time: int, logs: Mapping[str, Log], inbox: Inbox) -> None:
        """The processor's time is this by now: look at the rates, and end changes that have been answered."""
        if self._looked is None:
            self._looked = time if time > NEVER else None
        elif time - self._looked >= self._period:
            self._look(time)
        for choice in self._choices:
            if choice.next is not None and not any(self._unanswered[child] for child in choice.awaited):
                self._begin(choice, choice.next, time, logs, inbox)
        self._release(time)

    def down(self) -> tuple[tuple[str, Awaken | Retune], ...]:
        """What is to be sent to children."""
        found, self._down = tuple(self._down), []
        return found

    def _release(self, time: int) -> None:
        """Tell children that keep something how far time has come, so that they can let go."""
        for choice in self._choices:
            for child in {site for site, _ in choice.waiting if site in choice.split.parts}:
                if time - self._told.get(child, time) > choice.reach:
                    self._ask(child, (), time, LAST_TIMESTAMP)

    def _look(self, time: int) -> None:
        assert self._looked is not None
        seconds = (time - self._looked) / SECOND
        waiting = set[tuple[str, str]]().union(*(choice.waiting for choice in self._choices))
        every = set[tuple[str, str]]().union(*(choice.sends for choice in self._choices))
        for key in every:
            if key in waiting:
                covered = _covered(self._open[key], self._looked, time) / SECOND
                if covered > seconds / 100 and self._came[key]:
                    self._rates[key] = self._came[key] / covered
            else:
                self._rates[key] = self._came[key] / seconds
        self._came.clear()
        for key, stretches in self._open.items():
            self._open[key] = [stretch for stretch in stretches if stretch[1] > time]
        self._looked = time
        for choice in self._choices:
            if choice.next is None:
                self._choose(choice, time)

    def _choose(self, choice: Choice, time: int) -> None:
        others = [other for other in self._choices if other is not choice]
        anyway = frozenset[tuple[str, str]]().union(*(other.sends - other.waiting for other in others))
        best = pull_plan(choice.items, choice.split.sites, choice.partition, self._rates, anyway)
        pushed = sum(self._rates.get(key, 0.0) for key in choice.sends - anyway)
        if best.traffic > _WORTH_IT * pushed:
            best = PullPlan(None, (), tuple(share.site for share in choice.partition.shares), pushed)
        liked, choice.liked = choice.liked, best
        if liked is None or _roles(liked) != _roles(best) or _roles(choice.plan) == _roles(best):
            return
        self.switches += 1
        choice.next = best
        staying = {slave.site for slave in best.slaves}
        again = {slave.site for slave in choice.plan.slaves} - staying if choice.plan is not None else set()
        choice.awaited = {child for child in again if child in choice.split.parts}
        for child in sorted(choice.awaited):
            self._retune(choice, child, PartMode.PUSH, time)
            self._ask(child, (), time, time)

    def _begin(
        self, choice: Choice, plan: PullPlan, time: int, logs: Mapping[str, Log], inbox: Inbox
    ) -> None:
        before = {slave.site for slave in choice.plan.slaves} if choice.plan is not None else set()
        choice.follow(plan)
        slaves = {slave.site for slave in plan.slaves if slave.site in choice.split.parts}
        for child in sorted(slaves - before):
            self._retune(choice, child, PartMode.PULL, time)
        spans: dict[str, list[Span]] = defaultdict(list)
        for type_, opened in choice.opens.items():
            past, _ = logs[type_].between(time - choice.reach, LAST_TIMESTAMP)
            for block in (past, *inbox.ahead(type_)):
                if len(block):
                    for child, opening in opened:
                        spans[child] += self._spans(choice, child, opening, block)
        for child in sorted(slaves):
            self._ask(child, spans[child], time, time)

    def _retune(self, choice: Choice, child: str, mode: PartMode, time: int) -> None:
        modes = tuple(Mode(part, mode, 2 * choice.reach) for part in choice.split.parts[child])
        self._down.append((child, Retune(self._task.tree, time, modes)))


def masters_of(task: Task, period: int | None = None) -> Masters | None:
    """The choices that a task leaves; None if there are none."""
    choices = []
    for split in task.splits if task.adaptive else ():
        items: Sequence[RulePlan] | Sequence[PartialRule]
        if split.group is not None:
            items = group_of(split.group, task.types).plan.rules
        else:
            (part,) = (part for part in task.parts if part.number == split.part)
            items = partials_of(part, task.types)
        divided = partition(items, split.sites, split.mode)
        if divided.in_order or len(divided.shares) < 2 or not split.parts:
            continue
        reach = max(reach for item in items for reach in item.horizon.values())
        choices.append(Choice(split, items, divided, reach + divided.hold))
    return Masters(task, choices, period) if choices else None


def _roles(plan: PullPlan | None) -> tuple[Any, ...]:
    if plan is None or plan.master is None:
        return ()
    return (plan.master, tuple(slave.site for slave in plan.slaves))


def _covered(stretches: Iterable[tuple[int, int]], after: int, upto: int) -> int:
    """How much of a time is in stretches, which may overlap."""
    total, reached = 0, after
    for since, until in sorted(stretches):
        start, end = max(since, reached), min(until, upto)
        if end > start:
            total += end - start
            reached = end
    return total
