"""A Pygments lexer, for documentation, notebooks and terminals."""

from __future__ import annotations

from typing import Any, ClassVar

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Text,
    Whitespace,
    _TokenType,
)

from tyrex.tesla.aggregates import AGGREGATES
from tyrex.tesla.functions import FUNCTIONS
from tyrex.tesla.types import TIMER, TYPE_WORDS, WEEKDAYS


def _groups(*kinds: _TokenType) -> Any:
    return bygroups(*kinds)  # type: ignore[no-untyped-call]


_NAME = r"[^\W\d]\w*"
_UNIT = r"(?:us|ms|seconds?|secs?|s|minutes?|mins?|hours?|h|days?|weeks?)\b\.?"
_CALL = r"\b(?=\s*\()"


class TeslaLexer(RegexLexer):
    """TESLA rules and event declarations."""

    name = "TESLA"
    aliases: ClassVar = ["tesla"]
    filenames: ClassVar = ["*.tesla"]
    mimetypes: ClassVar = ["text/x-tesla"]
    url = "https://doi.org/10.1145/1827418.1827427"
    version_added = ""

    tokens: ClassVar = {
        "root": [
            (r"\s+", Whitespace),
            (r"(?:--|//)[^\n]*", Comment.Single),
            (r'"(?:[^"\\\n]|\\.)*"', String.Double),
            (r"'(?:[^'\\\n]|\\.)*'", String.Single),
            (rf"\${_NAME}", Name.Variable),
            # What a declaration, a rule or a policy names.
            (rf"(?i)(event)(\s+)({_NAME})(?=\s*\()", _groups(Keyword.Declaration, Whitespace, Name.Class)),
            (
                rf"(?i)(rule)(\s+)({_NAME})(?=\s+define\b)",
                _groups(Keyword.Declaration, Whitespace, Name.Label),
            ),
            (rf"(?i)(define)(\s+)({_NAME})", _groups(Keyword.Declaration, Whitespace, Name.Class)),
            (r"(?i)\d+\s*-\s*(?:first|last)\b", Keyword.Pseudo),
            (r"(?i)each\b|(?:first|last)\b(?!\s*\()", Keyword.Pseudo),
            (rf"(?i)\d+(?:\.\d+)?\s*{_UNIT}", Number.Duration),
            (r"\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+", Number.Float),
            (r"\d+", Number.Integer),
            (rf"(?i)(?:{'|'.join(sorted(AGGREGATES, key=len, reverse=True))}){_CALL}", Name.Builtin),
            (words(tuple(FUNCTIONS), suffix=_CALL), Name.Function),
            (r"(?i)(as)(\s+)(" + _NAME + ")", _groups(Keyword, Whitespace, Name.Entity)),
            (r"(?i)(?:define|from|where|consuming|after|within|between|as)\b", Keyword),
            (r"(?i)(?:and|or|not|in)\b", Operator.Word),
            (r"(?i)(?:true|false|null)\b", Keyword.Constant),
            (rf"(?i)(:)(\s*)({'|'.join(TYPE_WORDS)})\b", _groups(Punctuation, Whitespace, Keyword.Type)),
            (rf"{TIMER.name}\b", Name.Builtin.Pseudo),
            (words(WEEKDAYS, suffix=r"\b"), Name.Constant),
            (rf"(\.)(\s*)({_NAME})", _groups(Punctuation, Whitespace, Name.Attribute)),
            # A name before a parenthesis is an event type, before a comparison an attribute.
            (rf"{_NAME}(?=\s*\()", Name.Class),
            (rf"{_NAME}(?=\s*(?:[=<>≤≥≠:%*/+]|!=))", Name.Attribute),
            (_NAME, Name),
            (r"==|!=|<>|<=|>=|[=<>≤≥≠+\-*/%]", Operator),
            (r"[(),:.]", Punctuation),
            (r"[\"'$]", Text),  # of a text that is still being written
        ],
    }
