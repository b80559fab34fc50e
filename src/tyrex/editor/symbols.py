"""The declarations and rules of a document, for an editor's outline view."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tyrex.editor.outline import understand
from tyrex.tesla.source import Span


class SymbolKind(StrEnum):
    """What a symbol is."""

    EVENT = "event"
    RULE = "rule"


@dataclass(frozen=True)
class Symbol:
    """A declaration or a rule: its name, the place of the name, and the whole of it."""

    name: str
    kind: SymbolKind
    detail: str
    span: Span
    name_span: Span


def symbols(text: str) -> list[Symbol]:
    """The declarations and rules in the order of the text."""
    found: list[Symbol] = []
    for piece in understand(text).pieces:
        head = piece.head
        if head is None:
            continue
        name = head.token.text
        if piece.is_rule:
            rule = piece.scan.rule_name
            found.append(Symbol(rule or name, SymbolKind.RULE, f"defines {name}", piece.span, head.span))
        else:
            found.append(Symbol(name, SymbolKind.EVENT, "event", piece.span, head.span))
    return found
