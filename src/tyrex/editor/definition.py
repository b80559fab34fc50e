"""Where a name comes from."""

from __future__ import annotations

from tyrex.editor.outline import understand
from tyrex.editor.scan import MarkKind
from tyrex.tesla.source import Span


def definition(text: str, offset: int) -> Span | None:
    """The place that makes the name at an offset known: a declaration, a `define`, an alias, a binding."""
    outline = understand(text)
    found = outline.mark_at(offset)
    if found is None:
        return None
    piece, mark = found
    word = mark.token.text
    match mark.kind:
        case MarkKind.TYPE | MarkKind.TYPE_HEAD:
            known = outline.types.get(word)
            return None if known is None else known.span
        case MarkKind.EVENT | MarkKind.ALIAS:
            event = piece.event(word)
            if event is not None:
                return event.alias_span if event.alias == word else event.span
            known = outline.types.get(word)
            return None if known is None else known.span
        case MarkKind.PARAMETER:
            binding = piece.parameters.get(word)
            return None if binding is None else binding.span
        case MarkKind.ATTRIBUTE | MarkKind.ATTRIBUTE_HEAD:
            owner = outline.owner_of(piece, mark)
            return None if owner is None else owner.attribute_spans.get(word)
        case _:
            return None
