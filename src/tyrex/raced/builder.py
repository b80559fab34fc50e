"""Makes RACED's syntax tree from what the parser read: one method for each rule of `raced.lark`."""

from __future__ import annotations

from typing import Any

from lark import Token, Transformer

from tyrex.raced.syntax import Advertisement, AttributeValue, Definition, Filter, Item, Pattern
from tyrex.tesla import syntax as s
from tyrex.tesla.builder import BuildError, TreeBuilder
from tyrex.tesla.source import Span

# Values are read by TESLA's builder; what it refuses is refused here under RACED's codes.
_CODES = {"TSL004": "RCD005", "TSL005": "RCD002"}


def as_raced(error: BuildError) -> BuildError:
    """The error under the code that RACED has for it."""
    code = error.code if error.code.startswith("RCD") else _CODES.get(error.code, "RCD001")
    return BuildError(code, error.message, error.span, error.suggestion)


def _trees(children: list[Any]) -> tuple[Any, ...]:
    """The children without punctuation and without the placeholders of what was left out."""
    return tuple(child for child in children if child is not None and not isinstance(child, Token))


class RacedBuilder(Transformer[Token, Any]):
    """Builds the items of one piece of a text, which begins at `offset`."""

    def __init__(self, offset: int) -> None:
        super().__init__(visit_tokens=False)
        self._offset = offset
        self._tesla = TreeBuilder()
        self._tesla.offset = offset

    def _span(self, token: Token) -> Span:
        return Span(self._offset + (token.start_pos or 0), self._offset + (token.end_pos or 0))

    def _identifier(self, token: Token) -> s.Identifier:
        return s.Identifier(token.value, self._span(token))

    # Items

    def file(self, children: list[Any]) -> list[Item]:
        return list(_trees(children))

    def advertisement(self, children: list[Any]) -> Advertisement:
        keyword, _, name, attributes, end = children
        return Advertisement(
            self._identifier(name), attributes or (), self._span(keyword).to(self._span(end))
        )

    def declarations(self, children: list[Any]) -> tuple[s.AttributeDeclaration, ...]:
        return _trees(children)

    def declaration(self, children: list[Any]) -> s.AttributeDeclaration:
        name, type_ = map(self._identifier, children)
        return s.AttributeDeclaration(name, type_, name.span.to(type_.span))

    def definition(self, children: list[Any]) -> Definition:
        keyword, _, name, attributes, pattern, end = children
        span = self._span(keyword).to(self._span(end))
        return Definition(self._identifier(name), attributes or (), pattern, span)

    def values(self, children: list[Any]) -> tuple[AttributeValue, ...]:
        return _trees(children)

    def value_of(self, children: list[Any]) -> AttributeValue:
        name, value = self._identifier(children[0]), children[1]
        return AttributeValue(name, value, name.span.to(value.span))

    # Patterns

    def pattern(self, children: list[Any]) -> Pattern:
        *filters, _, window = children
        return Pattern(tuple(filters), None if window is None else self._tesla.duration([window]))

    def part(self, children: list[Any]) -> Filter:
        negation, plain = children
        if negation is None:
            return plain  # type: ignore[no-any-return]  # filter made it
        return Filter(plain.type, plain.constraints, True, self._span(negation).to(plain.span))

    def filter(self, children: list[Any]) -> Filter:
        name, constraints = children
        if constraints is None:
            return Filter(self._identifier(name), (), False, self._span(name))
        return Filter(self._identifier(name), constraints[0], False, self._span(name).to(constraints[1]))

    def constraints(self, children: list[Any]) -> tuple[tuple[s.Comparison, ...], Span]:
        return _trees(children), self._span(children[-1])

    def constraint(self, children: list[Any]) -> s.Expression:
        return self._tesla.test(children)

    # Values

    def name(self, children: list[Any]) -> s.Name:
        return self._tesla.name(children)

    def negative(self, children: list[Any]) -> s.Literal:
        minus, number = children
        literal = self.number([number], largest=2**63)
        assert isinstance(literal.value, int | float)
        return s.Literal(-literal.value, self._span(minus).to(literal.span))

    def number(self, children: list[Any], largest: int = 2**63 - 1) -> s.Literal:
        literal = self._tesla.number(children)
        if isinstance(literal.value, int) and literal.value > largest:
            raise BuildError(
                "RCD005", "this number does not fit into 64 bits", literal.span, "write it as a float"
            )
        return literal

    def string(self, children: list[Any]) -> s.Literal:
        return self._tesla.string(children)

    def true(self, children: list[Any]) -> s.Literal:
        return self._tesla.true(children)

    def false(self, children: list[Any]) -> s.Literal:
        return self._tesla.false(children)

    def parameter(self, children: list[Any]) -> s.Parameter:
        return self._tesla.parameter(children)
