"""A small SVG canvas: shapes and texts with absolute coordinates, escaped, no other library needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import atan2, cos, hypot, pi, sin
from xml.sax.saxutils import escape, quoteattr

from tyrex.plan.pictures.measure import text_width

INK = "#1f2933"
MUTED = "#5b6875"
PALE = "#f4f6f9"
BORDER = "#d5dbe2"
FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
LINE = 1.28
"""The distance of lines of text, in font sizes."""

Point = tuple[float, float]


@dataclass
class Drawing:
    """Shapes on a sheet that grows with what is drawn; the origin is its upper left corner."""

    width: float = 0
    height: float = 0
    _shapes: list[str] = field(default_factory=list)

    def circle(self, x: float, y: float, radius: float, *, fill: str = "#ffffff", stroke: str = INK) -> None:
        """A circle around a point."""
        self._add("circle", cx=x, cy=y, r=radius, fill=fill, stroke=stroke, stroke_width=1.5)
        self._grow(x + radius, y + radius)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: str,
        stroke: str = "none",
        radius: float = 0,
    ) -> None:
        """A rectangle, given by its upper left corner."""
        self._add("rect", x=x, y=y, width=width, height=height, rx=radius, fill=fill, stroke=stroke)
        self._grow(x + width, y + height)

    def path(self, commands: str, *, stroke: str = INK, dashed: bool = False, width: float = 1.4) -> None:
        """A line in the commands of SVG."""
        dashes = {"stroke_dasharray": "5 4"} if dashed else {}
        self._add("path", d=commands, fill="none", stroke=stroke, stroke_width=width, **dashes)

    def polyline(self, points: Sequence[Point], *, stroke: str = INK, dashed: bool = False) -> None:
        """Straight lines from point to point."""
        self.path(
            "M" + " L".join(f"{_number(x)} {_number(y)}" for x, y in points), stroke=stroke, dashed=dashed
        )
        for x, y in points:
            self._grow(x, y)

    def arrow_head(self, tip: Point, towards: Point, *, fill: str = INK) -> None:
        """The head of an arrow, its tip at a point and pointing away from where it comes from."""
        angle = atan2(tip[1] - towards[1], tip[0] - towards[0])
        sides = (angle + pi - 0.42, angle + pi + 0.42)
        corners = [tip, *((tip[0] + 9 * cos(side), tip[1] + 9 * sin(side)) for side in sides)]
        self._add("polygon", points=" ".join(f"{_number(x)},{_number(y)}" for x, y in corners), fill=fill)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 12,
        anchor: str = "middle",
        bold: bool = False,
        italic: bool = False,
        fill: str = INK,
    ) -> None:
        """A line of text; `y` is its baseline."""
        style: dict[str, str] = {"font_weight": "bold"} if bold else {}
        if italic:
            style["font_style"] = "italic"
        self._add("text", escape(text), x=x, y=y, font_size=size, text_anchor=anchor, fill=fill, **style)
        width = text_width(text, size, bold=bold)
        self._grow(x + {"start": width, "middle": width / 2, "end": 0}[anchor], y + size * 0.3)

    def label(
        self,
        x: float,
        y: float,
        lines: Sequence[str],
        *,
        size: float = 12,
        fill: str = INK,
        italic: bool = False,
        bold: int = 0,
    ) -> None:
        """Lines of text around a point, the first few bold, on white so that nothing behind crosses them."""
        width = max(text_width(line, size, bold=number < bold) for number, line in enumerate(lines))
        height = len(lines) * size * LINE
        self.box(x - width / 2 - 4, y - height / 2, width + 8, height, fill="#ffffff")
        for number, line in enumerate(lines):
            baseline = y - height / 2 + (number + 0.8) * size * LINE
            self.text(x, baseline, line, size=size, fill=fill, italic=italic, bold=number < bold)

    def place(self, other: Drawing, x: float, y: float) -> None:
        """Put another drawing onto this one."""
        inner = "\n".join(f"  {line}" for shape in other._shapes for line in shape.split("\n"))
        self._shapes.append(f'<g transform="translate({_number(x)} {_number(y)})">\n{inner}\n</g>')
        self._grow(x + other.width, y + other.height)

    def document(self, title: str) -> str:
        """The drawing as a file of its own."""
        width, height = _number(self.width), _number(self.height)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img" aria-label={quoteattr(_clean(title))} font-family="{FONT}">'
        )
        return "\n".join([head, f"<title>{escape(_clean(title))}</title>", *self._shapes, "</svg>"]) + "\n"

    def _add(self, tag: str, content: str | None = None, /, **attributes: str | float) -> None:
        written = " ".join(
            f"{name.replace('_', '-')}={quoteattr(value if isinstance(value, str) else _number(value))}"
            for name, value in attributes.items()
        )
        end = "/>" if content is None else f">{_clean(content)}</{tag}>"
        self._shapes.append(f"<{tag} {written}{end}")

    def _grow(self, x: float, y: float) -> None:
        self.width = max(self.width, x)
        self.height = max(self.height, y)


def stack(drawings: Iterable[Drawing], gap: float) -> Drawing:
    """Drawings one below the other."""
    sheet = Drawing()
    for drawing in drawings:
        sheet.place(drawing, 0, sheet.height + gap if sheet.height else 0)
    return sheet


def smooth(points: Sequence[Point]) -> str:
    """The commands of a curve through points that leaves and enters each of them horizontally."""
    commands = [f"M{_number(points[0][0])} {_number(points[0][1])}"]
    for (x1, y1), (x2, y2) in pairwise(points):
        middle = _number((x1 + x2) / 2)
        commands.append(f"C{middle} {_number(y1)} {middle} {_number(y2)} {_number(x2)} {_number(y2)}")
    return " ".join(commands)


def rounded(points: Sequence[Point], radius: float = 7) -> str:
    """The commands of a line from point to point with round corners."""
    commands = [f"M{_number(points[0][0])} {_number(points[0][1])}"]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        first, second = _towards(corner, before, radius), _towards(corner, after, radius)
        commands.append(f"L{_number(first[0])} {_number(first[1])}")
        commands.append(
            f"Q{_number(corner[0])} {_number(corner[1])} {_number(second[0])} {_number(second[1])}"
        )
    commands.append(f"L{_number(points[-1][0])} {_number(points[-1][1])}")
    return " ".join(commands)


def _towards(start: Point, goal: Point, length: float) -> Point:
    """The point so far from one on the way to another, at most half way."""
    whole = hypot(goal[0] - start[0], goal[1] - start[1]) or 1.0
    part = min(length / whole, 0.5)
    return start[0] + (goal[0] - start[0]) * part, start[1] + (goal[1] - start[1]) * part


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _clean(text: str) -> str:
    """The text without the control characters that XML does not know."""
    return "".join(character for character in text if character >= " " or character == "\t")
