"""The documents run: every rule, history, command and program printed in them does what the text says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import tyrex
from tyrex.io import JsonLinesReader
from tyrex.raced import translate
from tyrex.tesla.aggregates import AGGREGATES
from tyrex.tesla.format import format_tree
from tyrex.tesla.functions import FUNCTIONS
from tyrex.testing import RUNTIMES, Case, read_fixture
from tyrex.testing.fixtures import Block

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src" / "tyrex"
PAGES = [
    *(path for name in ("README", "CONTRIBUTING", "CHANGELOG") if (path := ROOT / f"{name}.md").exists()),
    *sorted((ROOT / "docs").rglob("*.md")),
]

_OPENING = re.compile(r"^(`{3,})(\w*) *(.*?)\s*$")
_LINK = re.compile(r"\[[^\]\n]+\]\(([^)#\s]+)[^)]*\)")
_CODE = re.compile(r"\b(?:TSL|RCD)\d{3}\b")


@dataclass(frozen=True)
class Snippet:
    """A fenced block of a page: `line` is the one it opens on, `follows` the rules printed last before it."""

    page: Path
    line: int
    kind: str
    options: str
    text: str
    previous: Snippet | None = None
    follows: Snippet | None = None

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    def block(self) -> Block:
        """The snippet as a block of a fixture."""
        words = (word.partition("=") for word in self.options.split())
        return Block(self.text, {name: value for name, _, value in words}, self.line)


def _is_whole(snippet: Snippet) -> bool:
    return "fragment" not in snippet.options.split()


def _snippets(page: Path) -> Iterator[Snippet]:
    lines = iter(enumerate(page.read_text("utf-8").splitlines(), 1))
    previous = rules = None
    for number, line in lines:
        opening = _OPENING.match(line)
        if opening is None:
            continue
        fence, kind, options = opening.groups()
        body: list[str] = []
        for _, inner in lines:
            if inner.rstrip() == fence:
                break
            body.append(inner + "\n")
        else:
            raise AssertionError(f"{page.name}:{number}: the block is never closed")
        previous = Snippet(page, number, kind, options, "".join(body), previous, rules)
        if kind == "tesla" and _is_whole(previous):
            rules = previous
        yield previous


SNIPPETS = [snippet for page in PAGES for snippet in _snippets(page)]


def _each(kind: str, holds: Callable[[Snippet], bool] = _is_whole) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("snippet", [s for s in SNIPPETS if s.kind == kind and holds(s)], ids=str)


def _is_translation(snippet: Snippet) -> bool:
    return snippet.previous is not None and snippet.previous.kind == "raced"


def _is_fixture(snippet: Snippet) -> bool:
    return "fixture" in snippet.options.split()


def _case(snippet: Snippet, **blocks: Block) -> Case:
    assert snippet.follows is not None, f"{snippet}: there are no rules before it"
    return Case(str(snippet), snippet.page, snippet.line, {"tesla": snippet.follows.block(), **blocks})


def _is_rejected(snippet: Snippet) -> bool:
    return any(s.kind == "diagnostics" and s.follows == snippet for s in SNIPPETS)


@_each("tesla")
def test_every_rule_file_in_the_documents_is_valid(snippet: Snippet) -> None:
    """A printed rule file is accepted, unless the text goes on to say how it is rejected."""
    if not _is_rejected(snippet):
        tyrex.parse(snippet.text, str(snippet))


@_each("expect")
def test_every_history_in_the_documents_has_the_outcome_that_is_printed(snippet: Snippet) -> None:
    """The rules printed last, run over the printed events, make exactly the printed composite events."""
    events = snippet.previous
    assert events is not None
    assert events.kind == "events", f"{snippet}: no events before it"
    _case(snippet, events=events.block(), expect=snippet.block()).check(RUNTIMES["reference"])


@_each("diagnostics")
def test_every_rejected_rule_in_the_documents_is_rejected_with_the_printed_codes(snippet: Snippet) -> None:
    """A printed rule that the text calls wrong is rejected, and for that reason."""
    _case(snippet, diagnostics=snippet.block()).check(RUNTIMES["reference"])


@_each("raced")
def test_every_raced_text_in_the_documents_translates_into_valid_rules(snippet: Snippet) -> None:
    """A printed RACED text becomes TESLA rules that are accepted."""
    tyrex.parse(format_tree(translate(snippet.text)))


@_each("tesla", _is_translation)
def test_every_translation_in_the_documents_is_the_real_one(snippet: Snippet) -> None:
    """TESLA printed right after RACED is what the translation gives."""
    assert snippet.previous is not None
    assert snippet.text.strip() == format_tree(translate(snippet.previous.text)).strip()


@_each("jsonl")
def test_every_json_line_in_the_documents_is_an_event(snippet: Snippet) -> None:
    """Printed JSON lines are read without a rejected line."""
    assert list(JsonLinesReader(snippet.text.splitlines(), strict=True))


@_each("console")
def test_every_command_in_the_documents_prints_what_follows_it(snippet: Snippet) -> None:
    """A printed `tyrex` command, run at the root of the repository, prints the printed lines."""
    for part in re.split(r"^\$ ", snippet.text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        program, *arguments = shlex.split(command)
        assert program == "tyrex", f"{snippet}: only tyrex is run here; print other commands as `sh`"
        entry = "from tyrex.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", entry, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert (done.stdout + done.stderr).strip() == expected.strip()


@_each("markdown", _is_fixture)
def test_every_fixture_file_in_the_documents_passes(snippet: Snippet, tmp_path: Path) -> None:
    """A printed fixture file passes on every runtime."""
    path = tmp_path / "page.tesla.md"
    path.write_text(snippet.text, "utf-8")
    for case in read_fixture(path):
        for runtime in RUNTIMES.values():
            case.check(runtime)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_programs_of_a_page_run_one_after_the_other(page: Path) -> None:
    """Printed Python runs from the top of its page to the end, and the test functions in it pass."""
    names: dict[str, object] = {"__name__": page.stem}
    for snippet in _snippets(page):
        if snippet.kind == "python" and _is_whole(snippet):
            exec(compile("\n" * snippet.line + snippet.text, str(page), "exec"), names)
    for name, value in list(names.items()):
        if name.startswith("test_") and callable(value):
            value()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    """A relative link of a page names a file or a folder of the repository."""
    targets = [target for target in _LINK.findall(page.read_text("utf-8")) if "://" not in target]
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_code_in_the_sources_is_documented_and_every_documented_code_is_used() -> None:
    """The table of diagnostics lists the codes that the sources report, each of them once, and no others."""
    files = [path for room in ("tesla", "raced") for path in (SOURCES / room).rglob("*.py")]
    used = {code for path in files for code in _CODE.findall(path.read_text("utf-8"))}
    table = (ROOT / "docs" / "reference" / "diagnostics.md").read_text("utf-8")
    listed = re.findall(r"^\| `((?:TSL|RCD)\d{3})` \|", table, flags=re.MULTILINE)
    assert listed == sorted(used, key=lambda code: (not code.startswith("TSL"), code))


def test_every_function_and_aggregate_is_in_the_language_reference() -> None:
    """The reference has a row for each function and each aggregate, and no others."""
    page = (ROOT / "docs" / "reference" / "language.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)\(", page, flags=re.MULTILINE)
    assert sorted(rows) == sorted([*FUNCTIONS, *AGGREGATES])
