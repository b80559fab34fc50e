"""Why a composite event is not there: part by part, what became of the candidates of each rule that makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tyrex.engine.deploy import Deployed
from tyrex.engine.matching import Matcher, Tuple
from tyrex.engine.provenance import Branch, Finder, Provenance, as_json, draw_tree, without_ids
from tyrex.engine.stored import Stored
from tyrex.engine.terminators import consumption, fits_calendar, given_at, is_placed, missing
from tyrex.engine.trace import Cause, Part, Tracer
from tyrex.events import Event, Value, format_timestamp
from tyrex.plan.text import printer
from tyrex.tesla.checked import CheckedSubscription
from tyrex.tesla.diagnostics import did_you_mean, listing
from tyrex.tesla.durations import format_duration
from tyrex.tesla.types import TIMER, EventType

if TYPE_CHECKING:
    from tyrex.engine.engine import Engine


@dataclass(frozen=True)
class Attempt:
    """What a rule made of one terminator, or why it made nothing."""

    terminator: Event
    cause: Cause
    parts: tuple[Part, ...]
    """The parts of the rule that were looked at, in the order of the pattern; the last one decided."""
    matches: tuple[Provenance, ...] = ()
    """The composite events, if it fired."""
    doubts: tuple[str, ...] = ()
    """What the engine can't know any more and would have to, to be sure."""

    @property
    def fired(self) -> bool:
        """Whether the terminator made the rule fire."""
        return self.cause is Cause.FIRED

    @property
    def certain(self) -> bool:
        """Whether all that decides is still stored."""
        return not self.doubts

    def branch(self) -> Branch:
        """It as a part of a drawn tree."""
        verdict = "" if self.fired else f": {_VERDICTS[self.cause]}"
        below = [Branch(str(part)) for part in self.parts]
        below += [match.branch() for match in self.matches]
        below += [Branch(f"not certain: {doubt}") for doubt in self.doubts]
        return Branch(f"{self.terminator}{verdict}", below)

    def to_dict(self) -> dict[str, Any]:
        """The attempt as JSON has it."""
        return {
            "terminator": {
                "type": self.terminator.type,
                "timestamp": format_timestamp(self.terminator.timestamp),
                "attributes": {name: as_json(v) for name, v in self.terminator.attributes.items()},
            },
            "cause": self.cause.value,
            "parts": [
                {
                    "part": part.text,
                    "fulfilled": part.fulfilled,
                    "narrowings": [
                        {"demand": n.demand, "left": n.left, "detail": n.detail} for n in part.narrowings
                    ],
                    "verdict": part.verdict,
                }
                for part in self.parts
            ],
            "matches": [match.to_dict() for match in self.matches],
            "doubts": list(self.doubts),
        }


@dataclass(frozen=True)
class RuleReport:
    """What a rule made of the terminators of a moment."""

    rule: str
    cause: Cause
    reason: str
    attempts: tuple[Attempt, ...] = ()
    """One for each terminator that came at that time, in order."""

    @property
    def fired(self) -> bool:
        """Whether the rule fired at that moment."""
        return any(attempt.fired for attempt in self.attempts)

    def branch(self) -> Branch:
        """It as a part of a drawn tree."""
        reason = f": {self.reason}" if self.reason else ""
        return Branch(f"rule {self.rule}{reason}", [attempt.branch() for attempt in self.attempts])

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON has it."""
        return {
            "rule": self.rule,
            "cause": self.cause.value,
            "reason": self.reason,
            "attempts": [attempt.to_dict() for attempt in self.attempts],
        }


@dataclass(frozen=True)
class WhyNot:
    """Why there is no composite event at a moment, rule by rule; or that there is one."""

    name: str
    at: int
    rules: tuple[RuleReport, ...]

    @property
    def fired(self) -> bool:
        """Whether some rule did fire."""
        return any(rule.fired for rule in self.rules)

    @property
    def cause(self) -> Cause:
        """What decided at the terminator that came nearest: the one that got through most parts of its rule."""
        attempts = [attempt for rule in self.rules for attempt in rule.attempts]
        if self.fired:
            return Cause.FIRED
        if attempts:
            return max(attempts, key=lambda attempt: len(attempt.parts)).cause
        return self.rules[0].cause

    def __str__(self) -> str:
        verdict = "was detected" if self.fired else "was not detected"
        if all(rule.cause in (Cause.FORGOTTEN, Cause.NOT_YET) for rule in self.rules):
            verdict = "is not known"
        title = f"{self.name} {verdict} at {format_timestamp(self.at)}"
        return "\n".join(draw_tree(Branch(title, [rule.branch() for rule in self.rules])))

    def to_dict(self) -> dict[str, Any]:
        """The explanation as JSON has it."""
        return {
            "name": self.name,
            "at": format_timestamp(self.at),
            "fired": self.fired,
            "rules": [rule.to_dict() for rule in self.rules],
        }


_VERDICTS = {
    Cause.FIRED: "it fired",
    Cause.NO_TERMINATOR: "there was none",
    Cause.FORGOTTEN: "forgotten",
    Cause.NOT_YET: "time has not passed it yet",
    Cause.PAUSED: "the rule was paused",
    Cause.NOT_DEPLOYED: "what the rule needs came before it was deployed",
    Cause.TERMINATOR: "its own conditions do not hold",
    Cause.NONE_STORED: "a part of the pattern is missing",
    Cause.WINDOW: "a window leaves no candidate",
    Cause.CONDITION: "a condition leaves no candidate",
    Cause.CONSUMED: "the candidates were consumed",
    Cause.SELECTION: "there are too few candidates",
    Cause.SAME_EVENT: "one event would play two roles",
    Cause.NEGATION: "a negation removed it",
    Cause.GUARD: "a condition on the whole match removed it",
}


@dataclass(frozen=True)
class _Filter:
    """Which terminators are meant."""

    subscription: CheckedSubscription | None
    attributes: Mapping[str, Value]

    def admits(self, matcher: Matcher, given: Tuple) -> bool:
        """Whether a terminator, or what set the deadline, is meant."""
        event = given[-1].event
        if any(event.get(name) != value for name, value in self.attributes.items()):
            return False
        if self.subscription is None:
            return True
        return event.type == self.subscription.type and matcher.all_hold(
            self.subscription.conditions, (given[-1],)
        )


def why_not(
    engine: Engine, name: str, at: int | None, terminator: str | None, attributes: Mapping[str, Value]
) -> WhyNot:
    """Why a rule, or the rules that make a type, did not fire at a moment; None is the last one seen."""
    rules = _rules_of(engine, name)
    subscription = None if terminator is None else engine.rules.subscription(terminator)
    finder = Finder.over(engine)
    _check_filter(engine.rules.types, rules, subscription, attributes)
    moment = at if at is not None else (finder.stores[0].now or 0)
    filter_ = _Filter(subscription, attributes)
    reports = [
        _Explainer(finder.store_of(deployed), finder, deployed, filter_, moment).report()
        for deployed in rules
    ]
    return WhyNot(name, moment, tuple(reports))


def _rules_of(engine: Engine, name: str) -> list[Deployed]:
    from tyrex.engine.engine import UnknownRule

    deployed = engine._places.rules
    found = [d for d in deployed.values() if d.plan.defines.name == name]
    if not found and name in deployed:
        found = [deployed[name]]
    if not found:
        near = did_you_mean(name, {*deployed, *(d.plan.defines.name for d in deployed.values())})
        raise UnknownRule(f"no rule is called `{name}`, and none defines it" + (f"; {near}" if near else ""))
    return found


def _given_type(deployed: Deployed) -> str:
    """The type of the event that a filter speaks of: the terminator's, or that of what sets the deadline."""
    rule = deployed.plan.rule
    return rule.events[0 if rule.deadline is None else 1].type


def _check_filter(
    declared: Mapping[str, EventType],
    rules: Sequence[Deployed],
    subscription: CheckedSubscription | None,
    attributes: Mapping[str, Value],
) -> None:
    types = list(dict.fromkeys(map(_given_type, rules)))
    if subscription is not None and subscription.type not in types:
        raise ValueError(f"the terminator is {listing(types)}, not `{subscription.type}`")
    known = {name for type_ in types for name in declared[type_].by_name}
    for name in attributes:
        if name not in known:
            near = did_you_mean(name, known)
            raise ValueError(f"{listing(types)} has no attribute `{name}`" + (f"; {near}" if near else ""))


@dataclass(frozen=True)
class _Explainer:
    """Explains one rule at one moment."""

    stored: Stored
    finder: Finder
    deployed: Deployed
    filter: _Filter
    moment: int

    def report(self) -> RuleReport:
        """What the rule made of the terminators of the moment."""
        plan = self.deployed.plan
        if self.deployed.paused:
            return self._nothing(Cause.PAUSED, "the rule is paused")
        if (reason := self._not_yet()) is not None:
            return self._nothing(Cause.NOT_YET, reason)
        given = given_at(self.stored, self.deployed, self.moment)
        meant = [g for g in given if self.filter.admits(Matcher(self.stored, self.deployed), g)]
        if not given:
            return self._absent()
        if not meant:
            told = f"{len(given)} {_given_type(self.deployed)} came at that time, but none that is meant"
            return self._nothing(Cause.NO_TERMINATOR, told)
        if plan.rule.is_calendar_timer and not is_placed(self.stored, given[0]):
            if not self.stored.has_begun(self.moment):
                told = "nothing of that time is stored, and time begins with the first event"
                return self._nothing(Cause.FORGOTTEN, told)
            since = self.stored.of(TIMER.name).since
            if since is None or self.moment >= since:
                return self._nothing(Cause.PAUSED, "the rule was paused: the timer did not fire")
        attempts = tuple(map(self._attempt, meant))
        cause = Cause.FIRED if any(a.fired for a in attempts) else attempts[-1].cause
        return RuleReport(plan.name, cause, "it fired" if cause is Cause.FIRED else "", attempts)

    def _nothing(self, cause: Cause, reason: str) -> RuleReport:
        return RuleReport(self.deployed.plan.name, cause, reason)

    def _not_yet(self) -> str | None:
        now = self.stored.now
        if now is None:
            return "no event has come so far"
        timed = self.deployed.plan.rule.terminator.type == TIMER.name
        if self.moment > now or (timed and not self.stored.has_passed(self.moment)):
            passed = "a timer fires when time has passed it, and " if timed else ""
            return f"{passed}the engine has come to {format_timestamp(now)}"
        kernel = self.stored.kernel
        if kernel.waiting and self.moment > now - kernel.delay:
            waiting = "1 event waits" if kernel.waiting == 1 else f"{kernel.waiting} events wait"
            return f"{waiting} for the watermark: late ones are awaited for {format_duration(kernel.delay)}"
        return None

    def _absent(self) -> RuleReport:
        """Why there is no terminator."""
        plan = self.deployed.plan
        rule = plan.rule
        if rule.is_calendar_timer:
            assert not fits_calendar(self.stored, self.deployed, self.moment)
            conditions = printer(plan, 0).show_all(rule.terminator.conditions)
            told = f"there is no Timer({conditions}) at that time in {self.stored.time_zone}"
            return self._nothing(Cause.NO_TERMINATOR, told)
        name = _given_type(self.deployed)
        moment = self.moment - (rule.deadline or 0)
        since = self.stored.of(name).since
        if since is not None and moment < since:
            kept = format_duration(self.stored.horizon(name))
            told = f"{name} events are kept for {kept}, and those before {format_timestamp(since)} are gone"
            return self._nothing(Cause.FORGOTTEN, told)
        state = plan.states[0 if rule.deadline is None else 1]
        when = (
            "at that time" if rule.deadline is None else f"{format_duration(rule.deadline)} before that time"
        )
        told = f"no {name} came {when}"
        if state.static:
            conditions = printer(plan, state.index).show_all(state.static)
            told += f", or it did not fulfil `{conditions}` and was not kept"
        late = self.stored.kernel.late
        if late:
            told += f"; {late} event{' has' if late == 1 else 's have'} come too late so far"
        return self._nothing(Cause.NO_TERMINATOR, told)

    def _attempt(self, given: Tuple) -> Attempt:
        stored, deployed = self.stored, self.deployed
        terminator = given[-1].event
        if given[-1].sequence < deployed.moment:
            return Attempt(terminator, Cause.NOT_DEPLOYED, ())
        taken = consumption(stored, deployed, given[0].sequence)
        matcher = Matcher(stored, deployed, taken.by)
        trace = Tracer(matcher, taken).trace(given)
        if trace.cause is Cause.TERMINATOR:
            return Attempt(terminator, trace.cause, trace.parts)
        doubts = (*self._doubts(given), *trace.doubts)
        if len(given) > 1 and given[1].sequence in taken.by:
            by = f"with {taken.by[given[1].sequence].event}"
            part = Part(
                f"{format_duration(deployed.plan.rule.deadline or 0)} after {terminator}", False, (), by
            )
            return Attempt(terminator, Cause.CONSUMED, (part,), (), doubts)
        evaluated, fired = stored.rule_counts(deployed)
        if not evaluated or fired < len(trace.matches):
            return Attempt(terminator, Cause.PAUSED, (), (), doubts)
        matches = tuple(without_ids(self.finder.rebuild(matcher, match)) for match in trace.matches)
        return Attempt(terminator, trace.cause, trace.parts, matches, doubts)

    def _doubts(self, given: Tuple) -> list[str]:
        """What would have to be known, and is not stored any more."""
        stored, plan = self.stored, self.deployed.plan
        doubts = []
        for name in missing(stored, plan, given[0]):
            since = format_timestamp(stored.of(name).since or 0)
            doubts.append(f"the rule looked at {name} events from before {since}, which are gone")
        defined = {deployed.plan.defines.name for deployed in stored.deployment.rules.values()}
        if not is_placed(stored, given) and any(
            stored.of(name).at(self.moment) for name in defined & set(plan.horizon)
        ):
            doubts.append("which composite events of that moment came before the timer is not known any more")
        if len(given) > 1:
            taken = consumption(stored, self.deployed, given[0].sequence)
            if taken.doubts(plan, given[1]):
                doubts.append(f"{given[1].event} may have been consumed before")
        return doubts
