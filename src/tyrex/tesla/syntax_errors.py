"""Says in words what the parser could not read, what it would have taken, and what is likely meant."""

from __future__ import annotations

import re

from lark import Token, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from tyrex.tesla.diagnostics import Diagnostic, did_you_mean
from tyrex.tesla.source import Source, Span

_WORDS = {
    "DEFINE": "`define`",
    "EVENT": "`event`",
    "RULE": "`Rule`",
    "FROM": "`from`",
    "WHERE": "`where`",
    "CONSUMING": "`consuming`",
    "AFTER": "`after`",
    "WITHIN": "`within`",
    "BETWEEN": "`between`",
    "AS": "`as`",
    "_AND": "`and`",
    "_OR": "`or`",
    "NOT": "`not`",
    "IN": "`in`",
    "DURATION": "a duration such as `5 min`",
    "NAME": "a name",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "COMMA": "`,`",
    "COLON": "`:`",
    "DOT": "`.`",
    "EQUALS": "`=`",
    "$END": "the end",
}
_GROUPS = (
    ({"EACH", "FIRST", "LAST", "KTH"}, "`each`, `first` or `last`"),
    (
        {
            "NUMBER",
            "STRING",
            "TRUE",
            "FALSE",
            "NULL",
            "PARAMETER",
            "FUNCTION",
            "AGGREGATE",
            "MINUS",
            "DURATION",
        },
        "a value",
    ),
    ({"COMPARE", "EQUALS"}, "a comparison"),
    ({"PLUS", "MINUS", "TIMES", "DIVIDE", "MODULO"}, "an operator"),
)
_FUNCTIONS = (
    "abs floor ceil round sqrt pow least greatest lower upper length concat coalesce if "
    "Avg Sum Min Max Count StdDev Var First Last CountDistinct"
).split()
_KEYWORDS = "define from where consuming within between each first last and or not as event Rule".split()
_WORD = re.compile(r"\w+")


def explain_syntax_error(error: UnexpectedInput, source: Source, piece: Span) -> Diagnostic:
    """The diagnostic for what the parser could not read in a piece of a source."""
    if isinstance(error, UnexpectedCharacters):
        return _unreadable(error, source, piece)
    token = error.token if isinstance(error, UnexpectedToken) else None
    if token is None or token.type == "$END":
        return _unfinished(error, source, piece)
    return _unexpected(error, token, source, piece)


def _accepted(error: UnexpectedInput) -> set[str]:
    if isinstance(error, UnexpectedToken):
        return set(error.accepts or error.expected)
    return set(getattr(error, "allowed", None) or ())


def _expected(accepted: set[str]) -> str:
    rest = set(accepted)
    words: list[str] = []
    for group, word in _GROUPS:
        if len(group & rest) > 1:
            words.append(word)
            rest -= group
    words += [_WORDS[name] for name in _WORDS if name in rest]
    return ", ".join(words[:6]) + (" or others" if len(words) > 6 else "")


def _unreadable(error: UnexpectedCharacters, source: Source, piece: Span) -> Diagnostic:
    position: int = getattr(error, "pos_in_stream", 0)  # Lark's annotation says it is always None
    start = min(piece.start + position, piece.end - 1)
    char = source.text[start]
    word = _WORD.match(source.text, start)
    span = Span(start, word.end() if word else start + 1)
    suggestion = f"remove `{char}`"
    if char in "\"'":
        end = source.text.find("\n", start)
        span = Span(start, end if end >= 0 else len(source.text))
        suggestion = f"close the text with {char} on the same line"
    elif char in "“”„‘’":
        suggestion = 'use plain quotes: "text"'
    elif char == "$":
        suggestion = "a parameter is `$` and a name, as in `$area`"
    elif char == "[":
        suggestion = "square brackets are RACED; TESLA writes `Temp(value > 30)`"
    elif word:
        near = did_you_mean(word[0], _KEYWORDS)
        suggestion = near or f"`{word[0]}` can't stand here"
    found = "an unfinished text" if char in "\"'" else f"`{source.text[span.start : span.end]}`"
    return Diagnostic(
        "TSL002",
        "this can't be read here",
        span,
        source,
        _expected(_accepted(error)) or None,
        found,
        suggestion,
    )


def _unfinished(error: UnexpectedInput, source: Source, piece: Span) -> Diagnostic:
    text = source.text[piece.start : piece.end].rstrip()
    end = piece.start + len(text)
    accepted = _accepted(error)
    opened = text.count("(") - text.count(")")
    suggestion = "write the rest of the rule"
    if opened > 0 and "RPAR" in accepted:
        suggestion = "close the parenthesis with `)`"
    elif "FROM" in accepted:
        suggestion = "say what it is made `from`"
    elif "WITHIN" in accepted:
        suggestion = "give the event a window, as in `within 5 min from X`"
    elif {"EACH", "LAST"} <= accepted:
        suggestion = "write what follows `and`, or remove it"
    return Diagnostic(
        "TSL003",
        "the rule ends too early",
        Span(max(end - 1, piece.start), max(end, piece.start + 1)),
        source,
        _expected(accepted) or None,
        "the end",
        suggestion,
    )


def _unexpected(error: UnexpectedInput, token: Token, source: Source, piece: Span) -> Diagnostic:
    start = piece.start + (token.start_pos or 0)
    end = start + len(token.value)
    accepted = _accepted(error)
    before = source.text[:start].rstrip()
    previous = _WORD.search(before[::-1])
    word = previous[0][::-1] if previous and previous.start() == 0 else ""
    return Diagnostic(
        "TSL001",
        f"`{token.value}` can't stand here",
        Span(start, max(end, start + 1)),
        source,
        _expected(accepted) or None,
        f"`{token.value}`",
        _guess(token, accepted, word),
    )


def _guess(token: Token, accepted: set[str], previous: str) -> str | None:
    """What was probably meant, from the token that did not fit and the word before it."""
    if token.type == "LPAR" and previous:
        near = did_you_mean(previous, _FUNCTIONS)
        selection = f"choose one: `each {previous}(..) within 5 min from ..`, with `last` or `first` instead of `each`"
        return near or selection
    if token.type == "_OR":
        return "put alternatives in parentheses: `(x > 1 or y > 2)`"
    if token.type == "NAME":
        words = {_WORDS[name].strip("`") for name in accepted if name in _WORDS} | (
            {"each", "first", "last"} if "EACH" in accepted else set()
        )
        near = did_you_mean(token.value, words & set(_KEYWORDS))
        if near:
            return near
    if "WITHIN" in accepted:
        return "give the event a window, as in `within 5 min from X`"
    if "FROM" in accepted and "LPAR" not in accepted:
        return "say what it is made `from`"
    if "RPAR" in accepted and token.type in ("WITHIN", "FROM", "WHERE", "AS", "CONSUMING"):
        return "close the parenthesis with `)`"
    if accepted <= {"DURATION"}:
        return "write a number and a unit, as in `5 min`"
    if len(accepted) == 1:
        return f"write {_WORDS.get(next(iter(accepted)), 'something else')} here"
    return f"remove `{token.value}`"
