"""Push and pull: which site sends at once, and which keeps its events until they are asked for.

One site is the *master* (deployment paper, section 3.5): it sends promptly. The others may be *slaves*: they keep
what they would send, and when an event of the master comes it opens a window for each of them, into the past, the
future, or both, perhaps with values that attributes must have.

In exact mode a slave may keep an event only if it is of no use without an event of the master:

- an event chosen by `last` or `first` is of no use if nothing that it could be chosen for follows. So the master's
  event must be one that it leads to, and the window lies in the past;
- the terminator, events chosen by `each`, and those that negations and aggregates need are of no use unless all
  the others of a match are there. So any event of the master that the match needs will do.

The master's type must come from the master only: else the event that matters might come from elsewhere. A site that
has something that can't wait is pushed, and so is a site that has nothing but the events of negations, as in RACED.
Groups that must see their events in order have no slaves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tyrex.plan.model import RulePlan
from tyrex.plan.partition.model import Absence, Mode, PartialRule, Partition, Site
from tyrex.plan.partition.subject import Ownership, Subject, ownerships, subjects_of
from tyrex.tesla.durations import SECOND
from tyrex.tesla.expressions import CANDIDATE, Attribute, Compare, Expression, Within

Rates = Mapping[tuple[str, str], float]
"""How many events a second a site would send, by site and type."""


@dataclass(frozen=True, slots=True)
class Equality:
    """An attribute of the master's event, and the attribute of the slave's that must have its value.

    They are equal as numbers are: 1 and 1.0 are one value. If the master's is null, nothing is equal to it.
    """

    master: str
    slave: str


@dataclass(frozen=True, slots=True)
class Opening:
    """What an event of the master opens: a stretch of time from which a slave sends the events of a type."""

    master: str
    """The type of the master's event."""
    slave: str
    """The type of the events that are asked for."""
    past: int
    """How far before the master's event, in microseconds; that instant included."""
    future: int
    """How far after it; that instant included."""
    values: tuple[Equality, ...]


@dataclass(frozen=True, slots=True)
class Slave:
    """A site that keeps its events until one of these openings wants them."""

    site: str
    openings: tuple[Opening, ...]

    @property
    def keep(self) -> int:
        """How long it must keep an event."""
        return max(opening.past for opening in self.openings)


@dataclass(frozen=True, slots=True)
class PullPlan:
    """Who sends at once, and who waits."""

    master: str | None
    """None if no site can wait for another."""
    slaves: tuple[Slave, ...]
    pushed: tuple[str, ...]
    """Sites, besides the master, that send at once."""
    traffic: float
    """Events a second that are to be expected, beyond what is pushed anyway."""


def pull_plan(
    group: Sequence[RulePlan] | Sequence[PartialRule],
    sites: Sequence[Site],
    partition: Partition,
    rates: Rates,
    pushed_anyway: frozenset[tuple[str, str]] = frozenset(),
) -> PullPlan:
    """The master with the least expected traffic, for what was partitioned over these sites.

    `pushed_anyway` are the types that sites send at once for the sake of other rules.
    """
    subjects, made = subjects_of(group)
    owners = {owner.site: owner for owner in ownerships(sites, subjects, made)}
    asked = [share.site for share in partition.shares]
    exact = partition.mode is Mode.EXACT
    sent = {
        share.site: sorted({name for rule in share.rules for name in rule.sent_types})
        for share in partition.shares
    }
    plans = []
    for master in [] if partition.in_order else asked:
        slaves = []
        for site in asked:
            openings = () if site == master else _openings(subjects, owners[master], owners[site], exact)
            if openings:
                slaves.append(Slave(site, openings))
        if slaves:
            waiting = {slave.site for slave in slaves}
            pushed = tuple(site for site in asked if site != master and site not in waiting)
            traffic = _pushed((master, *pushed), sent, rates, pushed_anyway)
            traffic += sum(_pulled(slave, master, sent, rates, pushed_anyway) for slave in slaves)
            plans.append(PullPlan(master, tuple(slaves), pushed, traffic))
    if not plans:
        return PullPlan(None, (), tuple(asked), _pushed(asked, sent, rates, pushed_anyway))
    return min(plans, key=lambda plan: plan.traffic)  # of equal ones the first


# --- Windows ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Role:
    """What an event of a site is needed for: it lies at most `before` before event `start` of the pattern."""

    type: str
    index: int
    """Its position in the pattern; `CANDIDATE` for negations and aggregates."""
    start: int
    before: int
    after: int | None
    """An event that it comes after, if that is known."""
    conditions: tuple[Expression, ...]
    single: bool
    negated: bool = False


def _openings(
    subjects: Sequence[Subject], master: Ownership, slave: Ownership, exact: bool
) -> tuple[Opening, ...]:
    """What the master opens for a slave; nothing if some event of the slave can't wait."""
    found: dict[Opening, None] = {}
    positive = False
    for subject in subjects:
        if exact and any(part.type in master.nowhere for part in subject.parts):
            continue  # nobody is asked for anything
        triggers = [i for i, part in enumerate(subject.parts) if master.exclusive(part.type)]
        for role in _roles(subject):
            if role.type not in slave.here:
                continue
            positive = positive or not role.negated
            best = _best(subject, triggers, role, exact)
            if best is None:
                return ()
            found[best] = None
    return tuple(found) if positive else ()


def _roles(subject: Subject) -> Iterator[_Role]:
    for index, part in enumerate(subject.parts):
        yield _Role(part.type, index, index, 0, None, part.conditions, subject.is_single(index))
    for item in subject.absences:
        yield _interval_role(subject, item, negated=True)
    for item in subject.aggregates:
        yield _interval_role(subject, item, negated=False)


def _interval_role(subject: Subject, item: Absence, *, negated: bool) -> _Role:
    interval = item.interval
    if isinstance(interval, Within):
        start, before, after = interval.anchor, interval.window, None
    else:
        start, after = interval.later, interval.earlier
        before = subject.distance(interval.earlier, interval.later)
    return _Role(item.type, CANDIDATE, start, before, after, item.conditions, False, negated)


def _best(subject: Subject, triggers: Sequence[int], role: _Role, exact: bool) -> Opening | None:
    """The shortest window that some event of the master opens for a role."""
    above = subject.ancestors(role.start)
    options = []
    for trigger in triggers:
        if exact and role.single and trigger not in above:
            continue
        up = [trigger, *subject.ancestors(trigger)]
        meeting = next(index for index in up if index == role.start or index in above)
        past = role.before + subject.distance(role.start, meeting)
        if role.after is not None and role.after in up:
            past = 0
        options.append(
            Opening(
                subject.parts[trigger].type,
                role.type,
                past,
                subject.distance(trigger, meeting),
                _equalities(subject, trigger, role),
            )
        )
    return min(options, key=lambda opening: opening.past + opening.future, default=None)


def _equalities(subject: Subject, trigger: int, role: _Role) -> tuple[Equality, ...]:
    """The attributes of a slave's event that must be equal to some of the master's.

    Of an event chosen by `last` or `first` only what is known when it is chosen.
    """
    clauses = list(role.conditions)
    for index, part in enumerate(subject.parts):
        if not role.single or index < role.index:
            clauses += part.conditions
    pairs = [
        (clause.left, clause.right)
        for clause in clauses
        if isinstance(clause, Compare)
        and clause.operator == "="
        and isinstance(clause.left, Attribute)
        and isinstance(clause.right, Attribute)
    ]
    found = []
    for name in sorted({c.name for pair in pairs for c in pair if c.event == role.index}):
        equal = {Attribute(role.index, name)}
        while more := {b for pair in pairs for a, b in (pair, pair[::-1]) if a in equal} - equal:
            equal |= more
        found += [Equality(other.name, name) for other in sorted(equal, key=str) if other.event == trigger]
    return tuple(found)


# --- Traffic ------------------------------------------------------------------------------------------------


def _pushed(
    sites: Sequence[str],
    sent: Mapping[str, Sequence[str]],
    rates: Rates,
    anyway: frozenset[tuple[str, str]],
) -> float:
    return math.fsum(
        rates.get((site, name), 0.0) for site in sites for name in sent[site] if (site, name) not in anyway
    )


def _pulled(
    slave: Slave,
    master: str,
    sent: Mapping[str, Sequence[str]],
    rates: Rates,
    anyway: frozenset[tuple[str, str]],
) -> float:
    """What is to be expected of a slave: the share of time that windows cover, if masters come at random.

    That values narrow it down is not counted: nobody knows how far.
    """
    total = []
    for name in sent[slave.site]:
        if (slave.site, name) in anyway:
            continue
        open_ = math.fsum(
            rates.get((master, opening.master), 0.0) * (opening.past + opening.future) / SECOND
            for opening in slave.openings
            if opening.slave == name
        )
        total.append(rates.get((slave.site, name), 0.0) * -math.expm1(-open_))
    return math.fsum(total)
