"""The language server, as a client over standard input and output sees it."""

import sys
from collections.abc import AsyncIterator

import pytest
import pytest_lsp
from lsprotocol import types as lsp
from pytest_lsp import ClientServerConfig, LanguageClient

URI = "file:///rules/fire.tesla"
GOOD = """\
event Smoke(area: string)
event Temp(area: string, value: float)
define Fire(area: string, heat: float)
from   Smoke(area = $a) as S
       and last Temp(area = $a and value > 45) as T within 5 min from S
where  area = $a and heat = T.value
"""
BAD = GOOD.replace("T.value", 'if("🔥" = "🔥", T.valve, 1.0)')


@pytest_lsp.fixture(  # type: ignore[untyped-decorator]
    config=ClientServerConfig(server_command=[sys.executable, "-m", "tyrex.editor.server"])
)
async def client(lsp_client: LanguageClient) -> AsyncIterator[None]:
    """A client whose server is running."""
    await lsp_client.initialize_session(
        lsp.InitializeParams(capabilities=lsp.ClientCapabilities(), root_uri="file:///rules")
    )
    yield
    await lsp_client.shutdown_session()


async def show(client: LanguageClient, text: str, uri: str = URI) -> list[lsp.Diagnostic]:
    """Open a document and wait for what the server finds."""
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "tesla", 1, text)))
    await client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    return list(client.diagnostics[uri])


async def change(client: LanguageClient, text: str, version: int = 2) -> list[lsp.Diagnostic]:
    """Replace the document and wait for what the server finds."""
    client.text_document_did_change(
        lsp.DidChangeTextDocumentParams(
            lsp.VersionedTextDocumentIdentifier(uri=URI, version=version),
            [lsp.TextDocumentContentChangeWholeDocument(text)],
        )
    )
    await client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    return list(client.diagnostics[URI])


def place(text: str, word: str) -> lsp.Position:
    """The position just behind a word, in UTF-16 code units."""
    before = text[: text.index(word) + len(word)]
    line = before.rpartition("\n")[2]
    return lsp.Position(before.count("\n"), len(line.encode("utf-16-le")) // 2)


DOCUMENT = lsp.TextDocumentIdentifier(URI)


@pytest.mark.asyncio
async def test_an_error_is_shown_at_its_place_and_goes_when_it_is_mended(client: LanguageClient) -> None:
    """Opening publishes the code, the range in UTF-16 and the suggestion; mending publishes nothing."""
    (found,) = await show(client, BAD)
    assert found.source == "tyrex"
    assert found.code == "TSL013"
    assert found.severity is lsp.DiagnosticSeverity.Error
    assert "did you mean `value`?" in found.message
    assert found.range.end == place(BAD, "valve")
    assert found.range.start.line == 5
    assert await change(client, GOOD) == []
    assert len(await change(client, "define", 3)) == 1


@pytest.mark.asyncio
async def test_completion_replaces_what_was_typed(client: LanguageClient) -> None:
    """A proposal is an edit of the word before the cursor; the astral characters before it are counted."""
    text = BAD.replace("T.valve, 1.0)\n", "T.va")
    await show(client, text)
    answer = await client.text_document_completion_async(lsp.CompletionParams(DOCUMENT, place(text, "T.va")))
    assert isinstance(answer, list | tuple)
    (item,) = answer
    assert item.label == "value"
    assert item.detail == "float"
    assert isinstance(item.text_edit, lsp.TextEdit)
    assert item.text_edit.range == lsp.Range(place(text, "T."), place(text, "T.va"))


@pytest.mark.asyncio
async def test_completion_is_triggered_by_dot_dollar_and_parenthesis(client: LanguageClient) -> None:
    """Parameters come behind a dollar, with the dollar replaced."""
    text = GOOD.replace("heat = T.value", "heat = $")
    await show(client, text)
    answer = await client.text_document_completion_async(
        lsp.CompletionParams(DOCUMENT, place(text, "heat = $"))
    )
    assert isinstance(answer, list | tuple)
    assert [item.label for item in answer] == ["$a"]


@pytest.mark.asyncio
async def test_hover_explains(client: LanguageClient) -> None:
    """The answer is Markdown with the range of the word."""
    await show(client, GOOD)
    answer = await client.text_document_hover_async(lsp.HoverParams(DOCUMENT, place(GOOD, "last")))
    assert answer is not None
    assert isinstance(answer.contents, lsp.MarkupContent)
    assert "latest candidate" in answer.contents.value
    assert answer.range is not None
    assert answer.range.end == place(GOOD, "last")


@pytest.mark.asyncio
async def test_definition_leads_to_the_alias(client: LanguageClient) -> None:
    """A use of an alias leads to its `as`."""
    await show(client, GOOD)
    answer = await client.text_document_definition_async(
        lsp.DefinitionParams(DOCUMENT, place(GOOD, "heat = T"))
    )
    assert isinstance(answer, lsp.Location)
    assert answer.uri == URI
    assert answer.range.end == place(GOOD, "as T")


@pytest.mark.asyncio
async def test_formatting_gives_the_canonical_layout(client: LanguageClient) -> None:
    """The whole document is replaced; doing it again changes nothing, and a broken document is left alone."""
    request = lsp.DocumentFormattingParams(DOCUMENT, lsp.FormattingOptions(tab_size=4, insert_spaces=True))
    text = "define   Hot( value:float )\nfrom Temp( value>45 ) where value=Temp.value"
    await show(client, text)
    answer = await client.text_document_formatting_async(request)
    assert answer is not None
    (edit,) = answer
    assert edit.range.start == lsp.Position(0, 0)
    assert edit.range.end == place(text, text)
    assert "define Hot(value: float)" in edit.new_text
    await change(client, edit.new_text)
    assert not await client.text_document_formatting_async(request)
    await change(client, "define (", 3)
    assert not await client.text_document_formatting_async(request)


@pytest.mark.asyncio
async def test_the_outline_lists_declarations_and_rules(client: LanguageClient) -> None:
    """Document symbols are the declarations and the rules."""
    await show(client, GOOD)
    answer = await client.text_document_document_symbol_async(lsp.DocumentSymbolParams(DOCUMENT))
    assert answer is not None
    assert [symbol.name for symbol in answer] == ["Smoke", "Temp", "Fire"]


@pytest.mark.asyncio
async def test_a_document_that_was_never_opened_gets_empty_answers(client: LanguageClient) -> None:
    """A failure is logged, not sent: the session goes on."""
    unknown = lsp.TextDocumentIdentifier("file:///rules/not-there.tesla")
    assert await client.text_document_hover_async(lsp.HoverParams(unknown, lsp.Position(7, 7))) is None
    assert not await client.text_document_completion_async(lsp.CompletionParams(unknown, lsp.Position(0, 0)))
    assert await show(client, GOOD) == []
