"""From RACED text to its syntax tree, one definition at a time so that one error hides no other."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

from lark import Lark, UnexpectedInput
from lark.exceptions import VisitError

from tyrex.raced.builder import RacedBuilder, as_raced
from tyrex.raced.syntax import Item, RacedFile
from tyrex.raced.syntax_errors import explain_syntax_error
from tyrex.tesla.builder import BuildError
from tyrex.tesla.diagnostics import Diagnostic
from tyrex.tesla.source import Source, Span
from tyrex.tesla.syntax import Comment

_BOUNDARIES = re.compile(
    r"""
      (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    | (?P<comment>(?:--|//)[^\n]*)
    | \b(?P<item>DefineEvent|Advertise|Subscribe|Publish)(?=(?:\s|(?:--|//)[^\n]*\n)*\()
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NO_CODE = re.compile(r"(?:(?:--|//)[^\n]*|\s+)*")


def parse_raced(source: Source) -> tuple[RacedFile, list[Diagnostic]]:
    """The tree of whatever could be read, and a diagnostic for each piece that could not."""
    items: list[Item] = []
    diagnostics: list[Diagnostic] = []
    comments, pieces = _cut(source.text)
    for piece in pieces:
        try:
            tree = _parser().parse(source.text[piece.start : piece.end])
            items += RacedBuilder(piece.start).transform(tree)
        except UnexpectedInput as error:
            diagnostics.append(explain_syntax_error(error, source, piece))
        except VisitError as error:
            if not isinstance(error.orig_exc, BuildError):
                raise
            diagnostics.append(as_raced(error.orig_exc).diagnostic(source))
    return RacedFile(tuple(items), tuple(comments)), diagnostics


def _cut(text: str) -> tuple[list[Comment], list[Span]]:
    """The comments of a text, and its pieces: one for each operation."""
    comments: list[Comment] = []
    starts: list[int] = []
    for found in _BOUNDARIES.finditer(text):
        if found.lastgroup == "comment":
            words = found[0].rstrip()
            comments.append(Comment(words, Span(found.start(), found.start() + len(words))))
        elif found.lastgroup == "item":
            starts.append(found.start())
    head = _NO_CODE.match(text)
    first = head.end() if head else 0
    if first < (starts[0] if starts else len(text)):
        starts.insert(0, first)
    ends = [*starts[1:], len(text)] if starts else []
    return comments, [Span(start, end) for start, end in zip(starts, ends, strict=True)]


@cache
def _parser() -> Lark:
    grammar = resources.files("tyrex.raced").joinpath("raced.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", lexer="contextual", start="file", maybe_placeholders=True)
