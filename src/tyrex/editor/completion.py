"""What can be written next."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from tyrex.editor import meanings
from tyrex.editor.outline import KnownType, Outline, Piece, understand
from tyrex.editor.scan import Clause, EventUse, MarkKind, Role, Scan
from tyrex.editor.tokens import Token, TokenKind
from tyrex.tesla.aggregates import AGGREGATES
from tyrex.tesla.functions import FUNCTIONS
from tyrex.tesla.source import Span
from tyrex.tesla.types import TIMER, TIMESTAMP, TYPE_WORDS, WEEKDAYS, Origin, ValueType


class CompletionKind(StrEnum):
    """What a proposal is."""

    TYPE = "type"
    EVENT = "event"
    ATTRIBUTE = "attribute"
    PARAMETER = "parameter"
    KEYWORD = "keyword"
    POLICY = "policy"
    FUNCTION = "function"
    AGGREGATE = "aggregate"
    VALUE_TYPE = "value type"
    VALUE = "value"
    UNIT = "unit"


@dataclass(frozen=True)
class Completion:
    """A proposal: `insert_text` takes the place of `span`, what was typed of it already."""

    label: str
    kind: CompletionKind
    detail: str
    insert_text: str
    span: Span


@dataclass(frozen=True)
class _Proposal:
    label: str
    kind: CompletionKind
    detail: str = ""
    insert: str = ""


_WORD_BEFORE = re.compile(r"\$?[^\W\d]\w*\Z|\$\Z")
_WORD_BEHIND = re.compile(r"\w*")
_OPERATORS = ("=", "==", "!=", "<>", "<", "<=", ">", ">=", "≤", "≥", "≠", "+", "-", "*", "/", "%")
_ITEMS = ("event", "define", "rule")


def complete(text: str, offset: int) -> list[Completion]:
    """The proposals at an offset, the likeliest first, that go on with what is typed."""
    offset = max(0, min(offset, len(text)))
    found = _WORD_BEFORE.search(text[:offset])
    typed = found[0] if found is not None else ""
    span = Span(offset - len(typed), offset)
    outline = understand(_without_word(text, span))
    if _in_comment_or_string(outline, span.start):
        return []
    piece, state = _state(outline, span.start)
    completions: dict[str, Completion] = {}
    for p in _proposals(outline, piece, state, typed):
        if p.label.lower().startswith(typed.lower()) and p.label not in completions:
            completions[p.label] = Completion(p.label, p.kind, p.detail, p.insert or p.label, span)
    return list(completions.values())


def _without_word(text: str, typed: Span) -> str:
    """The text with blanks for the word at the cursor: half a name is not one that is known."""
    rest = _WORD_BEHIND.match(text, typed.end) if typed.start < typed.end else None
    end = rest.end() if rest is not None else typed.end
    return text[: typed.start] + " " * (end - typed.start) + text[end:]


def _in_comment_or_string(outline: Outline, offset: int) -> bool:
    for token in outline.tokens:
        if token.span.start < offset <= token.span.end:
            if token.kind is TokenKind.COMMENT:
                return True
            if token.kind is TokenKind.STRING:
                is_closed = len(token.text) > 1 and token.text[-1] == token.text[0]
                return offset < token.span.end or not is_closed
    return False


def _state(outline: Outline, offset: int) -> tuple[Piece | None, Scan]:
    """The piece around an offset, and the state behind the tokens that end before it."""
    piece = outline.piece_at(max(offset - 1, 0))
    state = Scan()
    if piece is None or piece.span.start >= offset:
        return None, state
    before = [token for token in piece.tokens if token.span.end <= offset]
    for i, token in enumerate(before):
        state.feed(token, piece.tokens[i + 1] if i + 1 < len(piece.tokens) else None)
    return piece, state


def _proposals(outline: Outline, piece: Piece | None, state: Scan, typed: str) -> Iterator[_Proposal]:
    if typed.startswith("$"):
        yield from _parameters(piece)
    elif piece is None or state.before is None:
        yield from _keywords(*_ITEMS)
    elif state.before.is_symbol("."):
        yield from _attributes_behind_dot(outline, piece, state)
    elif state.before.kind is TokenKind.NUMBER and state.before_that is not None:
        yield from _behind_number(outline, piece, state)
    elif state.clause in (Clause.START, Clause.DECLARATION, Clause.HEAD):
        yield from _in_head(outline, state, state.before)
    elif state.stack:
        yield from _in_parentheses(outline, piece, state, state.before)
    elif (interval := _in_interval(piece, state)) is not None:
        yield from interval
    elif state.clause is Clause.FROM:
        yield from _in_from(outline, piece, state, state.before)
    elif state.clause is Clause.WHERE:
        yield from _in_where(outline, piece, state, state.before)
    else:
        yield from _in_consuming(piece, state.before)


# --- The places -------------------------------------------------------------------------------------------


def _in_head(outline: Outline, state: Scan, before: Token) -> Iterator[_Proposal]:
    if before.is_symbol(":"):
        for word, value_type in TYPE_WORDS.items():
            if word == value_type.value:
                yield _Proposal(word, CompletionKind.VALUE_TYPE, meanings.VALUE_TYPES[value_type])
    elif state.stack or before.is_word("event", "rule"):
        return
    elif before.is_word("define") and not state.head:
        yield from (_type_proposal(t) for t in outline.types.values() if t.origin is Origin.DEFINED)
    elif state.clause is Clause.HEAD:
        yield from _keywords("from")
    elif state.rule_name:
        yield from _keywords("define")
    else:
        yield from _keywords(*_ITEMS)


def _in_interval(piece: Piece, state: Scan) -> Iterator[_Proposal] | None:
    """What goes on with `within w from X` or `between X and Y`, if the place is in one."""
    interval = state.stack[-1].interval if state.stack else state.interval
    match interval:
        case "within":
            return iter(())
        case "duration":
            return _keywords("from")
        case "from" | "between" | "and":
            return _anchors(piece, state)
        case "first":
            return _keywords("and")
        case _:
            return None


def _anchors(piece: Piece, state: Scan) -> Iterator[_Proposal]:
    """The events an interval can speak of: a chosen event has its window from one declared earlier."""
    chosen = state.current if not state.stack else None
    if chosen is not None and chosen.role is Role.SELECTED:
        return _names([event for event in state.named if event is not chosen])
    return _names(piece.scan.named)


def _in_from(outline: Outline, piece: Piece, state: Scan, before: Token) -> Iterator[_Proposal]:
    if before.is_word("as"):
        return
    if before.kind is TokenKind.DURATION and state.current is None and state.conjunct == Role.TERMINATOR:
        yield from _keywords("after")
    elif state.current is None and state.conjunct in (Role.TERMINATOR, Role.SELECTED, Role.NEGATED):
        yield from _types(outline, timer=state.conjunct == Role.TERMINATOR)
    elif before.is_word("and") and not state.conjunct:
        yield from _policies()
        yield from _keywords("not")
        yield from _values(piece)
    elif state.current is not None and state.interval != "done":
        yield from _behind_event(state, state.current)
    elif _wants_value(before):
        yield from _values(piece)
    else:
        yield from _behind_value(state, "and", "where", "consuming", *_ITEMS)


def _behind_event(state: Scan, event: EventUse) -> Iterator[_Proposal]:
    if event.role is Role.NEGATED:
        yield from _keywords("within", "between")
        return
    if event.alias is None:
        yield from _keywords("as")
    yield from _keywords(*(("within",) if event.role is Role.SELECTED else ("and", "where", "consuming")))


def _in_parentheses(outline: Outline, piece: Piece, state: Scan, before: Token) -> Iterator[_Proposal]:
    inner, frame = state.stack[-1], state.frame
    if inner.kind == "aggregate":
        if inner.event is None:
            yield from _types(outline)
        elif (interval := _in_interval(piece, state)) is not None:
            yield from interval
        elif not inner.interval:
            yield from _keywords("within", "between")
        return
    inside = frame.event if frame is not None and frame.kind == "event" else None
    if not _wants_value(before):
        yield from _behind_value(state, "and", "or")
        return
    if inside is not None:
        if inside.type == TIMER.name and before.is_symbol("=", "==", "!="):
            yield from (_Proposal(day, CompletionKind.VALUE, "a day of the week") for day in WEEKDAYS)
        yield from _attributes(outline.types.get(inside.type))
    yield from _values(piece, inside)
    if not before.is_symbol(*_OPERATORS):
        yield from _keywords("not")


def _in_where(outline: Outline, piece: Piece, state: Scan, before: Token) -> Iterator[_Proposal]:
    if before.is_word("where", "and") or before.is_symbol(","):
        given = {
            m.token.text for m in piece.scan.marks if m.kind is MarkKind.ATTRIBUTE and m.owner == state.head
        }
        known = outline.types.get(state.head)
        yield from (p for p in _attributes(known, timestamp=False) if p.label not in given)
        yield from (p for p in _attributes(known, timestamp=False) if p.label in given)
    elif _wants_value(before):
        yield from _values(piece)
    else:
        target = state.marks[-1] if state.marks else None
        if target is not None and target.owner == state.head and target.token is before:
            return  # an attribute that waits for its `=`
        yield from _behind_value(state, "and", "consuming", *_ITEMS)


def _in_consuming(piece: Piece, before: Token) -> Iterator[_Proposal]:
    if before.is_word("consuming", "and") or before.is_symbol(","):
        yield from _names(piece.scan.named)
    else:
        yield from _keywords("and", *_ITEMS)


def _behind_number(outline: Outline, piece: Piece, state: Scan) -> Iterator[_Proposal]:
    """A duration's unit, where a duration stands; else what stands behind a value."""
    interval = state.stack[-1].interval if state.stack else state.interval
    begins = state.clause is Clause.FROM and state.conjunct == Role.TERMINATOR and state.current is None
    if interval == "within" or begins:
        yield from (_Proposal(unit, CompletionKind.UNIT, meaning) for unit, meaning in meanings.UNITS.items())
    elif state.stack:
        yield from _in_parentheses(outline, piece, state, state.before or piece.tokens[0])
    elif state.clause in (Clause.FROM, Clause.WHERE):
        yield from _behind_value(
            state, "and", "consuming", *(["where"] if state.clause is Clause.FROM else [])
        )


def _behind_value(state: Scan, *words: str) -> Iterator[_Proposal]:
    """The keywords behind a value; behind an aggregate its interval first."""
    if state.closed is not None and state.closed.kind == "aggregate" and not state.closed.interval:
        yield from _keywords("within", "between")
    yield from _keywords(*words)
    before = state.before
    is_operand = before is not None and before.kind in (TokenKind.WORD, TokenKind.PARAMETER)
    if state.clause is Clause.FROM and state.interval != "done" and is_operand:
        yield from _keywords("in", "not", *(() if state.stack else ("within",)))


def _wants_value(before: Token) -> bool:
    return before.is_symbol("(", ",", *_OPERATORS) or before.is_word("and", "or", "not", "in", "where")


# --- What can stand there ---------------------------------------------------------------------------------


def _keywords(*words: str) -> Iterator[_Proposal]:
    for word in words:
        yield _Proposal(word, CompletionKind.KEYWORD, meanings.KEYWORDS[word])


def _policies() -> Iterator[_Proposal]:
    for word, meaning in meanings.POLICIES.items():
        yield _Proposal(word, CompletionKind.POLICY, meaning)


def _types(outline: Outline, *, timer: bool = False) -> Iterator[_Proposal]:
    for known in outline.types.values():
        if timer or known.name != TIMER.name:
            yield _type_proposal(known)


def _type_proposal(known: KnownType) -> _Proposal:
    return _Proposal(known.name, CompletionKind.TYPE, f"{known} ({known.origin})")


def _names(events: list[EventUse]) -> Iterator[_Proposal]:
    """Events of the rule; in a deadline, its `Timer` too."""
    for event in events:
        yield _Proposal(event.name, CompletionKind.EVENT, f"{event.policy or event.role} {event.type}")
        if event.deadline:
            yield _Proposal(TIMER.name, CompletionKind.EVENT, f"{event.deadline} after {event.name}")


def _attributes(known: KnownType | None, *, timestamp: bool = True) -> Iterator[_Proposal]:
    if known is None:
        return
    for name, value_type in known.attributes.items():
        detail = meanings.TIMER_FIELD_MEANINGS.get(name, "") if known.name == TIMER.name else value_type or ""
        yield _Proposal(name, CompletionKind.ATTRIBUTE, str(detail))
    if timestamp:
        yield _Proposal(TIMESTAMP, CompletionKind.ATTRIBUTE, ValueType.INT.value)


def _attributes_behind_dot(outline: Outline, piece: Piece, state: Scan) -> Iterator[_Proposal]:
    whose = state.before_that
    if whose is None:
        return
    if whose.is_symbol(")"):
        inner = state.stack[-1] if state.stack else None
        yield from _attributes(outline.types.get(inner.event.type) if inner and inner.event else None)
    elif whose.kind is TokenKind.WORD:
        event = piece.event(whose.text)
        yield from _attributes(outline.types.get(event.type if event is not None else whose.text))


def _parameters(piece: Piece | None) -> Iterator[_Proposal]:
    if piece is None:
        return
    for name, binding in piece.parameters.items():
        yield _Proposal(name, CompletionKind.PARAMETER, f"= {binding.value}" if binding.value else "")


def _values(piece: Piece, inside: EventUse | None = None) -> Iterator[_Proposal]:
    """Whatever can be a value, or begin one; `inside` is the event in whose parentheses it stands."""
    yield from _names([e for e in piece.scan.named if inside is None or e.span != inside.span])
    yield from _parameters(piece)
    for aggregate in AGGREGATES.values():
        yield _Proposal(aggregate.name, CompletionKind.AGGREGATE, aggregate.meaning, f"{aggregate.name}(")
    for function in FUNCTIONS.values():
        yield _Proposal(function.name, CompletionKind.FUNCTION, function.meaning, f"{function.name}(")
    for word in ("true", "false", "null"):
        yield _Proposal(word, CompletionKind.VALUE, meanings.KEYWORDS[word])
