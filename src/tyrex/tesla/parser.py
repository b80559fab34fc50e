"""From text to syntax tree.

A file is cut where a declaration or a rule begins, and each piece is parsed for itself: a syntax error in one
hides nothing in the others, and the cost grows linearly with the file.
"""

from __future__ import annotations

import gc
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import resources
from typing import get_args

from lark import Lark, UnexpectedInput

from tyrex.tesla.builder import BuildError, TreeBuilder
from tyrex.tesla.diagnostics import Diagnostic, TeslaError
from tyrex.tesla.source import Source, Span
from tyrex.tesla.syntax import Comment, Expression, File, Item, Subscription
from tyrex.tesla.syntax_errors import explain_syntax_error

_BOUNDARIES = re.compile(
    r"""
      (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    | (?P<comment>(?:--|//)[^\n]*)
    | (?P<item>
          \brule (?=GAP+[^\W\d]\w*GAP+define\b)
        | \bevent(?=GAP+(?!(?:and|or|not|in)\b)[^\W\d]\w*GAP*\()
        | \bdefine\b
      )
    """.replace("GAP", r"(?:\s|(?:--|//)[^\n]*\n)"),
    re.VERBOSE | re.IGNORECASE,
)
_EXPRESSIONS = get_args(Expression)
_DEEPEST = 150  # what the passes and the runtimes, which recurse, are ready for


def parse_file(source: Source) -> tuple[File, list[Diagnostic]]:
    """The tree of whatever could be read, and a diagnostic for each piece that could not."""
    items: list[Item] = []
    diagnostics: list[Diagnostic] = []
    comments, pieces = _cut(source.text)
    with collection_paused():
        for piece in pieces:
            try:
                items += _parse(source, piece, "file")
            except TeslaError as error:
                diagnostics += error.diagnostics
    return File(tuple(items), tuple(comments)), diagnostics


def parse_subscription_text(source: Source) -> Subscription:
    """The tree of a subscription filter, in either of its two forms."""
    tree: Subscription = _parse(source, Span(0, len(source.text)), "subscription")
    return tree


def _parse(source: Source, piece: Span, start: str):  # type: ignore[no-untyped-def]  # the builder's result
    try:
        with _reading:
            parser, builder = _parser()
            builder.offset = piece.start
            tree = parser.parse(source.text[piece.start : piece.end], start=start)
    except UnexpectedInput as error:
        raise TeslaError([explain_syntax_error(error, source, piece)]) from None
    except BuildError as error:
        raise TeslaError([error.diagnostic(source)]) from None
    if piece.end - piece.start > 2 * _DEEPEST and (deep := _too_deep(tree)) is not None:
        raise TeslaError(
            [
                Diagnostic(
                    "TSL007",
                    "this is nested too deeply",
                    deep,
                    source,
                    expected=f"at most {_DEEPEST} operations inside each other",
                    suggestion="split the expression, or the rule, in two",
                )
            ]
        )
    return tree


def _too_deep(tree: object) -> Span | None:
    """The outermost expression that holds more levels than anything is prepared for."""
    stack: list[tuple[object, int, Span | None]] = [(tree, 0, None)]
    while stack:
        node, depth, outermost = stack.pop()
        if isinstance(node, tuple | list):
            stack += [(part, depth, outermost) for part in node]
        elif isinstance(node, _EXPRESSIONS):
            if depth == _DEEPEST:
                return outermost
            stack += [(getattr(node, f.name), depth + 1, outermost or node.span) for f in fields(node)]
        elif is_dataclass(node) and not isinstance(node, Span):
            stack += [(getattr(node, f.name), depth, outermost) for f in fields(node)]
    return None


def _cut(text: str) -> tuple[list[Comment], list[Span]]:
    """The comments of a text, and its pieces: one for each declaration or rule."""
    comments: list[Comment] = []
    starts: list[int] = []
    rule_head = -1
    for found in _BOUNDARIES.finditer(text):
        start = found.start()
        if found.lastgroup == "comment":
            comments.append(Comment(found[0].rstrip(), Span(start, start + len(found[0].rstrip()))))
        elif found.lastgroup == "item":
            word = found[0].lower()
            if word == "define" and rule_head >= 0:
                rule_head = -1  # the `define` that belongs to the `Rule` line before it
                continue
            rule_head = start if word == "rule" else -1
            starts.append(start)
    blank = not _COMMENT_OR_SPACE.sub("", text[: starts[0]] if starts else text)
    if not blank:
        starts.insert(0, _first_word(text))
    ends = [*starts[1:], len(text)] if starts else []
    return comments, [Span(start, end) for start, end in zip(starts, ends, strict=True)]


_COMMENT_OR_SPACE = re.compile(r"(?:--|//)[^\n]*|\s+")


def _first_word(text: str) -> int:
    position = 0
    while found := _COMMENT_OR_SPACE.match(text, position):
        position = found.end()
    return position


_reading = threading.Lock()  # the one parser has one builder, which knows one offset


@cache
def _parser() -> tuple[Lark, TreeBuilder]:
    builder = TreeBuilder()
    grammar = resources.files("tyrex.tesla").joinpath("tesla.lark").read_text("utf-8")
    parser = Lark(
        grammar,
        parser="lalr",
        lexer="contextual",
        start=["file", "subscription"],
        maybe_placeholders=True,
        transformer=builder,
    )
    return parser, builder


@contextmanager
def collection_paused() -> Iterator[None]:
    """Keep the garbage collector out: trees have no cycles, and scanning them over and over doubles the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
