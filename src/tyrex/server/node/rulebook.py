"""The rules of a node: which there are, in which state, and every change that made them so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tyrex.engine import Engine, RuleInUse, UnknownRule
from tyrex.rules import RuleSet, parse
from tyrex.server.node.records import Action, RulesRecord
from tyrex.tesla import CheckedRules
from tyrex.tesla.diagnostics import did_you_mean


class RuleRefused(ValueError):
    """A change of the rules can't be made; nothing has changed."""


@dataclass(frozen=True, slots=True)
class RuleEntry:
    """A rule as it is deployed."""

    name: str
    text: str
    """In the canonical form."""
    defines: str
    since: int
    """The record that brought it."""
    at: int
    by: str
    state: str = "active"
    """`active`, `paused` by somebody, or `stopped` by the node."""
    reason: str = ""
    """Why it was stopped."""
    original: str = ""
    """As it was written, where that was RACED."""


@dataclass(frozen=True, slots=True)
class Change:
    """One step in the history of the rules."""

    number: int
    """Of its record in the log."""
    action: str
    at: int
    by: str
    names: tuple[str, ...]
    text: str = ""


@dataclass
class Rulebook:
    """All rules, and their history."""

    entries: dict[str, RuleEntry] = field(default_factory=dict)
    history: list[Change] = field(default_factory=list)

    def apply(self, engine: Engine, number: int, record: RulesRecord) -> tuple[str, ...]:
        """Make a change, in the engine, too; the names of the rules it is about."""
        names: tuple[str, ...] = record.names
        match record.action:
            case Action.DEFINE:
                names = tuple(engine.deploy(record.text))
            case Action.REPLACE:
                names = self._replace(engine, record.text)
            case Action.PAUSE:
                for name in names:
                    engine.pause(name)
                    self.entries[name] = replace(self.entries[name], state="paused", reason="")
            case Action.RESUME:
                for name in names:
                    engine.resume(name)
                    self.entries[name] = replace(self.entries[name], state="active", reason="")
            case Action.REMOVE:
                for name in [name for name in with_users(engine.rules, names) if name in names]:
                    engine.undeploy(name)
                    del self.entries[name]
        if record.action in (Action.DEFINE, Action.REPLACE):
            for name in names:
                rule = engine.rules[name]
                self.entries[name] = RuleEntry(
                    name,
                    rule.canonical_text,
                    rule.defines.name,
                    number,
                    record.at,
                    record.by,
                    original=record.original,
                )
        self.history.append(
            Change(number, record.action, record.at, record.by, names, record.original or record.text)
        )
        return names

    def stop(self, engine: Engine, name: str, number: int, at: int, reason: str) -> None:
        """Pause a rule that makes too much."""
        engine.pause(name)
        self.entries[name] = replace(self.entries[name], state="stopped", reason=reason)
        self.history.append(Change(number, "stop", at, "the node", (name,), reason))

    def check(self, engine: Engine, record: RulesRecord, *, limit: int) -> None:
        """Find out whether a change can be made, and make none."""
        for name in record.names:
            if name not in self.entries:
                near = did_you_mean(name, self.entries)
                raise UnknownRule(f"there is no rule `{name}`" + (f"; {near}" if near else ""))
        if record.action is Action.REMOVE:
            for name in record.names:
                _check_unused(engine.rules, name, set(record.names))
        if record.action not in (Action.DEFINE, Action.REPLACE):
            return
        known, text = engine.rules, record.text
        if record.action is Action.REPLACE:
            plan = _planned(engine.rules, record.text)
            known, text = without(known, plan.gone), plan.text
        count = len(known) + len(added(text, known))
        if count > limit:
            raise RuleRefused(f"there would be {count:,} rules, and {limit:,} are allowed: remove some first")

    def _replace(self, engine: Engine, text: str) -> tuple[str, ...]:
        plan = _planned(engine.rules, text)
        paused = [name for name in plan.gone if self.entries[name].state != "active"]
        for name in plan.gone:
            engine.undeploy(name)
        engine.deploy(plan.text)
        for name in paused:
            if name not in plan.names:
                engine.pause(name)
        return plan.names

    def to_json(self) -> dict[str, Any]:
        """All of it, for a snapshot."""
        return {
            "entries": [asdict(entry) for entry in self.entries.values()],
            "history": [asdict(change) for change in self.history],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Rulebook:
        """What `to_json` gave."""
        entries = [RuleEntry(**entry) for entry in data["entries"]]
        history = [Change(**{**change, "names": tuple(change["names"])}) for change in data["history"]]
        return cls({entry.name: entry for entry in entries}, history)


@dataclass(frozen=True, slots=True)
class _Replacement:
    """What is to be done to put rules in the place of others."""

    names: tuple[str, ...]
    """Of the rules of the new text."""
    gone: list[str]
    """The rules to take away, users before what they use."""
    text: str
    """The rules to deploy: the new ones, and the users that were taken away for them."""


def _planned(rules: RuleSet, text: str) -> _Replacement:
    """`TeslaError` or `RuleRefused` if it can't be done."""
    new = [rule.name for rule in parse(text, known=without(rules, [rule.name for rule in rules]))]
    if not new:
        raise RuleRefused("the text holds no rule: there is nothing to put in the place of another")
    gone = with_users(rules, [name for name in new if name in rules])
    back = [rule.canonical_text for rule in rules if rule.name in gone and rule.name not in new]
    whole = "\n\n".join([text, *back])
    parse(whole, known=without(rules, gone))
    return _Replacement(tuple(new), gone, whole)


def added(text: str, known: RuleSet) -> list[str]:
    """The names of the rules of a text that is put beside others."""
    return [rule.name for rule in parse(text, known=known) if rule.name not in known]


def without(rules: RuleSet, names: Iterable[str]) -> RuleSet:
    """Some rules less; the event types stay known."""
    gone = set(names)
    kept = tuple(rule for rule in rules.checked.rules if rule.name not in gone)
    return RuleSet(CheckedRules(kept, rules.types))


def users_of(rules: RuleSet, name: str) -> list[str]:
    """The rules that look at what this one makes, if no other makes it too."""
    made = rules[name].defines.name
    if any(rule.defines.name == made for rule in rules if rule.name != name):
        return []
    return [rule.name for rule in rules if rule.name != name and made in rule.plan.horizon]


def with_users(rules: RuleSet, names: Iterable[str]) -> list[str]:
    """These rules and all that build on them, the users first."""
    order: list[str] = []

    def visit(name: str) -> None:
        if name in order:
            return
        for user in users_of(rules, name):
            visit(user)
        order.append(name)

    for name in names:
        visit(name)
    return order


def _check_unused(rules: RuleSet, name: str, going: set[str]) -> None:
    users = [user for user in users_of(rules, name) if user not in going]
    if users:
        shown = ", ".join(f"`{user}`" for user in users)
        raise RuleInUse(
            f"rule `{name}` defines `{rules[name].defines.name}`, which {shown} looks at; remove that first"
        )
