"""Pictures: how all of them look, and how they are written. Without matplotlib there are none."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

COLOURS = ("#1b6ca8", "#d1495b", "#2a9d5c", "#e9a820", "#7b4fa3", "#6b6b6b")
OURS, PEER = COLOURS[0], COLOURS[1]
PAPER = "#555555"
"""What the papers say is grey and dashed."""
TARGET = {"color": "#2a9d5c", "linestyle": ":", "linewidth": 1.4}


def pyplot() -> Any | None:
    """The drawing library with our settings; None where it is not installed."""
    try:
        matplotlib: Any = importlib.import_module("matplotlib")
    except ImportError:
        return None
    matplotlib.use("agg")
    plt: Any = importlib.import_module("matplotlib.pyplot")
    cycler: Any = importlib.import_module("cycler")
    plt.rcParams.update(
        {
            "axes.prop_cycle": cycler.cycler(color=COLOURS),
            "axes.grid": True,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": 11,
            "axes.titleweight": "bold",
            "figure.titlesize": 13,
            "figure.titleweight": "bold",
            "font.size": 9.5,
            "grid.alpha": 0.25,
            "legend.edgecolor": "none",
            "legend.framealpha": 0.85,
            "svg.hashsalt": "tyrex",
        }
    )
    return plt


def draw_all(draw: Callable[[Any], Mapping[str, Any]], folder: Path) -> list[str]:
    """Write every figure as SVG and PNG; their names."""
    plt = pyplot()
    if plt is None:
        return []
    names = []
    for name, figure in draw(plt).items():
        for ending in ("svg", "png"):
            figure.savefig(folder / f"{name}.{ending}", dpi=130)
        plt.close(figure)
        names.append(name)
    return names


def thousands(axis: Any) -> None:
    """Numbers with k and M on a linear or logarithmic axis; a short logarithmic one has 2 and 5 as well."""
    ticker: Any = importlib.import_module("matplotlib.ticker")
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: short(value)))
    if axis.get_scale() != "log":
        return

    def minor(value: float, _: int) -> str:
        low, high = sorted(axis.get_view_interval())
        return short(value) if 0 < high / low < 150 and f"{value:e}"[0] in "25" else ""

    axis.set_minor_formatter(ticker.FuncFormatter(minor))


def short(value: float) -> str:
    """A number in few letters: 2.5M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"
