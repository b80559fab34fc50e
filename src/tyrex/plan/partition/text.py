"""Partial rules as text: TESLA, and the events that are sent."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tyrex.tesla import expressions as e
from tyrex.tesla import syntax as s
from tyrex.tesla.format import format_rule
from tyrex.tesla.functions import WIDEN

if TYPE_CHECKING:
    from tyrex.plan.partition.model import Absence, Part

HEAD = "define Partial()\nfrom   "
SEND = "\nsend "


class PartialText:
    """What a partial rule is as text."""

    parts: tuple[Part, ...]
    absences: tuple[Absence, ...]
    sent: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What the events are called in the text: their type, with a number where it comes more than once."""
        every = Counter(part.type for part in self.parts)
        taken = set(every) | {absence.type for absence in self.absences}
        seen: Counter[str] = Counter()
        found = []
        for part in self.parts:
            seen[part.type] += 1
            name = part.type
            if every[name] > 1:
                name = f"{part.type}{seen[part.type]}"
                while name in taken:
                    name += "_"
            taken.add(name)
            found.append(name)
        return tuple(found)

    @property
    def text(self) -> str:
        """The pattern in TESLA, and a line that says which of its events are sent; `parse_partial` reads it."""
        names = self.names
        rule = format_rule(syntax_of(self.parts, self.absences, names))
        return (
            rule.removeprefix(HEAD).replace("\n       ", "\n")
            + SEND
            + ", ".join(names[index] for index in self.sent)
        )

    def __str__(self) -> str:
        return self.text


def syntax_of(parts: tuple[Part, ...], absences: tuple[Absence, ...], names: tuple[str, ...]) -> s.Rule:
    """The syntax tree of a pattern, as a rule that makes nothing."""
    terms = [_term(part.type, part.conditions, names, index) for index, part in enumerate(parts)]
    conjuncts: list[s.Conjunct] = []
    for part, term in zip(parts[1:], terms[1:], strict=True):
        assert part.selection is not None
        assert part.anchor is not None
        within = s.Within(s.Duration(part.window or 0), s.Identifier(names[part.anchor]))
        conjuncts.append(s.SelectedEvent(part.selection, term, within))
    for part in parts:
        conjuncts += [
            s.TimeConstraint(
                s.Identifier(names[c.earlier]), s.Within(s.Duration(c.window), s.Identifier(names[c.later]))
            )
            for c in part.conditions
            if isinstance(c, e.Precedes)
        ]
    for absence in absences:
        term = _term(absence.type, absence.conditions, names, e.CANDIDATE)
        conjuncts.append(s.NegatedEvent(term, _interval(absence.interval, names)))
    return s.Rule(None, s.Identifier("Partial"), (), s.Terminator(terms[0]), tuple(conjuncts), (), ())


def _interval(interval: e.Interval, names: tuple[str, ...]) -> s.Interval:
    if isinstance(interval, e.Within):
        return s.Within(s.Duration(interval.window), s.Identifier(names[interval.anchor]))
    return s.Between(s.Identifier(names[interval.earlier]), s.Identifier(names[interval.later]))


def _term(type_: str, conditions: tuple[e.Expression, ...], names: tuple[str, ...], own: int) -> s.EventTerm:
    arguments = tuple(_tree(c, names, own) for c in conditions if not isinstance(c, e.Precedes))
    alias = None if own == e.CANDIDATE or names[own] == type_ else s.Identifier(names[own])
    return s.EventTerm(s.Identifier(type_), arguments, alias)


def _tree(node: e.Expression, names: tuple[str, ...], own: int) -> s.Expression:
    """The syntax of an expression that stands in the parentheses of event `own`."""
    match node:
        case e.Literal(value=value):
            return s.Literal(value)
        case e.Attribute(event=event, name=name):
            if event == own:
                return s.Name(name)
            return s.AttributeOf(s.Identifier(names[event]), s.Identifier(name))
        case e.Unary(operator=symbol, operand=operand):
            return s.Unary(symbol, _tree(operand, names, own))
        case e.Binary(operator=symbol, left=left, right=right):
            return s.Binary(symbol, _tree(left, names, own), _tree(right, names, own))
        case e.Compare(operator=symbol, left=left, right=right):
            return s.Comparison((_tree(left, names, own), _tree(right, names, own)), (symbol,))
        case e.OneOf(operand=operand, options=options):
            return s.Membership(_tree(operand, names, own), tuple(_tree(o, names, own) for o in options))
        case e.Call(function=WIDEN.name, arguments=(argument,)):
            return _tree(argument, names, own)  # put in again when it is read
        case e.Call(function=function, arguments=arguments):
            return s.Call(s.Identifier(function), tuple(_tree(a, names, own) for a in arguments))
        case e.Present(operand=operand):
            tree = _tree(operand, names, own)
            return s.Comparison((tree, tree), ("=",))
        case e.Parameter() | e.Precedes() | e.Aggregate():
            raise AssertionError(f"{node} is in no partial rule's condition")
