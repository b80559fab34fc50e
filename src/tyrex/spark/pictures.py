"""Pictures of what Spark does with rules: sources, filters, the shuffle, shards, and what they find."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from tyrex.plan.pictures.canvas import BORDER, INK, LINE, MUTED, PALE, Drawing, smooth
from tyrex.plan.pictures.dot import quote
from tyrex.plan.pictures.measure import text_width, wrap
from tyrex.plan.pictures.mermaid import escape
from tyrex.spark.explain import ExplainedPart, Explanation, Travelling
from tyrex.spark.planner import Split
from tyrex.tesla.durations import format_duration

_TEXT, _SMALL = 12.0, 11.0
_COMPOSITE = "#e4eefb"
_COLOURS = {Split.KEY: "#2f855a", Split.EVENT: "#2f855a", Split.TIME: "#b7791f", Split.NONE: "#c53030"}
_SHOWN_RULES = 12
_PADDING = 26.0
_FILTER_WIDTH, _PART_WIDTH = 190.0, 270.0
_TO_FILTER, _SHUFFLE, _TO_COMPOSITE = 34.0, 130.0, 46.0
_SHADOW = 5.0


def draw_spark(explanation: Explanation, format: str) -> str:
    """An explanation in one of the formats, ending with a line break."""
    match format:
        case "json":
            return json.dumps(explanation.record(), indent=2, ensure_ascii=False) + "\n"
        case "svg":
            return spark_svg(explanation)
        case "mermaid":
            return spark_mermaid(explanation)
        case "dot":
            return spark_dot(explanation)
        case _:
            raise ValueError(f"there is no picture as {format}: expected json, svg, mermaid or dot")


# --- What stands in the boxes -------------------------------------------------------------------------------


def _sources(explanation: Explanation) -> list[Travelling]:
    return [one for one in explanation.types if not one.made]


def _rules(part: ExplainedPart) -> str:
    shown = ", ".join(part.rules[:_SHOWN_RULES])
    more = len(part.rules) - _SHOWN_RULES
    return f"{shown} and {more} more" if more > 0 else shown


def _split(part: ExplainedPart) -> str:
    match part.split:
        case Split.KEY:
            return "many shards, by key"
        case Split.EVENT:
            return "many shards, event by event"
        case Split.TIME:
            return f"slices of {format_duration(part.slice_length)}, overlap {format_duration(part.overlap)}"
        case Split.NONE:
            return "one shard"


def _by(part: ExplainedPart, type_: str) -> str:
    """What stands on the arrow from a type to a part."""
    match part.split:
        case Split.KEY:
            return f"by {part.keys[type_]}" if type_ in part.keys else "by event"
        case Split.EVENT:
            return "by event"
        case Split.TIME:
            return "by time"
        case Split.NONE:
            return "all"


# --- SVG ----------------------------------------------------------------------------------------------------


@dataclass
class _Box:
    """Something in a column: its lines and its place."""

    lines: list[tuple[str, bool, str]]
    """Each with whether it is bold, and its colour."""
    width: float
    least: float = 0.0
    """How high it must be for all its arrows."""
    y: float = 0.0
    """The middle."""

    @property
    def text_height(self) -> float:
        return len(self.lines) * _TEXT * LINE + 16

    @property
    def height(self) -> float:
        return max(self.least, self.text_height)


def spark_svg(explanation: Explanation) -> str:
    """The way of the events from left to right."""
    sources = _sources(explanation)
    filters = {one.type: _Box(_filter_lines(one), _FILTER_WIDTH) for one in sources}
    parts = [
        _Box(_part_lines(part), _PART_WIDTH, max(18 * (len(part.types) + 1), 34 * min(len(part.makes), 13)))
        for part in explanation.parts
    ]
    _stack(parts, 34)
    arrows = [
        (type_, number)
        for number, part in enumerate(explanation.parts)
        for type_ in part.types
        if type_ in filters
    ]
    for type_, box in filters.items():
        met = [parts[number].y for name, number in arrows if name == type_]
        box.y = sum(met) / len(met) if met else 0
    ordered = sorted(filters, key=lambda name: filters[name].y)
    _stack([filters[name] for name in ordered], 14)
    _align([filters[name] for name in ordered], parts)
    sheet = _Sheet(explanation, filters, parts)
    return sheet.draw(arrows).document("Rules on Spark")


def _filter_lines(one: Travelling) -> list[tuple[str, bool, str]]:
    condition = wrap(one.filter, _TEXT, _FILTER_WIDTH - 20) or ["all events"]
    if len(condition) > 5:
        condition = [*condition[:4], "…"]
    lines = [(line, False, INK if one.filter else MUTED) for line in condition]
    travels = ", ".join(one.used) or "only its time"
    return lines + [(line, False, MUTED) for line in wrap(f"→ {travels}", _SMALL, _FILTER_WIDTH - 20)]


def _part_lines(part: ExplainedPart) -> list[tuple[str, bool, str]]:
    inner = _PART_WIDTH - 28
    lines = [(line, True, INK) for line in wrap(_rules(part), _TEXT, inner, bold=True)]
    lines += [(line, False, _COLOURS[part.split]) for line in wrap(_split(part), _TEXT, inner)]
    if part.reason:
        lines += [(line, False, MUTED) for line in wrap(part.reason.replace("`", ""), _SMALL, inner)]
    return lines


def _stack(boxes: Sequence[_Box], gap: float) -> None:
    y = 0.0
    for box in boxes:
        box.y = y + box.height / 2
        y += box.height + gap


def _align(one: Sequence[_Box], other: Sequence[_Box]) -> None:
    """Put the lower of two columns in the middle of the higher one."""
    heights = [max((box.y + box.height / 2 for box in column), default=0.0) for column in (one, other)]
    shift = (heights[0] - heights[1]) / 2
    for box in other if shift > 0 else one:
        box.y += abs(shift)


class _Sheet:
    """The columns of the picture."""

    def __init__(self, explanation: Explanation, filters: dict[str, _Box], parts: list[_Box]) -> None:
        self._explanation = explanation
        self._filters = filters
        self._parts = parts
        self._pill = max((text_width(name, _TEXT) + 24 for name in filters), default=60.0)
        self._filter_x = self._pill + _TO_FILTER
        self._shuffle_x = self._filter_x + _FILTER_WIDTH
        self._part_x = self._shuffle_x + _SHUFFLE
        self._made_x = self._part_x + _PART_WIDTH + _TO_COMPOSITE

    def draw(self, arrows: Sequence[tuple[str, int]]) -> Drawing:
        content = Drawing()
        for name, box in self._filters.items():
            self._source(content, name, box)
        for number in range(len(self._parts)):
            own = sorted((name for name, to in arrows if to == number), key=lambda n: self._filters[n].y)
            self._arrows(content, number, own)
        for part, box in zip(self._explanation.parts, self._parts, strict=True):
            self._part(content, part, box)
            self._composites(content, part, box)
        titles = Drawing()
        titles.text(0, 17, "On Spark", size=16, anchor="start", bold=True)
        heads = [
            (0.0, "sources"),
            (self._filter_x, "filters, at the source"),
            (self._shuffle_x + 34, "shuffle"),
            (self._part_x, "shards"),
            (self._made_x, "composite events"),
        ]
        for x, head in heads:
            titles.text(x, 46, head, size=_SMALL, anchor="start", fill=MUTED)
        sheet = Drawing()
        width = max(content.width, titles.width)
        sheet.box(
            0.5,
            0.5,
            width + 2 * _PADDING - 1,
            content.height + 62 + 2 * _PADDING - 1,
            fill="#ffffff",
            stroke=BORDER,
            radius=10,
        )
        sheet.place(titles, _PADDING, _PADDING)
        sheet.place(content, _PADDING, _PADDING + 62)
        sheet.width, sheet.height = width + 2 * _PADDING, content.height + 62 + 2 * _PADDING
        return sheet

    def _source(self, sheet: Drawing, name: str, box: _Box) -> None:
        width = text_width(name, _TEXT) + 22
        sheet.box(self._pill - width, box.y - 13, width, 26, fill=PALE, stroke=INK, radius=13)
        sheet.text(self._pill - width / 2, box.y + 4, name, size=_TEXT)
        _arrow(sheet, (self._pill, box.y), (self._filter_x, box.y), MUTED)
        sheet.box(
            self._filter_x,
            box.y - box.height / 2,
            box.width,
            box.height,
            fill="#ffffff",
            stroke=BORDER,
            radius=3,
        )
        _write(sheet, self._filter_x + 10, box)

    def _arrows(self, sheet: Drawing, number: int, types: Sequence[str]) -> None:
        part, box = self._explanation.parts[number], self._parts[number]
        colour = _COLOURS[part.split]
        for place, name in enumerate(types):
            y = box.y + box.height * ((place + 1) / (len(types) + 1) - 0.5)
            start, end = (self._shuffle_x, self._filters[name].y), (self._part_x, y)
            label = _by(part, name)
            width = text_width(label, _SMALL)
            turn = end[0] - width - 26
            line = [start, (turn, y), (end[0] - 5, y)]
            sheet.path(smooth(line), stroke=colour)
            sheet.arrow_head(end, (end[0] - 1, y), fill=colour)
            sheet.label(turn + width / 2 + 6, y, [label], size=_SMALL, fill=colour)

    def _part(self, sheet: Drawing, part: ExplainedPart, box: _Box) -> None:
        top = box.y - box.height / 2
        for shadow in (2, 1) if part.split is not Split.NONE else ():
            offset = shadow * _SHADOW
            sheet.box(
                self._part_x + offset,
                top + offset,
                box.width,
                box.height,
                fill="#ffffff",
                stroke=BORDER,
                radius=4,
            )
        sheet.box(self._part_x, top, box.width, box.height, fill="#ffffff", stroke=INK, radius=4)
        sheet.box(self._part_x + 0.5, top + 0.5, 5, box.height - 1, fill=_COLOURS[part.split], radius=2)
        _write(sheet, self._part_x + 16, box)

    def _composites(self, sheet: Drawing, part: ExplainedPart, box: _Box) -> None:
        from_x = self._part_x + box.width + (2 * _SHADOW if part.split is not Split.NONE else 0)
        made = list(part.makes[:_SHOWN_RULES])
        if len(part.makes) > _SHOWN_RULES:
            made.append(f"and {len(part.makes) - _SHOWN_RULES} more")
        for number, name in enumerate(made):
            y = box.y + (number - (len(made) - 1) / 2) * 34
            width = text_width(name, _TEXT) + 22
            sheet.path(smooth([(from_x, box.y), (self._made_x - 5, y)]), stroke=MUTED)
            sheet.arrow_head((self._made_x, y), (self._made_x - 1, y), fill=MUTED)
            sheet.box(self._made_x, y - 13, width, 26, fill=_COMPOSITE, stroke=INK, radius=13)
            sheet.text(self._made_x + width / 2, y + 4, name, size=_TEXT)


def _write(sheet: Drawing, x: float, box: _Box) -> None:
    for number, (line, bold, colour) in enumerate(box.lines):
        baseline = box.y - box.text_height / 2 + 8 + (number + 0.8) * _TEXT * LINE
        size = _TEXT if colour != MUTED else _SMALL
        sheet.text(x, baseline, line, size=size, anchor="start", bold=bold, fill=colour)


def _arrow(sheet: Drawing, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
    sheet.path(smooth([start, (end[0] - 5, end[1])]), stroke=colour)
    sheet.arrow_head(end, (end[0] - 1, end[1]), fill=colour)


# --- Mermaid and Graphviz -----------------------------------------------------------------------------------


def spark_mermaid(explanation: Explanation) -> str:
    """The way of the events, as a Mermaid flowchart."""
    lines = ["flowchart LR"]
    places = {one.type: number for number, one in enumerate(_sources(explanation))}
    for number, one in enumerate(_sources(explanation)):
        text = "<br/>".join(map(escape, _filter_words(one)))
        lines.append(f'  s{number}(["{escape(one.type)}"]) --> f{number}["{text}"]')
    for number, part in enumerate(explanation.parts):
        words = [_rules(part), _split(part), *([part.reason] if part.reason else [])]
        lines.append(f'  p{number}[["{"<br/>".join(map(escape, words))}"]]')
        lines += [
            f'  f{places[name]} -->|"{escape(_by(part, name))}"| p{number}'
            for name in part.types
            if name in places
        ]
        lines += [
            f'  p{number} --> c{number}x{place}(["{escape(name)}"])' for place, name in enumerate(part.makes)
        ]
    return "\n".join(lines) + "\n"


def spark_dot(explanation: Explanation) -> str:
    """The way of the events, in the language of Graphviz."""
    lines = [
        "rankdir=LR;",
        'node [shape=box, fontname="Helvetica", fontsize=12];',
        'edge [fontname="Helvetica", fontsize=11];',
    ]
    places = {one.type: number for number, one in enumerate(_sources(explanation))}
    for number, one in enumerate(_sources(explanation)):
        lines.append(f"s{number} [shape=ellipse, label={quote(one.type)}];")
        lines.append(f"f{number} [color=gray60, label={quote(chr(10).join(_filter_words(one)))}];")
        lines.append(f"s{number} -> f{number};")
    for number, part in enumerate(explanation.parts):
        colour = quote(_COLOURS[part.split])
        words = [_rules(part), _split(part), *wrap(part.reason, _SMALL, _PART_WIDTH)]
        lines.append(
            f"p{number} [shape={'box' if part.split is Split.NONE else 'box3d'}, color={colour}, "
            f"label={quote(chr(10).join(words))}];"
        )
        lines += [
            f"f{places[name]} -> p{number} [color={colour}, fontcolor={colour}, label={quote(_by(part, name))}];"
            for name in part.types
            if name in places
        ]
        for place, name in enumerate(part.makes):
            lines.append(f"c{number}x{place} [shape=ellipse, label={quote(name)}];")
            lines.append(f"p{number} -> c{number}x{place};")
    return "\n".join(["digraph tyrex {", *(f"  {line}" for line in lines), "}"]) + "\n"


def _filter_words(one: Travelling) -> list[str]:
    return [one.filter or "all events", f"→ {', '.join(one.used) or 'only its time'}"]
