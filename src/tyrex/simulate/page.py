"""Reports as one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from tyrex.plan.pictures.canvas import Drawing

_STYLE = """
body { font: 15px/1.5 Helvetica, Arial, 'Liberation Sans', sans-serif; color: #1f2933; margin: 2rem auto;
       max-width: 1080px; padding: 0 1rem; background: #fff }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2.2rem; border-top: 1px solid #d5dbe2; padding-top: 1rem }
table { border-collapse: collapse; margin: 1rem 0 } td, th { padding: .25rem .8rem; border-bottom: 1px solid #d5dbe2;
       text-align: right; font-variant-numeric: tabular-nums } td:first-child, th:first-child { text-align: left }
td.text { text-align: left } .row { display: flex; flex-wrap: wrap; gap: 1.5rem } svg { max-width: 100%; height: auto }
.yes { color: #2a7d4f } .no { color: #b3261e } .note { color: #5b6875 } figure { margin: 0 }
details { margin: 1rem 0 } summary { cursor: pointer }
"""


def page(title: str, parts: Iterable[str]) -> str:
    """A document of these parts."""
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def heading(text: str) -> str:
    """A heading of a section."""
    return f"<h2>{escape(text)}</h2>"


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of text."""
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def pictures(drawings: Iterable[tuple[str, Drawing]]) -> str:
    """Drawings beside each other, each with a title for those who can't see it."""
    shown = "\n".join(f"<figure>{drawing.document(title)}</figure>" for title, drawing in drawings)
    return f'<div class="row">{shown}</div>'


def folded(title: str, content: str) -> str:
    """Content that is shown when its title is clicked."""
    return f"<details><summary>{escape(title)}</summary>{content}</details>"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows of texts; the first column names the row."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
