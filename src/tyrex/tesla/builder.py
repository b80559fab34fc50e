"""Makes the syntax tree while the parser reads: one method for each rule of `tesla.lark`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from lark import Token, Transformer

from tyrex.tesla import syntax as s
from tyrex.tesla.diagnostics import Diagnostic
from tyrex.tesla.durations import NotADuration, parse_duration
from tyrex.tesla.source import Source, Span

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
_COMPARATORS = {"==": "=", "<>": "!=", "≤": "<=", "≥": ">=", "≠": "!="}
_TIGHT = frozenset("*/%")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)


@dataclass
class BuildError(Exception):
    """Something that the grammar allows but that has no meaning, such as a number beyond 64 bits."""

    code: str
    message: str
    span: Span
    suggestion: str

    def diagnostic(self, source: Source) -> Diagnostic:
        """The error with its source."""
        return Diagnostic(self.code, self.message, self.span, source, suggestion=self.suggestion)


def _present(children: list[Any]) -> tuple[Any, ...]:
    """The children without the placeholders of what was left out and without punctuation."""
    return tuple(child for child in children if child is not None and not isinstance(child, Token))


def _combine(operator: str, children: list[Any]) -> s.Expression:
    tree: s.Expression = children[0]
    for child in children[1:]:
        tree = s.Binary(operator, tree, child, tree.span.to(child.span))
    return tree


def unescape(quoted: str) -> str:
    """The text that a quoted string stands for."""

    def one(found: re.Match[str]) -> str:
        code = found[1]
        if len(code) == 5:
            return chr(int(code[1:], 16))
        return _ESCAPES.get(code, code)

    return _ESCAPE.sub(one, quoted[1:-1])


class TreeBuilder(Transformer[Token, Any]):
    """Turns what the parser recognises into the frozen nodes of `tyrex.tesla.syntax`.

    `offset` is where the piece that is being read begins in its source.
    """

    def __init__(self) -> None:
        super().__init__()
        self.offset = 0

    def _span(self, token: Token) -> Span:
        return Span(self.offset + (token.start_pos or 0), self.offset + (token.end_pos or 0))

    def _identifier(self, token: Token) -> s.Identifier:
        return s.Identifier(token.value, self._span(token))

    def _maybe(self, token: Token | None) -> s.Identifier | None:
        return None if token is None else self._identifier(token)

    # Files and rules

    def file(self, items: list[Any]) -> list[s.Item]:
        return list(items)

    def event_declaration(self, children: list[Any]) -> s.EventDeclaration:
        keyword, name, (attributes, end) = children
        return s.EventDeclaration(self._identifier(name), attributes, self._span(keyword).to(end))

    def attribute_list(self, children: list[Any]) -> tuple[tuple[s.AttributeDeclaration, ...], Span]:
        return _present(children), self._span(children[-1])

    def attribute_declaration(self, children: list[Any]) -> s.AttributeDeclaration:
        name, type_ = children
        return s.AttributeDeclaration(
            self._identifier(name),
            self._maybe(type_),
            self._span(name).to(self._span(type_ if type_ is not None else name)),
        )

    def rule_name(self, children: list[Any]) -> tuple[Span, s.Identifier]:
        return self._span(children[0]), self._identifier(children[1])

    def rule(self, children: list[Any]) -> s.Rule:
        name, define, defines, attributes, pattern, where, consuming = children
        terminator, conjuncts, end = pattern
        assignments: tuple[s.Assignment, ...] = ()
        if where is not None:
            assignments, end = where, where[-1].span
        if consuming is not None:
            end = consuming[-1].span
        start = self._span(define) if name is None else name[0]
        return s.Rule(
            None if name is None else name[1],
            self._identifier(defines),
            () if attributes is None else attributes[0],
            terminator,
            conjuncts,
            assignments,
            () if consuming is None else consuming,
            start.to(end),
        )

    def from_clause(self, children: list[Any]) -> tuple[s.Terminator, tuple[s.Conjunct, ...], Span]:
        _, terminator, *conjuncts = children
        return terminator, tuple(conjuncts), children[-1].span

    def where_clause(self, children: list[Any]) -> tuple[s.Assignment, ...]:
        return tuple(children[1:])

    def assignment(self, children: list[Any]) -> s.Assignment:
        name, _, value = children
        return s.Assignment(self._identifier(name), value, self._span(name).to(value.span))

    def consuming_clause(self, children: list[Any]) -> tuple[s.Identifier, ...]:
        return tuple(self._identifier(child) for child in children[1:])

    # Patterns

    def terminator(self, children: list[Any]) -> s.Terminator:
        delay, _, event = children
        if delay is None:
            return s.Terminator(event, None, event.span)
        return s.Terminator(event, self.duration([delay]), self._span(delay).to(event.span))

    def event(self, children: list[Any]) -> s.EventTerm:
        event, keyword, alias = children
        if keyword is None:
            return event  # type: ignore[no-any-return]  # plain_event made it
        return s.EventTerm(
            event.type, event.arguments, self._identifier(alias), event.span.to(self._span(alias))
        )

    def plain_event(self, children: list[Any]) -> s.EventTerm:
        name, arguments = children
        if arguments is None:
            return s.EventTerm(self._identifier(name), (), None, self._span(name))
        return s.EventTerm(self._identifier(name), arguments[0], None, self._span(name).to(arguments[1]))

    def arguments(self, children: list[Any]) -> tuple[tuple[s.Expression, ...], Span]:
        return _present(children), self._span(children[-1])

    def selection(self, children: list[Any]) -> s.Selection:
        (token,) = children
        if token.type != "KTH":
            return s.Selection(s.Policy(token.value.lower()), 1, self._span(token))
        count, policy = token.value.split("-")
        if not 0 < int(count) <= INT_MAX:
            raise BuildError(
                "TSL004", f"`{token.value}`: k counts from 1", self._span(token), "write `1-last` or `last`"
            )
        return s.Selection(s.Policy(policy.strip().lower()), int(count), self._span(token))

    def selected_event(self, children: list[Any]) -> s.SelectedEvent:
        selection, event, within = children
        return s.SelectedEvent(selection, event, within, selection.span.to(within.span))

    def negated_event(self, children: list[Any]) -> s.NegatedEvent:
        keyword, event, interval = children
        return s.NegatedEvent(event, interval, self._span(keyword).to(interval.span))

    def time_constraint(self, children: list[Any]) -> s.TimeConstraint:
        name, within = children
        return s.TimeConstraint(self._identifier(name), within, self._span(name).to(within.span))

    def condition(self, children: list[Any]) -> s.Condition:
        return s.Condition(children[0], children[0].span)

    def within(self, children: list[Any]) -> s.Within:
        keyword, window, _, anchor = children
        return s.Within(
            self.duration([window]), self._identifier(anchor), self._span(keyword).to(self._span(anchor))
        )

    def between(self, children: list[Any]) -> s.Between:
        keyword, first, second = children
        return s.Between(
            self._identifier(first), self._identifier(second), self._span(keyword).to(self._span(second))
        )

    # Expressions

    def expression(self, children: list[Any]) -> s.Expression:
        return _combine("or", children)

    def conjunction(self, children: list[Any]) -> s.Expression:
        return _combine("and", children)

    def logical_not(self, children: list[Any]) -> s.Expression:
        keyword, operand = children
        return s.Unary("not", operand, self._span(keyword).to(operand.span))

    def test(self, children: list[Any]) -> s.Expression:
        operands = tuple(children[::2])
        operators = tuple(_COMPARATORS.get(token.value, token.value) for token in children[1::2])
        return s.Comparison(operands, operators, operands[0].span.to(operands[-1].span))

    def membership(self, children: list[Any]) -> s.Expression:
        operand, negation, *rest = children
        span = operand.span.to(self._span(rest[-1]))
        tree = s.Membership(operand, _present(rest), span)
        return tree if negation is None else s.Unary("not", tree, span)

    def value(self, children: list[Any]) -> s.Expression:
        """A flat list of operands and operators, as a tree in which `* / %` bind tighter than `+ -`."""
        terms: list[s.Expression] = [children[0]]
        loose: list[str] = []
        for token, operand in zip(children[1::2], children[2::2], strict=True):
            if token.value in _TIGHT:
                terms[-1] = s.Binary(token.value, terms[-1], operand, terms[-1].span.to(operand.span))
            else:
                loose.append(token.value)
                terms.append(operand)
        tree = terms[0]
        for operator, term in zip(loose, terms[1:], strict=True):
            tree = s.Binary(operator, tree, term, tree.span.to(term.span))
        return tree

    def negative(self, children: list[Any]) -> s.Expression:
        minus, operand = children
        span = self._span(minus).to(operand.span)
        value = getattr(operand, "value", None)
        if isinstance(operand, s.Literal) and isinstance(value, int | float) and not isinstance(value, bool):
            if value == INT_MAX + 1:
                return s.Literal(INT_MIN, span)
            if value > 0:
                return s.Literal(-value, span)
        return s.Unary("-", operand, span)

    def parenthesis(self, children: list[Any]) -> s.Expression:
        return children[1]  # type: ignore[no-any-return]

    def call(self, children: list[Any]) -> s.Call:
        return s.Call(
            self._identifier(children[0]),
            _present(children[1:]),
            self._span(children[0]).to(self._span(children[-1])),
        )

    def aggregate(self, children: list[Any]) -> s.Aggregate:
        function, _, event, attribute, inside, end, behind = children
        span = self._span(function).to(behind.span if behind is not None else self._span(end))
        if inside is not None and behind is not None:
            raise BuildError(
                "TSL008", "this aggregate has two intervals", behind.span, "leave one of them out"
            )
        return s.Aggregate(self._identifier(function), event, self._maybe(attribute), inside or behind, span)

    def number(self, children: list[Any]) -> s.Literal:
        (token,) = children
        if token.value.isdecimal():
            # One more than the greatest is let through for `-9223372036854775808`; the types pass refuses the rest.
            value = int(token.value) if len(token.value) < 40 else INT_MAX + 2
            if value > INT_MAX + 1:
                raise BuildError(
                    "TSL004",
                    "this number does not fit into 64 bits",
                    self._span(token),
                    "write it as a float",
                )
            return s.Literal(value, self._span(token))
        number = float(token.value)
        if number in (float("inf"), float("-inf")):
            raise BuildError(
                "TSL004", "this number is too large for a float", self._span(token), "use a smaller number"
            )
        return s.Literal(number, self._span(token))

    def string(self, children: list[Any]) -> s.Literal:
        return s.Literal(unescape(children[0].value), self._span(children[0]))

    def true(self, children: list[Any]) -> s.Literal:
        return s.Literal(True, self._span(children[0]))

    def false(self, children: list[Any]) -> s.Literal:
        return s.Literal(False, self._span(children[0]))

    def null(self, children: list[Any]) -> s.Literal:
        return s.Literal(None, self._span(children[0]))

    def duration(self, children: list[Any]) -> s.Duration:
        (token,) = children
        try:
            microseconds = parse_duration(token.value)
        except NotADuration as error:
            raise BuildError(
                "TSL005", str(error), self._span(token), "use a smaller unit, as in `1500 us`"
            ) from None
        if microseconds > INT_MAX:
            raise BuildError(
                "TSL005", "this duration is too long", self._span(token), "at most about 290,000 years"
            )
        return s.Duration(microseconds, self._span(token))

    def parameter(self, children: list[Any]) -> s.Parameter:
        return s.Parameter(children[0].value[1:], self._span(children[0]))

    def name(self, children: list[Any]) -> s.Name:
        return s.Name(children[0].value, self._span(children[0]))

    def attribute_of(self, children: list[Any]) -> s.AttributeOf:
        event, attribute = children
        return s.AttributeOf(
            self._identifier(event), self._identifier(attribute), self._span(event).to(self._span(attribute))
        )

    # Subscriptions

    def long_subscription(self, children: list[Any]) -> s.Subscription:
        keyword, _, name, *rest = children
        return s.Subscription(
            self._identifier(name), _present(rest), self._span(keyword).to(self._span(rest[-1]))
        )

    def short_subscription(self, children: list[Any]) -> s.Subscription:
        event = self.plain_event(children)
        return s.Subscription(event.type, event.arguments, event.span)
