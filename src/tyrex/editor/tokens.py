"""The words of a text, whatever state it is in: nothing is ever rejected here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from tyrex.tesla.source import Span


class TokenKind(StrEnum):
    """What a stretch of text is, seen for itself."""

    COMMENT = "comment"
    STRING = "string"
    KTH = "kth"
    DURATION = "duration"
    NUMBER = "number"
    PARAMETER = "parameter"
    WORD = "word"
    SYMBOL = "symbol"


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a literal or a symbol, and where it stands."""

    kind: TokenKind
    text: str
    span: Span

    @property
    def lower(self) -> str:
        """The text as a keyword is compared."""
        return self.text.lower()

    def is_word(self, *words: str) -> bool:
        """Whether it is one of these keywords."""
        return self.kind is TokenKind.WORD and self.lower in words

    def is_symbol(self, *symbols: str) -> bool:
        """Whether it is one of these symbols."""
        return self.kind is TokenKind.SYMBOL and self.text in symbols


_PATTERN = re.compile(
    r"""
      (?P<comment>(?:--|//)[^\n]*)
    | (?P<string>"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)
    | (?P<kth>\d+\s*-\s*(?:first|last)\b)
    | (?P<duration>\d+(?:\.\d+)?\s*(?:us|ms|seconds?|secs?|s|minutes?|mins?|hours?|h|days?|weeks?)\b\.?)
    | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    | (?P<parameter>\$(?:[^\W\d]\w*)?)
    | (?P<word>[^\W\d]\w*)
    | (?P<symbol>==|!=|<>|<=|>=|\S)
    """,
    re.VERBOSE | re.IGNORECASE,
)


def tokenize(text: str) -> tuple[Token, ...]:
    """Every token of a text, comments too; an open string ends with its line."""
    return tuple(
        Token(TokenKind(found.lastgroup or "symbol"), found[0], Span(*found.span()))
        for found in _PATTERN.finditer(text)
    )


def cut(tokens: tuple[Token, ...]) -> list[tuple[Token, ...]]:
    """The tokens of each declaration or rule; what stands before the first one is a piece of its own.

    Comments belong to no piece.
    """
    tokens = tuple(token for token in tokens if token.kind is not TokenKind.COMMENT)
    starts = [0]
    for i, token in enumerate(tokens):
        if token.is_word("define"):
            if not (i >= 2 and tokens[i - 2].is_word("rule") and tokens[i - 1].kind is TokenKind.WORD):
                starts.append(i)
        elif (token.is_word("rule") and _followed(tokens, i, "define")) or (
            token.is_word("event") and _followed(tokens, i, "(")
        ):
            starts.append(i)
    ends = [*starts[1:], len(tokens)]
    return [tokens[start:end] for start, end in zip(starts, ends, strict=True) if start < end]


def _followed(tokens: tuple[Token, ...], i: int, third: str) -> bool:
    """Whether a name comes next, and then this."""
    return i + 2 < len(tokens) and tokens[i + 1].kind is TokenKind.WORD and (tokens[i + 2].lower == third)
