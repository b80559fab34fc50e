"""One page about all benchmarks: the targets first, then tables and pictures, as Markdown and as HTML."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import Cell, Table, shown

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: .6rem 0 1.2rem; font-variant-numeric: tabular-nums; font-size: .9rem; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { padding: .15rem .8rem; text-align: right; border-bottom: 1px solid #e4e4e4; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
td.met { color: #1d7a44; } td.missed { color: #b3202f; font-weight: 600; }
img { max-width: 100%; height: auto; margin: .5rem 0 1.5rem; }
p.where { color: #777; font-size: .85rem; }
"""


def read(folder: Path, names: Sequence[str]) -> list[dict[str, Any]]:
    """The reports of these names that were written."""
    paths = [folder / f"{name}.json" for name in names]
    return [json.loads(path.read_text()) for path in paths if path.exists()]


def write(folder: Path, names: Sequence[str]) -> list[Path]:
    """Write both pages about the reports of these names; where they are."""
    records = read(folder, names)
    pages = {"README.md": markdown(records), "index.html": page(records)}
    for name, text in pages.items():
        (folder / name).write_text(text)
    return [folder / name for name in pages]


def _verdicts(records: Iterable[dict[str, Any]]) -> list[tuple[str, str, str, str, bool]]:
    return [
        (
            record["name"] + (" (quick)" if record["quick"] else ""),
            each["what"],
            f"{shown(each['value'])} {each['unit']}".strip(),
            f"{'at least' if each['at_least'] else 'at most'} {shown(each['limit'])} {each['unit']}".strip(),
            each["met"],
        )
        for record in records
        for each in record["verdicts"]
    ]


def _table(record: dict[str, Any]) -> Table:
    return Table(tuple(record["header"]), tuple(tuple(row) for row in record["rows"]), record["title"])


def _where(record: dict[str, Any]) -> str:
    machine = record["machine"]
    return (
        f"{machine['cores']} cores, Python {machine['python']}, {machine['seconds']:,.0f} s; "
        f"load of the machine {machine['load_before']} before and {machine['load_after']} after"
    )


def markdown(records: Sequence[dict[str, Any]]) -> str:
    """The page as Markdown."""
    lines = ["# Benchmarks", "", "## Targets", ""]
    verdicts = [(*row[:4], "met" if row[4] else "**not met**") for row in _verdicts(records)]
    lines += _markdown_table(("command", "what", "figure", "target", ""), verdicts)
    for record in records:
        lines += [
            "",
            f"## {record['title']}",
            "",
            f"`python -m benchmarks.{record['name']}`: {_where(record)}",
        ]
        for each in record["tables"]:
            table = _table(each)
            lines += ["", *([f"**{table.title}**", ""] if table.title else [])]
            lines += _markdown_table(table.header, table.rows)
        lines += ["", *(f"- {note}" for note in record["notes"])]
        lines += [line for name in record["pictures"] for line in ("", f"![{name}]({name}.svg)")]
    return "\n".join(lines) + "\n"


def _markdown_table(header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> list[str]:
    return [
        f"| {' | '.join(header)} |",
        f"| --- |{' ---: |' * (len(header) - 1)}",
        *(f"| {' | '.join(shown(cell) for cell in row)} |" for row in rows),
    ]


def page(records: Sequence[dict[str, Any]]) -> str:
    """The page as HTML."""
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Benchmarks of Tyrex</title><style>{STYLE}</style>",
        "<h1>Benchmarks</h1><h2>Targets</h2><table><tr><th>command<th>what<th>figure<th>target<th></tr>",
    ]
    for *cells, met in _verdicts(records):
        row = "".join(f"<td>{html.escape(cell)}" for cell in cells)
        parts.append(f"<tr>{row}<td class={'met' if met else 'missed'}>{'met' if met else 'not met'}</tr>")
    parts.append("</table>")
    for record in records:
        parts.append(f"<h2>{html.escape(record['title'])}</h2>")
        parts.append(
            f"<p class=where>python -m benchmarks.{record['name']}: {html.escape(_where(record))}</p>"
        )
        for each in record["tables"]:
            table = _table(each)
            parts.append(f"<table><caption>{html.escape(table.title)}</caption>")
            parts.append(_html_row("th", table.header))
            parts += [_html_row("td", row) for row in table.rows]
            parts.append("</table>")
        parts += [f"<p>{html.escape(note)}</p>" for note in record["notes"]]
        parts += [f'<img src="{name}.svg" alt="{name}">' for name in record["pictures"]]
    return "\n".join(parts) + "\n</html>\n"


def _html_row(tag: str, cells: Iterable[Cell]) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(shown(cell))}' for cell in cells)}</tr>"
