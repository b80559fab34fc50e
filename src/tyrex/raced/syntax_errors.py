"""Says in words what could not be read as RACED, what could stand there, and what is likely meant."""

from __future__ import annotations

import re

from lark import UnexpectedInput, UnexpectedToken

from tyrex.tesla.diagnostics import Diagnostic, did_you_mean
from tyrex.tesla.source import Source, Span

_WORDS = {
    "ADVERTISE": "`Advertise(..)`",
    "DEFINE_EVENT": "`DefineEvent(..)`",
    "NOT": "`NOT`",
    "NAME": "a name",
    "PARAMETER": "a parameter",
    "NUMBER": "a number",
    "STRING": "a text",
    "COMPARE": "a comparison",
    "DURATION": "a duration such as `5 min`",
    "_AND": "`AND`",
    "WITHIN": "`WITHIN`",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "COMMA": "`,`",
    "COLON": "`:`",
    "$END": "the end",
}
_OPERATIONS = ("DefineEvent", "Advertise")
_ELSEWHERE = re.compile(r"(subscribe|publish)\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")


def explain_syntax_error(error: UnexpectedInput, source: Source, piece: Span) -> Diagnostic:
    """The diagnostic for what the parser could not read in a piece of a source."""
    operation = _ELSEWHERE.match(source.text, piece.start)
    if operation is not None and _follows_parenthesis(source.text, operation.end()):
        return _not_a_rule(operation[0], Span(*operation.span()), source)
    accepted = _accepted(error)
    expected = ", ".join(word for name, word in _WORDS.items() if name in accepted) or None
    span = _place(error, source, piece)
    if span is None:
        text = source.text[piece.start : piece.end].rstrip()
        end = piece.start + len(text)
        return Diagnostic(
            "RCD001",
            "the text ends too early",
            Span(end - 1, end),
            source,
            expected,
            "the end",
            _missing(accepted),
        )
    found = source.text[span.start : span.end]
    return Diagnostic(
        "RCD001",
        f"`{found}` can't stand here",
        span,
        source,
        expected,
        "an unfinished text" if found[0] in "\"'" and not _closed(found) else f"`{found}`",
        _guess(found, accepted, source.text[piece.start : span.start]),
    )


def _not_a_rule(operation: str, span: Span, source: Source) -> Diagnostic:
    return Diagnostic(
        "RCD006",
        f"`{operation}` is no part of a rule file",
        span,
        source,
        "`DefineEvent(..)` or `Advertise(..)`",
        f"`{operation}`",
        "remove it: a rule file defines events, and they are subscribed and published where it runs",
    )


def _follows_parenthesis(text: str, position: int) -> bool:
    return text[position:].lstrip()[:1] == "("


def _accepted(error: UnexpectedInput) -> set[str]:
    if isinstance(error, UnexpectedToken):
        return set(error.accepts or error.expected)
    return set(getattr(error, "allowed", None) or ())


def _place(error: UnexpectedInput, source: Source, piece: Span) -> Span | None:
    """What could not be read; None if it is the end of the piece."""
    if isinstance(error, UnexpectedToken):
        if error.token.type == "$END":
            return None
        start = piece.start + (error.token.start_pos or 0)
        return Span(start, start + len(error.token.value))
    position: int = getattr(error, "pos_in_stream", None) or 0
    start = min(piece.start + max(position, 0), piece.end - 1)
    if source.text[start] in "\"'":  # an open text: it can only be meant to go on to the end of the line
        line_end = source.text.find("\n", start, piece.end)
        return Span(start, start + len(source.text[start : piece.end if line_end < 0 else line_end].rstrip()))
    word = _WORD.match(source.text, start, piece.end)
    return Span(start, word.end() if word else start + 1)


def _closed(text: str) -> bool:
    return len(text) > 1 and text[0] == text[-1]


def _missing(accepted: set[str]) -> str:
    if "DURATION" in accepted:
        return "give the window a length, as in `WITHIN 5 min`"
    if "RSQB" in accepted:
        return "close the bracket with `]`"
    if "RPAR" in accepted:
        return "close the parenthesis with `)`"
    return 'write the rest, as in `DefineEvent(Fire[Temp: $X], Temp[Value = $X] AND Alert[Type = "smoke"])`'


def _guess(found: str, accepted: set[str], before: str) -> str:
    """What was probably meant, from what did not fit and what stands before it."""
    word = found.lower()
    previous = before.rstrip()[-3:].lower()
    if found[0] in "\"'" and not _closed(found):
        return f"close the text with {found[0]} on the same line"
    if found[0] in "“”„‘’":
        return 'use plain quotes: "text"'
    if found == "$":
        return "a parameter is `$` and a name, as in `$X`"
    if word in ("or", "in"):
        return f"RACED has no {word.upper()}: define the event once for each alternative"
    if accepted == {"LPAR"}:
        return f"write `(` before `{found}`"
    if found in ("+", "-", "*", "/", "%") and "COMPARE" in accepted:
        return "RACED has no arithmetic: compare an attribute with a value"
    if "PARAMETER" in accepted and "NAME" not in accepted:
        return "write a parameter or a literal; a filter gives a parameter its value, as in `Value = $X`"
    if word == "within" and before.rstrip().endswith(")"):
        return "move the window inside the parentheses: `DefineEvent(Fire, Temp AND Alert WITHIN 5 min)`"
    if found == "(" and previous == "not":
        return "`NOT` stands before a single filter: `NOT A[..] AND NOT B[..]`"
    if found == "(" and {"LSQB", "RPAR"} & accepted:
        return "parentheses are TESLA; RACED writes `Temp[Value > 30]`"
    if found == "(":
        return "RACED groups nothing: a pattern is a single conjunction"
    if found == ":" and "COMPARE" in accepted:
        return "a filter compares, as in `Value = 20`; `:` gives the attributes of an event"
    if "COLON" in accepted:
        return "give each attribute after a `:`, as in `Temp: $X` or, in `Advertise`, `Value: float`"
    if "DURATION" in accepted:
        return "write a number and a unit, as in `5 min`"
    if "DEFINE_EVENT" in accepted:
        if before:
            return "begin the next definition with `DefineEvent(`, or remove this"
        name = "give the pattern a name: `DefineEvent(Name, ..)`"
        return did_you_mean(found, _OPERATIONS) or name
    if "NAME" in accepted and "NOT" in accepted:
        return "write a filter, as in `Temp[Value > 30]`"
    return f"remove `{found}`"
