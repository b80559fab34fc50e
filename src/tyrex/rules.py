"""Rules as users hold them: parsed, checked, and able to show themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from tyrex.plan import RulePlan, RuleSetPlan, draw, plan_rule, plan_rules
from tyrex.raced import examine_raced
from tyrex.tesla import (
    CheckedRule,
    CheckedRules,
    CheckedSubscription,
    Diagnostic,
    EventType,
    Severity,
    Source,
    TeslaError,
    check_subscription,
    examine_files,
)
from tyrex.tesla.format import format_tree
from tyrex.tesla.parser import collection_paused, parse_file
from tyrex.tesla.syntax import File, Identifier


@dataclass(frozen=True)
class Rule:
    """One rule. In a notebook it shows itself as its automaton."""

    checked: CheckedRule

    @property
    def name(self) -> str:
        """The name it was given, or one made from the event it defines."""
        return self.checked.name

    @property
    def defines(self) -> EventType:
        """The type of the composite events it makes."""
        return self.checked.defines

    @property
    def text(self) -> str:
        """The rule as it was written."""
        span = self.checked.syntax.span
        return self.checked.source.text[span.start : span.end]

    @cached_property
    def canonical_text(self) -> str:
        """The rule with its name, in the canonical layout and without comments."""
        named = replace(self.checked.syntax, name=Identifier(self.name))
        return format_tree(File((named,)))

    @cached_property
    def plan(self) -> RulePlan:
        """Its automaton: states, conditions, windows, horizon."""
        return plan_rule(self.checked)

    def __str__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"image/svg+xml": draw(self.plan, "svg"), "text/plain": self.text}


@dataclass(frozen=True)
class RuleSet:
    """Rules that fit together, in deployment order, and the event types they know."""

    checked: CheckedRules

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules, in deployment order."""
        return tuple(Rule(rule) for rule in self.checked.rules)

    @property
    def types(self) -> Mapping[str, EventType]:
        """Every event type, declared, defined or inferred, by name."""
        return self.checked.types

    @cached_property
    def plan(self) -> RuleSetPlan:
        """The plans of all rules, and how they depend on each other."""
        return plan_rules(self.checked)

    def without(self, name: str) -> RuleSet:
        """These rules, one less; the event types stay known."""
        kept = tuple(rule for rule in self.checked.rules if rule.name != name)
        return RuleSet(CheckedRules(kept, self.checked.types))

    def subscription(self, text: str) -> CheckedSubscription:
        """A subscription filter, such as `Fire(area = "A1")`, checked against these rules."""
        return check_subscription(text, self.types)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.checked.rules)

    def __getitem__(self, name: str) -> Rule:
        for rule in self.rules:
            if rule.name == name:
                return rule
        raise KeyError(name)

    def __contains__(self, rule: object) -> bool:
        """Whether there is this rule, or one of this name."""
        return any(rule in (one, one.name) for one in self.rules)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"image/svg+xml": draw(self.plan, "svg"), "text/plain": "\n\n".join(map(str, self.rules))}


def parse(text: str, name: str = "<rules>", *, known: RuleSet | None = None) -> RuleSet:
    """The rules in a text; `TeslaError` with every diagnostic if anything is wrong.

    >>> rules = parse("define Hot(value: float) from Temp(value > 45) where value = Temp.value")
    >>> [rule.name for rule in rules]
    ['Hot']
    """
    return parse_sources([Source(text, name)], known=known)


def parse_sources(sources: Iterable[Source], *, known: RuleSet | None = None) -> RuleSet:
    """The rules in several texts that belong together; a name that ends in `.raced` is RACED."""
    rules, diagnostics = examine(sources, known=known)
    if rules is None:
        raise TeslaError(d for d in diagnostics if d.severity is Severity.ERROR)
    return rules


def examine(
    sources: Iterable[Source], *, known: RuleSet | None = None
) -> tuple[RuleSet | None, list[Diagnostic]]:
    """The rules if they are right, and every diagnostic, warnings too."""
    files: list[tuple[Source, File]] = []
    diagnostics: list[Diagnostic] = []
    with collection_paused():
        for source in sources:
            file, found = examine_raced(source) if source.name.endswith(".raced") else parse_file(source)
            files.append((source, file))
            diagnostics += found
        checked, findings = examine_files(
            files, known=None if known is None else known.checked, diagnostics=diagnostics
        )
    return (None if checked is None else RuleSet(checked)), findings


class NotUtf8(ValueError):
    """A rule file holds bytes that are no UTF-8 text."""


def read_sources(path: Path) -> list[Source]:
    """The rule texts of a file, or of every `.tesla` and `.raced` file in a directory, in the order of their names."""
    if path.is_dir():
        return [
            _read_source(p)
            for p in sorted(path.iterdir())
            if p.suffix in (".tesla", ".raced") and not p.is_dir()
        ]
    return [_read_source(path)]


def _read_source(path: Path) -> Source:
    try:
        return Source(path.read_text("utf-8-sig"), str(path))  # a byte order mark is no part of the text
    except UnicodeDecodeError as error:
        raise NotUtf8(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8") from None


def load(path: str | Path, *, known: RuleSet | None = None) -> RuleSet:
    """The rules of a file, or of all rule files in a directory.

    Raises `TeslaError` with every diagnostic if anything is wrong with them, and `OSError` or `ValueError` if
    they can't be read.
    """
    return parse_sources(read_sources(Path(path)), known=known)
