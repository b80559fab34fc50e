"""What a benchmark tells: tables, targets with their verdicts, pictures; printed, and written as JSON.

Every command makes a `Report` and hands it to `publish`. `python -m benchmarks` collects what they have written.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks import plots

BUILD = Path(__file__).parent.parent / "build" / "benchmarks"
"""Where everything is written."""

Cell: TypeAlias = str | int | float | None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of texts and numbers; the first column names the row."""

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""

    def lines(self) -> list[str]:
        """The table as plain text."""
        cells = [self.header, *(tuple(shown(cell) for cell in row) for row in self.rows)]
        widths = [max(len(row[column]) for row in cells) for column in range(len(self.header))]
        lines = [
            "  ".join(
                cell.rjust(width) if column else cell.ljust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in cells
        ]
        return [self.title, *lines] if self.title else lines


def shown(cell: Cell) -> str:
    """A cell as text: numbers with the digits that a reader needs."""
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:.3g}" if abs(cell) < 1 else f"{cell:.2f}"
    return f"{cell:,}" if isinstance(cell, int) else cell


@dataclass(frozen=True, slots=True)
class Verdict:
    """A figure beside its target."""

    what: str
    value: float
    limit: float
    unit: str
    at_least: bool = False
    """Whether more is better."""

    @property
    def met(self) -> bool:
        """Whether the figure is on the right side of the limit."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def __str__(self) -> str:
        """The verdict as a line."""
        side = "at least" if self.at_least else "at most"
        verdict = "met" if self.met else "NOT met"
        return f"{self.what}: {shown(self.value)} {self.unit}, target {side} {shown(self.limit)}: {verdict}"


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that one command has to tell."""

    name: str
    title: str
    tables: tuple[Table, ...]
    verdicts: tuple[Verdict, ...] = ()
    notes: tuple[str, ...] = ()
    data: Any = field(default=None)
    """The figures themselves, for JSON."""


Draw: TypeAlias = Callable[[Any], Mapping[str, Any]]
"""From `matplotlib.pyplot` to its figures, by the names of their files."""


def arguments(documentation: str | None) -> argparse.ArgumentParser:
    """The options that all commands have."""
    parser = argparse.ArgumentParser(description=(documentation or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="less of everything: a first look")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    return parser


@dataclass(frozen=True, slots=True)
class Machine:
    """Where and when it was measured: what else ran on the machine matters."""

    began: float = field(default_factory=time.time)
    load: float = field(default_factory=lambda: os.getloadavg()[0])

    def record(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "load_before": round(self.load, 2),
            "load_after": round(os.getloadavg()[0], 2),
            "seconds": round(time.time() - self.began, 1),
        }


def publish(
    report: Report,
    draw: Draw | None,
    options: argparse.Namespace,
    machine: Machine,
    *,
    tables: bool = True,
    build: Path = BUILD,
) -> None:
    """Print the report, without its tables if they were shown already, and write it and its pictures."""
    build.mkdir(parents=True, exist_ok=True)
    pictures = plots.draw_all(draw, build) if draw is not None else []
    record = {
        "name": report.name,
        "title": report.title,
        "quick": bool(options.quick),
        "machine": machine.record(),
        "tables": [asdict(table) for table in report.tables],
        "verdicts": [asdict(each) | {"met": each.met, "text": str(each)} for each in report.verdicts],
        "notes": list(report.notes),
        "pictures": pictures,
        "data": report.data,
    }
    text = json.dumps(record, indent=1)
    (build / f"{report.name}.json").write_text(text + "\n")
    if options.format == "json":
        print(text)
        return
    if tables:
        print(report.title)
        for table in report.tables:
            print("", *table.lines(), sep="\n")
    print("")
    for line in (*map(str, report.verdicts), *report.notes):
        print(line)
    where = record["machine"]
    print(f"load of the machine: {where['load_before']} before, {where['load_after']} after")
    files = ", ".join([f"{report.name}.json", *(f"{name}.svg" for name in pictures)])
    print(f"build/benchmarks: {files}")
    if draw is not None and not pictures:
        print("no pictures: pip install -r benchmarks/requirements.txt")
