"""The pictures of the T-Rex paper's figures, laid out as in the paper; its own numbers are dashed and grey."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.paper_compare import CompareFigure
from benchmarks.paper_figures import Said
from benchmarks.paper_measure import MeasuredPanel, MeasuredSweep
from benchmarks.paper_queue import QueueFigure
from benchmarks.rates import curve

from benchmarks import plots

LINES = ("--", "-.", (0, (1, 2)))


def _said(axes: Any, said: Sequence[Said]) -> None:
    """The paper's numbers: a line through points, or across the picture where the text gives only one coordinate."""
    for number, each in enumerate(said):
        style = {"color": plots.PAPER, "linestyle": LINES[number], "linewidth": 1.3}
        label = f"{each.label} ({each.section})"
        if len(each.points) > 1:
            axes.plot([x for x, _ in each.points], [y for _, y in each.points], label=label, **style)
        elif each.points[0][0]:
            axes.axvline(each.points[0][0], label=label, **style)
        else:
            axes.axhline(each.points[0][1], label=label, **style)


def compared(plt: Any, figure: CompareFigure) -> Any:
    """Figures 5 to 7: composites in a second by the rate."""
    rows = -(-len(figure.panels) // figure.columns)
    size = (max(4.6 * figure.columns + 1.2, 7.5), 3.3 * rows + 0.9)
    picture, grid = plt.subplots(rows, figure.columns, figsize=size, squeeze=False, layout="constrained")
    for axes, panel in zip(grid.flat, figure.panels, strict=True):
        fastest = max(each.rate for each in panel.figures)
        low, high = 100.0, 3 * fastest
        for each in panel.figures:
            made = each.composites / each.events
            rates = [low * (high / low) ** (step / 80) for step in range(81)]
            axes.plot(
                rates,
                [min(rate, each.rate) * made for rate in rates],
                color=plots.OURS if each.engine == "tyrex" else plots.PEER,
                label=f"{'Tyrex' if each.engine == 'tyrex' else 'Esper 9'}: "
                f"{plots.short(each.rate)} events/s, {plots.short(each.rate * made)} composites/s",
            )
        _said(axes, panel.said)
        _rate_axes(axes)
        axes.set_ylim(top=axes.get_ylim()[1] * 30 ** (0.6 + 0.2 * len(panel.said)))
        axes.set_title(panel.title)
        axes.legend(loc="upper left", fontsize=7.5)
    picture.suptitle(f"Figure {figure.number}. {figure.title}: composites/s by the rate of input events")
    return picture


def _rate_axes(axes: Any) -> None:
    axes.set(xscale="log", yscale="log", xlabel="input events/s", ylabel="composite events/s")
    plots.thousands(axes.xaxis)
    plots.thousands(axes.yaxis)


def sweep(plt: Any, measured: MeasuredSweep) -> Any:
    """Figures 8 to 15: on the left the time for an event, on the right composites in a second."""
    rows = len(measured.panels)
    size = (11, 3.7 * rows + 0.6)
    picture, grid = plt.subplots(rows, 2, figsize=size, squeeze=False, layout="constrained")
    for (left, right), panel in zip(grid, measured.panels, strict=True):
        _times(left, panel, measured.varied)
        _rates(right, panel)
    picture.suptitle(f"Figure {measured.number}. {measured.title}")
    return picture


def _times(axes: Any, panel: MeasuredPanel, varied: str) -> None:
    places = list(range(len(panel.variants)))
    averages = [each.timing.average for each in panel.variants]
    p99s = [each.timing.p99 for each in panel.variants]
    for values, shift, label, colour in (
        (averages, -0.19, "average", plots.COLOURS[0]),
        (p99s, 0.19, "99th percentile", plots.COLOURS[3]),
    ):
        bars = axes.bar([place + shift for place in places], values, 0.36, label=label, color=colour)
        axes.bar_label(bars, [plots.short(value) for value in values], fontsize=8)
    _said(axes, panel.times)
    axes.set_yscale("log")
    bottom = min(averages) / 3
    top = max([*p99s, *(y for said in panel.times for _, y in said.points)])
    axes.set_ylim(bottom, top * (top / bottom) ** 0.4)
    plots.thousands(axes.yaxis)
    axes.set_xticks(places, labels=[each.label for each in panel.variants])
    axes.grid(axis="x", visible=False)
    axes.set(
        ylabel="microseconds for an event",
        xlabel=f"{varied}; events come at {panel.variants[0].single_rate:,.0f}/s",
        title=f"{panel.title}: processing time",
    )
    axes.legend(loc="upper left", fontsize=8)


def _rates(axes: Any, panel: MeasuredPanel) -> None:
    said = [x for each in panel.rates for x, _ in each.points if x]
    end = 2 * max([*(point.rate for each in panel.variants for point in each.points), *said])
    for number, each in enumerate(panel.variants):
        line = [(rate, made) for rate, made in curve(each.points, end) if made > 0]
        measured = {point.rate for point in each.points}
        colour = plots.COLOURS[number % len(plots.COLOURS)]
        axes.plot([x for x, _ in line], [y for _, y in line], color=colour, label=each.label)
        marked = [(x, y) for x, y in line if x in measured]
        axes.plot([x for x, _ in marked], [y for _, y in marked], "o", markersize=4, color=colour)
    _said(axes, panel.rates)
    _rate_axes(axes)
    axes.set_ylim(top=axes.get_ylim()[1] * 10 ** (0.25 * (len(panel.variants) + len(panel.rates))))
    axes.set_title(f"{panel.title}: throughput")
    axes.legend(loc="upper left", fontsize=8)


def queue(plt: Any, number: int, title: str, x: str, panels: Sequence[QueueFigure], note: str) -> Any:
    """Figures 16 and 17: what is dropped, by the size of the queue."""
    picture, grid = plt.subplots(1, len(panels), figsize=(11, 4.2), squeeze=False, layout="constrained")
    for letter, axes, panel in zip("ab", grid.flat, panels, strict=True):
        for size in sorted({each.queue for each in panel.dropped}):
            line = [each for each in panel.dropped if each.queue == size]
            axes.plot(
                [each.x for each in line], [each.percent for each in line], "o-", label=f"queue of {size:,}"
            )
        if number == 16:
            axes.axvline(panel.limit, **plots.TARGET)
            said = " busy all the time\n in batches of 100"
            axes.text(panel.limit, 100, said, color=plots.TARGET["color"], fontsize=8, va="top")
        else:
            axes.set_xscale("log")
        axes.set_ylim(-3, 100)
        plots.thousands(axes.xaxis)
        axes.set(xlabel=x, ylabel="percent of the events dropped", title=f"({letter}) {panel.policy}-within")
    handles, labels = grid.flat[0].get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    picture.suptitle(f"Figure {number}. {title} ({note})")
    return picture
