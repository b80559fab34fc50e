"""What the thing under the pointer means, in a sentence."""

from __future__ import annotations

from dataclasses import dataclass

from tyrex.editor import meanings
from tyrex.editor.outline import KnownType, Outline, Piece, understand
from tyrex.editor.scan import EventUse, Mark, MarkKind, Role
from tyrex.editor.tokens import Token
from tyrex.tesla.aggregates import AGGREGATES, BY_LOWER_CASE
from tyrex.tesla.durations import NotADuration, format_duration, parse_duration
from tyrex.tesla.functions import FUNCTIONS
from tyrex.tesla.source import Span
from tyrex.tesla.types import TIMER, TIMESTAMP, TYPE_WORDS, Origin

_ORIGINS = {
    Origin.DECLARED: "A declared event type.",
    Origin.DEFINED: "A composite event, defined by a rule of this file.",
    Origin.INFERRED: "Not declared; its attributes are those that the rules use.",
    Origin.TIMER: meanings.TIMER_MEANING,
}


@dataclass(frozen=True)
class Hover:
    """A text in Markdown, and the stretch of the document it is about."""

    text: str
    span: Span


def hover(text: str, offset: int) -> Hover | None:
    """What stands at an offset, if there is something to say about it."""
    outline = understand(text)
    found = outline.mark_at(offset)
    if found is None:
        return None
    piece, mark = found
    said = _describe(outline, piece, mark)
    return Hover(said, mark.span) if said else None


def _describe(outline: Outline, piece: Piece, mark: Mark) -> str:
    token = mark.token
    match mark.kind:
        case MarkKind.KEYWORD:
            return _entry(token.lower, meanings.KEYWORDS.get(token.lower, ""))
        case MarkKind.POLICY:
            return _entry(token.lower, meanings.policy_meaning(token.text))
        case MarkKind.FUNCTION:
            return _entry(
                meanings.function_signature(token.text), meanings.sentence(FUNCTIONS[token.text].meaning)
            )
        case MarkKind.AGGREGATE:
            name = BY_LOWER_CASE[token.lower]
            return _entry(meanings.aggregate_signature(name), meanings.sentence(AGGREGATES[name].meaning))
        case MarkKind.DURATION:
            return _duration(token)
        case MarkKind.VALUE_TYPE:
            value_type = TYPE_WORDS.get(token.lower)
            return "" if value_type is None else _entry(value_type.value, meanings.VALUE_TYPES[value_type])
        case MarkKind.TYPE | MarkKind.TYPE_HEAD:
            return _type(outline.types.get(token.text))
        case MarkKind.EVENT | MarkKind.ALIAS:
            event = piece.event(token.text)
            if event is None:
                return _type(outline.types.get(token.text))
            return _event(event, outline.types.get(event.type))
        case MarkKind.ATTRIBUTE | MarkKind.ATTRIBUTE_HEAD:
            return _attribute(token.text, outline.owner_of(piece, mark))
        case MarkKind.PARAMETER:
            binding = piece.parameters.get(token.text)
            if binding is None:
                return ""
            bound = f"Bound to `{binding.value}`." if "." in binding.value else f"Bound to {binding.value}."
            return _entry(token.text, bound if binding.value else "A parameter that nothing binds yet.")
        case MarkKind.RULE_NAME:
            return _entry(token.text, "The name of this rule.")
        case MarkKind.WEEKDAY:
            return _entry(token.text, "A day of the week, for the field `D`.")
        case _:
            return ""


def _entry(title: str, meaning: str) -> str:
    return f"`{title}`: {meaning}" if meaning else ""


def _duration(token: Token) -> str:
    try:
        microseconds = parse_duration(token.text)
    except NotADuration as error:
        return str(error)
    return _entry(format_duration(microseconds), f"A duration of {microseconds:,} microseconds.")


def _type(known: KnownType | None) -> str:
    return "" if known is None else f"```tesla\n{known}\n```\n{_ORIGINS[known.origin]}"


def _event(event: EventUse, known: KnownType | None) -> str:
    signature = f"```tesla\n{known or event.type}\n```\n"
    if event.role is Role.TERMINATOR:
        if event.deadline:
            return f"{signature}`{event.name}`: it sets the timer, {event.deadline} before that runs out."
        return f"{signature}`{event.name}`: the terminator; the rule is evaluated when it arrives."
    window = f", within {event.window} from `{event.anchor}`" if event.window and event.anchor else ""
    return f"{signature}`{event.name}`: {event.policy} `{event.type}`{window}."


def _attribute(name: str, owner: KnownType | None) -> str:
    if name == TIMESTAMP:
        return _entry("timestamp: int", meanings.TIMESTAMP_MEANING)
    if owner is None:
        return ""
    if owner.name == TIMER.name:
        return _entry(name, meanings.TIMER_FIELD_MEANINGS.get(name, ""))
    if name not in owner.attributes:
        return ""
    value_type = owner.type_of(name)
    title = name if value_type is None else f"{name}: {value_type}"
    return _entry(title, f"An attribute of `{owner.name}`.")
