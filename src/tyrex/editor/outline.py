"""What a document says, as far as it can be understood while it is being written.

The pieces that parse are checked by the compiler's own passes, which know every type; the words of all
pieces, broken ones too, are read by `scan`.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from tyrex.editor.scan import Clause, EventUse, Mark, MarkKind, Scan, scan
from tyrex.editor.tokens import Token, TokenKind, cut, tokenize
from tyrex.tesla.checks import run_passes
from tyrex.tesla.checks.context import Context
from tyrex.tesla.parser import parse_file
from tyrex.tesla.source import Source, Span
from tyrex.tesla.types import TIMER, TIMESTAMP, TYPE_WORDS, Origin, ValueType

_log = logging.getLogger(__name__)


@dataclass
class KnownType:
    """An event type of the document, and where it is declared, defined or first used."""

    name: str
    origin: Origin
    attributes: dict[str, ValueType | None] = field(default_factory=dict)
    span: Span | None = None
    attribute_spans: dict[str, Span] = field(default_factory=dict)

    def __str__(self) -> str:
        words = (name if type_ is None else f"{name}: {type_}" for name, type_ in self.attributes.items())
        return f"{self.name}({', '.join(words)})"

    def type_of(self, attribute: str) -> ValueType | None:
        """The type of an attribute, `timestamp` too, if it is known."""
        return ValueType.INT if attribute == TIMESTAMP else self.attributes.get(attribute)


@dataclass(frozen=True)
class Binding:
    """Where a parameter gets its value: its place, and what it is equal to there, as written."""

    span: Span
    value: str


@dataclass(frozen=True)
class Piece:
    """A declaration or a rule, whole or not."""

    tokens: tuple[Token, ...]
    scan: Scan

    @property
    def span(self) -> Span:
        """From its first word to its last."""
        return self.tokens[0].span.to(self.tokens[-1].span)

    @property
    def is_rule(self) -> bool:
        """Whether it is a rule, or the beginning of one."""
        return self.scan.clause not in (Clause.START, Clause.DECLARATION)

    @property
    def head(self) -> Mark | None:
        """The name of the type it declares or defines."""
        return next((mark for mark in self.scan.marks if mark.kind is MarkKind.TYPE_HEAD), None)

    def event(self, name: str) -> EventUse | None:
        """The event of that name: an alias, else a type."""
        named = self.scan.named
        return next((e for e in named if e.alias == name), None) or next(
            (e for e in named if e.type == name), None
        )

    @cached_property
    def parameters(self) -> dict[str, Binding]:
        """The parameters, each with the place that binds it: its first equation, else its first use."""
        found: dict[str, Binding] = {}
        first: dict[str, Binding] = {}
        owners = {mark.token: mark for mark in self.scan.marks}
        for i, token in enumerate(self.tokens):
            if token.kind is not TokenKind.PARAMETER or len(token.text) == 1 or token.text in found:
                continue
            first.setdefault(token.text, Binding(token.span, ""))
            value = self._equal_to(i, owners)
            if value and not _behind_where(self.tokens, i):
                found[token.text] = Binding(token.span, value)
        return {name: found.get(name, binding) for name, binding in first.items()}

    def _equal_to(self, i: int, owners: dict[Token, Mark]) -> str:
        """What the parameter at a place is compared with by `=`, or stands for by its position."""
        tokens = self.tokens
        left = tokens[i - 1] if i else None
        right = tokens[i + 1] if i + 1 < len(tokens) else None
        if right is not None and right.is_symbol("=", "==") and i + 2 < len(tokens):
            return _written(tokens, i + 2, owners)
        if left is not None and left.is_symbol("=", "==") and i >= 2:
            return _written(tokens, i - 2, owners, backwards=True)
        if left is not None and left.is_symbol("(", ",") and right is not None and right.is_symbol(")", ","):
            return "the attribute at this place"
        return ""


def _behind_where(tokens: tuple[Token, ...], i: int) -> bool:
    """Whether the place is behind `where`, where nothing is bound."""
    return any(token.is_word("where") for token in tokens[:i])


def _written(tokens: tuple[Token, ...], i: int, owners: dict[Token, Mark], *, backwards: bool = False) -> str:
    token = tokens[i]
    mark = owners.get(token)
    if mark is None:
        return ""
    if mark.kind is MarkKind.ATTRIBUTE:
        return f"{mark.through or mark.owner}.{token.text}"
    if backwards:
        return ""
    if mark.kind is MarkKind.AGGREGATE:
        return f"{token.text}(..)"
    if mark.kind is MarkKind.EVENT and i + 2 < len(tokens) and tokens[i + 1].is_symbol("."):
        return f"{token.text}.{tokens[i + 2].text}"
    return ""


@dataclass(frozen=True)
class Outline:
    """A document: its tokens, its pieces, and the event types it knows."""

    text: str
    tokens: tuple[Token, ...]
    pieces: tuple[Piece, ...]
    types: dict[str, KnownType]

    def piece_at(self, offset: int) -> Piece | None:
        """The piece around an offset: the last one that begins before it."""
        return next((p for p in reversed(self.pieces) if p.span.start <= offset), None)

    def mark_at(self, offset: int) -> tuple[Piece, Mark] | None:
        """What the word at an offset stands for."""
        for piece in self.pieces:
            if piece.span.start <= offset <= piece.span.end:
                for mark in piece.scan.marks:
                    if mark.span.start <= offset <= mark.span.end:
                        return piece, mark
        return None

    def owner_of(self, piece: Piece, mark: Mark) -> KnownType | None:
        """The event type that an attribute belongs to."""
        if not mark.through:
            return self.types.get(mark.owner)
        event = piece.event(mark.through)
        return self.types.get(event.type if event is not None else mark.through)


@lru_cache(maxsize=16)
def understand(text: str) -> Outline:
    """What a document says."""
    tokens = tokenize(text)
    pieces = tuple(Piece(piece, scan(piece)) for piece in cut(tokens))
    types = _checked_types(text)
    for piece in pieces:
        _learn_head(types, piece)
    for piece in pieces:
        _learn_uses(types, piece)
    return Outline(text, tokens, pieces, types)


def _checked_types(text: str) -> dict[str, KnownType]:
    """The types as the compiler's passes know them, from the pieces that parse."""
    types = {TIMER.name: KnownType(TIMER.name, TIMER.origin, {a.name: a.type for a in TIMER.attributes})}
    try:
        source = Source(text)
        file, _ = parse_file(source)
        context = Context([(source, file)])
        run_passes(context)
    except Exception:  # an editor goes on with what the words alone tell
        _log.exception("the checks failed")
        return types
    for draft in context.types.values():
        types[draft.name] = KnownType(
            draft.name,
            draft.origin,
            {
                name: None if slot.open else next(iter(slot.allowed))
                for name, slot in draft.attributes.items()
            },
        )
    return types


def _learn_head(types: dict[str, KnownType], piece: Piece) -> None:
    """Where a type is declared, else defined, and the attributes of a head that does not parse."""
    head = piece.head
    if head is None or head.token.text == TIMER.name:
        return
    origin = Origin.DEFINED if piece.is_rule else Origin.DECLARED
    known = types.setdefault(head.token.text, KnownType(head.token.text, origin))
    if known.span is not None and not (origin is Origin.DECLARED and known.origin is not Origin.DECLARED):
        return
    known.span, known.origin = head.span, origin
    known.attribute_spans = {}
    attribute = ""
    for mark in piece.scan.marks:
        if mark.kind is MarkKind.ATTRIBUTE_HEAD:
            attribute = mark.token.text
            known.attributes.setdefault(attribute, None)
            known.attribute_spans.setdefault(attribute, mark.span)
        elif mark.kind is MarkKind.VALUE_TYPE and attribute and known.attributes.get(attribute) is None:
            known.attributes[attribute] = TYPE_WORDS.get(mark.token.lower)


def _learn_uses(types: dict[str, KnownType], piece: Piece) -> None:
    """Types and attributes that are only used: where nothing is declared, using them makes them known."""
    closed = any(t.origin is Origin.DECLARED for t in types.values())
    for mark in piece.scan.marks:
        if mark.kind is MarkKind.TYPE and not closed:
            known = types.setdefault(mark.token.text, KnownType(mark.token.text, Origin.INFERRED))
            known.span = known.span or (mark.span if known.origin is Origin.INFERRED else None)
        elif mark.kind is MarkKind.ATTRIBUTE:
            event = piece.event(mark.through) if mark.through else None
            owner = types.get(event.type if event is not None else mark.owner)
            if owner is not None and owner.origin is Origin.INFERRED and mark.token.text != TIMESTAMP:
                owner.attributes.setdefault(mark.token.text, None)
                owner.attribute_spans.setdefault(mark.token.text, mark.span)
