"""The canonical layout of rules: reading what it prints gives the same tree, and every comment is kept.

A rule becomes a list of lines, the comments are given to these lines (`tyrex.tesla.comments`), and the file is put
together from them. What no text can say has no such way back: an infinite number, or `Unary("-", Literal(5))`, which
prints as `-5` and is read as a literal.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tyrex.tesla import syntax as s
from tyrex.tesla.comments import Layout, comments_before_items, lay_out
from tyrex.tesla.diagnostics import Diagnostic, TeslaError
from tyrex.tesla.durations import format_duration
from tyrex.tesla.parser import parse_file
from tyrex.tesla.source import Source, Span

WIDTH = 110
_INDENT = 7  # what follows `from   ` and `where  `

# How tightly an expression binds: a looser one needs parentheses inside a tighter one.
_OR, _AND, _TEST, _SUM, _PRODUCT, _FACTOR = range(6)
_BINDING = {"or": _OR, "and": _AND, "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "%": _PRODUCT}

# At the start of a conjunct these words would be read as a selection: `last`, `3-first`.
_LIKE_A_SELECTION = re.compile(r"(?:\d+\s*-\s*(?:first|last)\b)|(?:first|last)\b(?!\s*\()", re.IGNORECASE)
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}


def format_file(source: Source) -> str:
    """The text in canonical layout; `TeslaError` if it can't be read.

    >>> print(format_file(Source("define Hot() from Temp(value>45)")), end="")
    define Hot()
    from   Temp(value > 45)
    """
    file, diagnostics = parse_file(source)
    if diagnostics:
        raise TeslaError(diagnostics)
    try:
        return format_tree(file, source.text)
    except RecursionError:
        raise TeslaError(
            [
                Diagnostic(
                    "TSL007",
                    "this is nested too deeply to be laid out",
                    Span(0, min(1, len(source.text))),
                    source,
                    suggestion="use fewer parentheses, or split the rule in two",
                )
            ]
        ) from None


def format_tree(file: s.File, source_text: str | None = None) -> str:
    """A file's tree in canonical layout.

    With the text that the tree was read from, comments stay at their lines and declarations that stood apart stay
    apart. Without it, comments go before the item they stood at, and rules alone are set apart.
    """
    items = [_lines(item) for item in file.items]
    if source_text is None:
        layout = comments_before_items(file, [len(lines) for lines in items])
    else:
        layout = lay_out(file, source_text, [len(lines) for lines in items])
    rows: list[str] = []
    first = 0
    for number, (item, lines) in enumerate(zip(file.items, items, strict=True)):
        block = _Block.of(lines, layout, first)
        apart = number > 0 and isinstance(item, s.Rule) | isinstance(file.items[number - 1], s.Rule)
        rows += _separated(block, layout, file.items[number].span.start, apart=apart, first=not rows)
        first += len(lines)
    for comment in layout.before.get(first, ()):
        if rows and comment.span.start in layout.blank_before:
            rows.append("")
        rows.append(comment.text)
    return "".join(f"{row}\n" for row in rows)


def format_rule(rule: s.Rule) -> str:
    """A single rule, without a line break at its end."""
    return "\n".join(_Block.of(_lines(rule), Layout(), 0).rows())


# --- Lines -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Line:
    """A line of the layout, with the comments that go with it."""

    text: str
    indent: int = 0
    joins: bool = False
    """whether the line may be joined to the one before: an assignment that is not the first"""
    before: tuple[s.Comment, ...] = ()
    behind: s.Comment | None = None

    def row(self) -> str:
        comment = "" if self.behind is None else f"  {self.behind.text}"
        return f"{' ' * self.indent}{self.text}{comment}"


@dataclass(frozen=True)
class _Block:
    """The lines of an item."""

    lines: tuple[_Line, ...]

    @classmethod
    def of(cls, lines: Sequence[_Line], layout: Layout, first: int) -> _Block:
        """The lines with their comments, which stand in the layout from number `first` on."""
        commented = [
            replace(line, before=tuple(layout.before.get(n, ())), behind=layout.behind.get(n))
            for n, line in enumerate(lines, first)
        ]
        return cls(tuple(_joined(commented)))

    def rows(self) -> list[str]:
        return [
            row
            for line in self.lines
            for row in (*(" " * line.indent + c.text for c in line.before), line.row())
        ]


def _joined(lines: list[_Line]) -> list[_Line]:
    """The assignments on one line, if that is short enough and no comment stands between them."""
    positions = [n for n, line in enumerate(lines) if line.joins]
    if not positions:
        return lines
    start, end = positions[0] - 1, positions[-1] + 1
    assignments = lines[start:end]
    text = " ".join(line.text for line in assignments)
    between = any(a.behind is not None for a in assignments[:-1]) or any(a.before for a in assignments[1:])
    if between or len(text) > WIDTH:
        return lines
    return [*lines[:start], replace(assignments[0], text=text, behind=assignments[-1].behind), *lines[end:]]


def _separated(block: _Block, layout: Layout, start: int, *, apart: bool, first: bool) -> list[str]:
    """The rows of an item with the blank lines before it and between the comments that lead to it."""
    rows = block.rows()
    leading = block.lines[0].before
    outside = sum(comment.span.start < start for comment in leading) if layout.knows_places else 0
    blanks = [comment.span.start in layout.blank_before for comment in leading[:outside]]
    blanks.append(start in layout.blank_before)  # before the comments from inside the item, or its first line
    if apart and not any(blanks):
        blanks[0] = True
    if first:
        blanks[0] = False
    result: list[str] = []
    for row, blank in zip(rows, blanks, strict=False):
        result += ["", row] if blank else [row]
    return result + rows[len(blanks) :]


def _lines(item: s.Item) -> list[_Line]:
    """One line for each part of an item, in the order that `tyrex.tesla.comments` numbers them."""
    if isinstance(item, s.EventDeclaration):
        return [_Line(f"event {item.name.text}({_declarations(item.attributes)})")]
    lines = [] if item.name is None else [_Line(f"Rule {item.name.text}")]
    lines.append(_Line(f"define {item.defines.text}({_declarations(item.attributes)})"))
    parts = [_pattern(item.terminator), *map(_pattern, item.conjuncts)]
    for n, part in enumerate(parts):
        text = part if n == len(parts) - 1 else f"{part} and"
        lines.append(_Line(text, _INDENT) if n else _Line(f"from   {text}"))
    for n, assignment in enumerate(item.assignments):
        text = f"{assignment.attribute.text} = {_inside(assignment.value, _SUM)}"
        text = text if n == len(item.assignments) - 1 else f"{text},"
        lines.append(_Line(text, _INDENT, joins=True) if n else _Line(f"where  {text}"))
    if item.consuming:
        lines.append(_Line(f"consuming {', '.join(name.text for name in item.consuming)}"))
    return lines


# --- Patterns --------------------------------------------------------------------------------------------------


def _declarations(attributes: Sequence[s.AttributeDeclaration]) -> str:
    return ", ".join(a.name.text if a.type is None else f"{a.name.text}: {a.type.text}" for a in attributes)


def _pattern(part: s.Terminator | s.Conjunct) -> str:
    match part:
        case s.Terminator(event=event, deadline=deadline):
            after = "" if deadline is None else f"{format_duration(deadline.microseconds)} after "
            return after + _event(event)
        case s.SelectedEvent(selection=selection, event=event, within=within):
            return f"{selection} {_event(event)} {_interval(within)}"
        case s.NegatedEvent(event=event, interval=interval):
            return f"not {_event(event)} {_interval(interval)}"
        case s.TimeConstraint(event=name, within=within):
            return f"{name.text} {_interval(within)}"
        case s.Condition(expression=expression):
            text = _inside(expression, _TEST)
            return f"({text})" if _LIKE_A_SELECTION.match(text) else text


def _event(event: s.EventTerm) -> str:
    arguments = ", ".join(map(format_expression, event.arguments))
    alias = "" if event.alias is None else f" as {event.alias.text}"
    return f"{event.type.text}({arguments}){alias}"


def _interval(interval: s.Interval) -> str:
    if isinstance(interval, s.Within):
        return f"within {format_duration(interval.window.microseconds)} from {interval.anchor.text}"
    return f"between {interval.first.text} and {interval.second.text}"


# --- Expressions -----------------------------------------------------------------------------------------------


def format_expression(expression: s.Expression) -> str:
    """An expression with as few parentheses as its tree needs."""
    return _inside(expression, _OR)


def _inside(expression: s.Expression, binding: int) -> str:
    """The expression as part of something that binds so tightly."""
    text, own = _printed(expression)
    return f"({text})" if own < binding else text


def _printed(expression: s.Expression) -> tuple[str, int]:
    """The text of an expression, and how tightly it binds."""
    match expression:
        case s.Literal(value=value):
            return format_literal(value), _FACTOR
        case s.Duration(microseconds=microseconds):
            return format_duration(microseconds), _FACTOR
        case s.Name(name=name):
            return name, _FACTOR
        case s.AttributeOf(event=of, attribute=attribute):
            return f"{of.text}.{attribute.text}", _FACTOR
        case s.Parameter(name=name):
            return f"${name}", _FACTOR
        case s.Unary(operator="not", operand=s.Membership() as membership):
            return _membership(membership, "not in"), _TEST
        case s.Unary(operator="not", operand=operand):
            return f"not {_inside(operand, _TEST)}", _TEST
        case s.Unary(operand=operand):
            text = _inside(operand, _FACTOR)
            return (f"-({text})" if text.startswith("-") else f"-{text}"), _FACTOR  # `--` begins a comment
        case s.Binary():
            return _binary(expression)
        case s.Comparison(operands=operands, operators=operators):
            parts = [_inside(operands[0], _SUM)]
            for symbol, operand in zip(operators, operands[1:], strict=True):
                parts += [symbol, _inside(operand, _SUM)]
            return " ".join(parts), _TEST
        case s.Membership():
            return _membership(expression, "in"), _TEST
        case s.Call(function=function, arguments=arguments):
            return f"{function.text}({', '.join(map(format_expression, arguments))})", _FACTOR
        case s.Aggregate(function=function, event=event, attribute=chosen, interval=interval):
            what = _event(event) + ("" if chosen is None else f".{chosen.text}")
            behind = "" if interval is None else f" {_interval(interval)}"
            return f"{function.text}({what}){behind}", _FACTOR


def _binary(expression: s.Binary) -> tuple[str, int]:
    """A chain of operators of one strength, from left to right: a loop, since a filter may have thousands."""
    binding = _BINDING[expression.operator]
    parts: list[str] = []
    left: s.Expression = expression
    while isinstance(left, s.Binary) and _BINDING[left.operator] == binding:
        parts += [_inside(left.right, binding + 1), left.operator]
        left = left.left
    parts.append(_inside(left, binding))
    return " ".join(reversed(parts)), binding


def _membership(tree: s.Membership, word: str) -> str:
    options = ", ".join(_inside(option, _SUM) for option in tree.options)
    return f"{_inside(tree.operand, _SUM)} {word} ({options})"


def format_literal(value: int | float | str | bool | None) -> str:
    """A literal as TESLA reads it.

    >>> format_literal('say "no"')
    '\\'say "no"\\''
    """
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            if not math.isfinite(value):
                raise ValueError(f"TESLA has no literal for {value}")
            return repr(value or 0.0).replace("e+", "e")  # `-0.0` would be read as the negation of a literal
        case str():
            quote = "'" if '"' in value and "'" not in value else '"'
            return quote + "".join(_escaped(char, quote) for char in value) + quote


def _escaped(char: str, quote: str) -> str:
    if char == quote:
        return f"\\{quote}"
    if char in _ESCAPES:
        return _ESCAPES[char]
    # What can't be seen, or not be encoded, is written by its number, as far as four digits reach.
    return char if char.isprintable() or ord(char) > 0xFFFF else f"\\u{ord(char):04x}"
