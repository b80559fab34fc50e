"""The language server: a thin shell of the protocol around the other modules and the checks.

It needs the extra `lsp`: `pip install tyrex[lsp]`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from tyrex.editor.completion import Completion, CompletionKind, complete
from tyrex.editor.definition import definition
from tyrex.editor.hover import hover
from tyrex.editor.positions import Positions
from tyrex.editor.symbols import SymbolKind, symbols
from tyrex.tesla import Diagnostic, Severity, Source, Span, TeslaError, examine_sources
from tyrex.tesla.format import format_file

_log = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")

_KINDS = {
    CompletionKind.TYPE: lsp.CompletionItemKind.Class,
    CompletionKind.EVENT: lsp.CompletionItemKind.Variable,
    CompletionKind.ATTRIBUTE: lsp.CompletionItemKind.Field,
    CompletionKind.PARAMETER: lsp.CompletionItemKind.Variable,
    CompletionKind.KEYWORD: lsp.CompletionItemKind.Keyword,
    CompletionKind.POLICY: lsp.CompletionItemKind.Keyword,
    CompletionKind.FUNCTION: lsp.CompletionItemKind.Function,
    CompletionKind.AGGREGATE: lsp.CompletionItemKind.Function,
    CompletionKind.VALUE_TYPE: lsp.CompletionItemKind.TypeParameter,
    CompletionKind.VALUE: lsp.CompletionItemKind.Value,
    CompletionKind.UNIT: lsp.CompletionItemKind.Unit,
}
_SEVERITIES = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
}
_SYMBOLS = {SymbolKind.EVENT: lsp.SymbolKind.Event, SymbolKind.RULE: lsp.SymbolKind.Class}


class Document:
    """An open document, with offsets on this side and positions on the client's."""

    def __init__(self, server: LanguageServer, uri: str) -> None:
        self.uri = uri
        self.text: str = server.workspace.get_text_document(uri).source
        encoding = server.workspace.position_encoding
        self._positions = Positions(self.text, str(getattr(encoding, "value", encoding) or "utf-16"))

    @property
    def is_raced(self) -> bool:
        """Whether it is written in RACED, which has diagnostics only."""
        return self.uri.endswith(".raced")

    def offset(self, position: lsp.Position) -> int:
        """The offset of a position."""
        return self._positions.offset(position.line, position.character)

    def range(self, span: Span) -> lsp.Range:
        """A span as the protocol writes it."""
        start, end = (self._positions.position(offset) for offset in (span.start, span.end))
        return lsp.Range(lsp.Position(*start), lsp.Position(*end))


def examine(source: Source) -> list[Diagnostic]:
    """Everything the compiler has to say about a document, in TESLA or, by its name, in RACED."""
    if source.name.endswith(".raced"):
        from tyrex.rules import examine as examine_rules  # the only use of anything above tesla

        return examine_rules([source])[1]
    return examine_sources([source])[1]


def _safely(feature: str, empty: _Answer, answer: Callable[[], _Answer]) -> _Answer:
    """An answer, or an empty one if something fails: an editor goes on."""
    try:
        return answer()
    except Exception:
        _log.exception("%s failed", feature)
        return empty


def _diagnostic(document: Document, found: Diagnostic) -> lsp.Diagnostic:
    lines = [found.message]
    if found.expected is not None:
        lines.append(f"expected: {found.expected}")
    if found.found is not None:
        lines.append(f"found: {found.found}")
    if found.suggestion is not None:
        lines.append(f"help: {found.suggestion}")
    return lsp.Diagnostic(
        range=document.range(found.span),
        message="\n".join(lines),
        severity=_SEVERITIES[found.severity],
        code=found.code,
        source="tyrex",
    )


def _publish(server: LanguageServer, uri: str, version: int | None) -> None:
    def diagnostics() -> list[lsp.Diagnostic]:
        document = Document(server, uri)
        return [_diagnostic(document, found) for found in examine(Source(document.text, uri))]

    found: list[lsp.Diagnostic] = _safely("diagnostics", [], diagnostics)
    server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found, version))


def _item(document: Document, proposal: Completion, place: int) -> lsp.CompletionItem:
    return lsp.CompletionItem(
        label=proposal.label,
        kind=_KINDS[proposal.kind],
        detail=proposal.detail or None,
        filter_text=proposal.label,
        sort_text=f"{place:04}",
        text_edit=lsp.TextEdit(document.range(proposal.span), proposal.insert_text),
    )


def _completion(server: LanguageServer, params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
    document = Document(server, params.text_document.uri)
    if document.is_raced:
        return []
    proposals = complete(document.text, document.offset(params.position))
    return [_item(document, proposal, place) for place, proposal in enumerate(proposals)]


def _hover(server: LanguageServer, params: lsp.HoverParams) -> lsp.Hover | None:
    document = Document(server, params.text_document.uri)
    found = None if document.is_raced else hover(document.text, document.offset(params.position))
    if found is None:
        return None
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, found.text), document.range(found.span))


def _definition(server: LanguageServer, params: lsp.DefinitionParams) -> lsp.Location | None:
    document = Document(server, params.text_document.uri)
    span = None if document.is_raced else definition(document.text, document.offset(params.position))
    return None if span is None else lsp.Location(document.uri, document.range(span))


def _formatting(server: LanguageServer, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
    document = Document(server, params.text_document.uri)
    if document.is_raced:
        return []
    try:
        formatted = format_file(Source(document.text, document.uri))
    except TeslaError:  # the diagnostics say why
        return []
    if formatted == document.text:
        return []
    return [lsp.TextEdit(document.range(Span(0, len(document.text))), formatted)]


def _symbols(server: LanguageServer, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    document = Document(server, params.text_document.uri)
    if document.is_raced:
        return []
    return [
        lsp.DocumentSymbol(
            name=symbol.name,
            kind=_SYMBOLS[symbol.kind],
            detail=symbol.detail,
            range=document.range(symbol.span),
            selection_range=document.range(symbol.name_span),
        )
        for symbol in symbols(document.text)
    ]


def make_server() -> LanguageServer:
    """A server with every feature, not started yet."""
    server = LanguageServer("tyrex", _version(), text_document_sync_kind=lsp.TextDocumentSyncKind.Full)

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(server: LanguageServer, params: lsp.DidOpenTextDocumentParams) -> None:
        _publish(server, params.text_document.uri, params.text_document.version)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(server: LanguageServer, params: lsp.DidChangeTextDocumentParams) -> None:
        _publish(server, params.text_document.uri, params.text_document.version)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(server: LanguageServer, params: lsp.DidCloseTextDocumentParams) -> None:
        server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(params.text_document.uri, []))

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=[".", "$", "("]))
    def completion(server: LanguageServer, params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        return _safely("completion", [], lambda: _completion(server, params))

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hovered(server: LanguageServer, params: lsp.HoverParams) -> lsp.Hover | None:
        return _safely("hover", None, lambda: _hover(server, params))

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def defined(server: LanguageServer, params: lsp.DefinitionParams) -> lsp.Location | None:
        return _safely("definition", None, lambda: _definition(server, params))

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def formatted(server: LanguageServer, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
        return _safely("formatting", [], lambda: _formatting(server, params))

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def outlined(server: LanguageServer, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        return _safely("document symbols", [], lambda: _symbols(server, params))

    return server


def _version() -> str:
    from tyrex import __version__  # the package imports its rooms, not the other way round

    return __version__


def main() -> None:
    """Serve an editor on standard input and output."""
    make_server().start_io()


if __name__ == "__main__":
    main()
