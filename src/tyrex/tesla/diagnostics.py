"""What is wrong with a rule text, where, and what to do about it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypedDict

from tyrex.tesla.source import Source, Span


class Severity(StrEnum):
    """An error rejects the text; a warning does not."""

    ERROR = "error"
    WARNING = "warning"


class DiagnosticRecord(TypedDict):
    """A diagnostic as plain data: what `--format json` prints."""

    code: str
    severity: str
    message: str
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    expected: str | None
    found: str | None
    suggestion: str | None


@dataclass(frozen=True)
class Diagnostic:
    """One finding about one place of a rule text.

    `code` is stable: it can be looked up in `docs/reference/diagnostics.md` and never changes its meaning.
    """

    code: str
    message: str
    span: Span
    source: Source = field(repr=False)
    expected: str | None = None
    found: str | None = None
    suggestion: str | None = None
    severity: Severity = Severity.ERROR

    @property
    def line(self) -> int:
        """The line it starts on, counted from 1."""
        return self.source.position(self.span.start)[0]

    @property
    def column(self) -> int:
        """The column it starts at, counted from 1."""
        return self.source.position(self.span.start)[1]

    def record(self) -> DiagnosticRecord:
        """The finding as plain data."""
        end_line, end_column = self.source.position(self.span.end)
        return {
            "code": self.code,
            "severity": self.severity.value,
            "message": self.message,
            "file": self.source.name,
            "line": self.line,
            "column": self.column,
            "end_line": end_line,
            "end_column": end_column,
            "expected": self.expected,
            "found": self.found,
            "suggestion": self.suggestion,
        }

    def render(self) -> str:
        """The finding as a person reads it, with the source line and a caret span below it."""
        line, column = self.source.position(self.span.start)
        text = self.source.line(line)
        width = max(1, min(self.span.end - self.span.start, len(text) - column + 1))
        gutter = " " * len(str(line))
        padding = "".join("\t" if char == "\t" else " " for char in text[: column - 1])
        rows = [
            f"{self.severity.value}[{self.code}]: {self.message}",
            f"{gutter}--> {self.source.name}:{line}:{column}",
            f"{gutter} |",
            f"{line} | {text}",
            f"{gutter} | {padding}{'^' * width}",
        ]
        if self.expected is not None:
            rows.append(f"{gutter} = expected: {self.expected}")
        if self.found is not None:
            rows.append(f"{gutter} = found: {self.found}")
        if self.suggestion is not None:
            rows.append(f"{gutter} = help: {self.suggestion}")
        return "\n".join(rows)


class TeslaError(ValueError):
    """A rule text was rejected; `diagnostics` says why, all at once."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        super().__init__("\n\n".join(d.render() for d in self.diagnostics))


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A suggestion if some known word is close to this one, else None."""
    candidates = sorted(set(known))
    folded = {candidate.lower(): candidate for candidate in candidates}
    if word.lower() in folded:
        return f"did you mean `{folded[word.lower()]}`?"
    close = difflib.get_close_matches(word, candidates, n=1, cutoff=0.6)
    return f"did you mean `{close[0]}`?" if close else None


def listing(words: Iterable[str]) -> str:
    """Words as a readable list: `a`, `b` or `c`."""
    quoted = [f"`{word}`" for word in words]
    if len(quoted) <= 1:
        return "".join(quoted)
    return f"{', '.join(quoted[:-1])} or {quoted[-1]}"
