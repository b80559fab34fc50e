"""From RACED text to its syntax tree, one definition at a time so that one error hides no other."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Any

from lark import Lark, Token, Transformer, UnexpectedInput, UnexpectedToken

from tyrex.raced.syntax import Advertisement, Definition, Filter, Item, Pattern
from tyrex.tesla import syntax as s
from tyrex.tesla.builder import BuildError, TreeBuilder
from tyrex.tesla.diagnostics import Diagnostic
from tyrex.tesla.durations import NotADuration, parse_duration
from tyrex.tesla.source import Source, Span

_ITEMS = re.compile(
    r"""(?P<skip>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|(?:--|//)[^\n]*)|(?P<item>\b(?:DefineEvent|Advertise)\b)""",
    re.IGNORECASE,
)
_BLANK = re.compile(r"(?:(?:--|//)[^\n]*|\s+)*")
_WORDS = {
    "ADVERTISE": "`Advertise(..)`",
    "DEFINE_EVENT": "`DefineEvent(..)`",
    "NAME": "a name",
    "_AND": "`AND`",
    "NOT": "`NOT`",
    "WITHIN": "`WITHIN`",
    "DURATION": "a duration such as `5 min`",
    "LSQB": "`[`",
    "CLOSE": "`]`",
    "RSQB": "`]`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "COMMA": "`,`",
    "COLON": "`:`",
    "COMPARE": "a comparison",
    "PARAMETER": "a parameter",
    "NUMBER": "a number",
    "STRING": "a text",
    "$END": "the end",
}


def parse_raced(source: Source) -> tuple[list[Item], list[Diagnostic]]:
    """What could be read, and a diagnostic for each piece that could not."""
    items: list[Item] = []
    diagnostics: list[Diagnostic] = []
    for piece in _cut(source.text):
        text = source.text[piece.start : piece.end]
        builder = _Builder(piece.start)
        try:
            items += builder.transform(_parser().parse(text))
        except UnexpectedInput as error:
            diagnostics.append(_explain(error, source, piece))
        except Exception as error:  # lark wraps what a builder raises
            problem = getattr(error, "orig_exc", error)
            if not isinstance(problem, BuildError):
                raise
            diagnostics.append(problem.diagnostic(source))
    return items, diagnostics


def _cut(text: str) -> list[Span]:
    starts = [found.start() for found in _ITEMS.finditer(text) if found.lastgroup == "item"]
    head = _BLANK.match(text)
    first = head.end() if head else 0
    if first < (starts[0] if starts else len(text)):
        starts.insert(0, first)
    return [Span(a, b) for a, b in zip(starts, [*starts[1:], len(text)], strict=False)]


@cache
def _parser() -> Lark:
    grammar = resources.files("tyrex.raced").joinpath("raced.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", lexer="contextual", start="file", maybe_placeholders=True)


def _explain(error: UnexpectedInput, source: Source, piece: Span) -> Diagnostic:
    token = error.token if isinstance(error, UnexpectedToken) else None
    accepted = set(getattr(error, "accepts", None) or getattr(error, "allowed", None) or ())
    expected = ", ".join(word for name, word in _WORDS.items() if name in accepted) or None
    if token is not None and token.type != "$END":
        start = piece.start + (token.start_pos or 0)
        span, found = Span(start, start + len(token.value)), f"`{token.value}`"
    elif token is None and error.pos_in_stream is not None and error.pos_in_stream >= 0:
        start = min(piece.start + error.pos_in_stream, piece.end - 1)
        span, found = Span(start, start + 1), f"`{source.text[start]}`"
    else:
        end = piece.start + len(source.text[piece.start : piece.end].rstrip())
        span, found = Span(max(end - 1, piece.start), max(end, piece.start + 1)), "the end"
    suggestion = "write `DefineEvent(Fire[Temp: $X], Temp[Value = $X] AND Alert[Type = \"smoke\"] WITHIN 5 min)`"
    if found == "`(`":
        suggestion = "parentheses are TESLA; RACED writes `Temp[Value > 30]`"
    if source.text[piece.start : piece.end].lower().startswith("subscribe"):
        suggestion = "a rule file defines events; subscribe where you run it"
    return Diagnostic("RCD001", "this can't be read as RACED", span, source, expected, found, suggestion)


class _Builder(Transformer[Token, Any]):
    def __init__(self, offset: int) -> None:
        super().__init__(visit_tokens=False)
        self._tesla = TreeBuilder()
        self._tesla.offset = offset

    def _span(self, token: Token) -> Span:
        return Span(self._tesla.offset + (token.start_pos or 0), self._tesla.offset + (token.end_pos or 0))

    def _identifier(self, token: Token) -> s.Identifier:
        return s.Identifier(token.value, self._span(token))

    def file(self, items: list[Item]) -> list[Item]:
        return items

    def advertisement(self, children: list[Any]) -> Advertisement:
        keyword, name, *attributes, end = children
        present = tuple(a for a in attributes if a is not None)
        return Advertisement(self._identifier(name), present, self._span(keyword).to(self._span(end)))

    def declaration(self, children: list[Any]) -> s.AttributeDeclaration:
        name, type_ = map(self._identifier, children)
        return s.AttributeDeclaration(name, type_, name.span.to(type_.span))

    def definition(self, children: list[Any]) -> Definition:
        keyword, name, *attributes, pattern, end = children
        present = tuple(a for a in attributes if a is not None)
        return Definition(self._identifier(name), present, pattern, self._span(keyword).to(self._span(end)))

    def value_of(self, children: list[Any]) -> tuple[s.Identifier, s.Expression]:
        return self._identifier(children[0]), children[1]

    def pattern(self, children: list[Any]) -> Pattern:
        *filters, keyword, duration = children
        if keyword is None:
            return Pattern(tuple(filters), None)
        span = self._span(duration)
        try:
            return Pattern(tuple(filters), parse_duration(duration.value), span)
        except NotADuration as error:
            raise BuildError("RCD002", str(error), span, "use a smaller unit, as in `1500 us`") from None

    def part(self, children: list[Any]) -> Filter:
        negation, plain = children
        return plain if negation is None else Filter(plain.type, plain.constraints, True, plain.span)  # type: ignore[no-any-return]

    def filter(self, children: list[Any]) -> Filter:
        name, *constraints, end = children
        present = tuple(c for c in constraints if c is not None)
        return Filter(self._identifier(name), present, False, self._span(name).to(self._span(end)))

    def constraint(self, children: list[Any]) -> s.Comparison:
        name = s.Name(children[0].value, self._span(children[0]))
        tree = self._tesla.test([name, *children[1:]])
        assert isinstance(tree, s.Comparison)
        return tree

    def negative(self, children: list[Any]) -> s.Expression:
        return self._tesla.negative([children[0], self._tesla.number([children[1]])])

    def number(self, children: list[Any]) -> s.Literal:
        return self._tesla.number(children)

    def string(self, children: list[Any]) -> s.Literal:
        return self._tesla.string(children)

    def true(self, children: list[Any]) -> s.Literal:
        return self._tesla.true(children)

    def false(self, children: list[Any]) -> s.Literal:
        return self._tesla.false(children)

    def parameter(self, children: list[Any]) -> s.Parameter:
        return self._tesla.parameter(children)
