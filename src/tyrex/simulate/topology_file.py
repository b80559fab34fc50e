"""A network from a file: one line for each link."""

from __future__ import annotations

import csv
from pathlib import Path

from tyrex.simulate.topologies import MILLISECOND
from tyrex.simulate.topology import Link, Topology, TopologyError
from tyrex.tesla.diagnostics import did_you_mean, listing

COLUMNS = ("from", "to", "delay_ms", "mbit_per_s")
"""The last one may be left out, or empty."""
_BYTES_IN_MBIT = 1e6 / 8


def read_topology(path: Path) -> Topology:
    """The network in a CSV file with the columns `from`, `to`, `delay_ms` and perhaps `mbit_per_s`."""
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise TopologyError(f"{path} can't be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise TopologyError(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    return parse_topology(text, str(path))


def parse_topology(text: str, name: str = "<topology>") -> Topology:
    """The network in the text of such a file."""
    rows = csv.reader(line for line in text.splitlines())
    header: list[str] | None = None
    links: list[Link] = []
    for row in rows:
        cells = [cell.strip() for cell in row]
        if not any(cells) or cells[0].startswith("#"):
            continue
        if header is None:
            header = _header(cells, f"{name}:{rows.line_num}")
            continue
        links.append(_link(dict(zip(header, cells, strict=False)), f"{name}:{rows.line_num}"))
    if header is None:
        raise TopologyError(f"{name} is empty: begin with the line `{','.join(COLUMNS[:3])}`")
    if not links:
        raise TopologyError(f"{name} has no link: write one on each line, as `p1,p2,5`")
    names = dict.fromkeys(end for link in links for end in (link.a, link.b))
    try:
        return Topology(tuple(names), tuple(links))
    except TopologyError as error:
        raise TopologyError(f"{name}: {error}") from None


def _header(cells: list[str], place: str) -> list[str]:
    for cell in cells:
        if cell not in COLUMNS:
            raise TopologyError(
                f"{place}: there is no column `{cell}`: {did_you_mean(cell, COLUMNS) or 'expected ' + listing(COLUMNS)}"
            )
    for wanted in COLUMNS[:3]:
        if wanted not in cells:
            raise TopologyError(
                f"{place}: the column `{wanted}` is missing: begin with `{','.join(COLUMNS[:3])}`"
            )
    return cells


def _link(cells: dict[str, str], place: str) -> Link:
    a, b = cells.get("from", ""), cells.get("to", "")
    if not a or not b:
        raise TopologyError(f"{place}: a link needs two processors: write them as `p1,p2,5`")
    delay = _number(cells.get("delay_ms", ""), "delay_ms", place)
    rate = cells.get("mbit_per_s", "")
    bandwidth = _number(rate, "mbit_per_s", place) * _BYTES_IN_MBIT if rate else None
    return Link(a, b, round(delay * MILLISECOND), bandwidth)


def _number(text: str, column: str, place: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not 0 <= number < 1e9:
        raise TopologyError(f"{place}: `{column}` is {text!r}: give a number, 0 or more")
    return number
