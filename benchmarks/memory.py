"""Memory over 100 million events that bring ever new strings, in windows of a minute.

    .venv/bin/python -m benchmarks.memory [--events N] [--quick] [--format json]

Events come a millisecond apart: orders, and payments of orders half a second old. Every order has a number as a text
that never came before; one payment in four is of an order that never was, with a text of its own. The rules join by
this text, `Paid`, and wait for what does not come, `Unpaid`, so that every text is in a window, in lists by its value,
in a deadline, and in composite events.

The engine frees what no window reaches from time to time, so its memory goes up and down. What counts is the most that
it holds: the second half of the run is cut into twenty parts, and memory is flat if the line that fits the maxima of
the parts best rises by no more than 2% of their mean.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.process import MEGABYTE, fresh, resident
from benchmarks.report import Machine, Report, Table, Verdict, arguments, publish

import tyrex

RULES = """
event Order(number: string, amount: int)
event Payment(number: string)

Rule paid
define Paid(number: string, amount: int)
from   Payment(number = $n) and
       last Order(number = $n) within 1 min from Payment
where  number = $n, amount = Order.amount

Rule unpaid
define Unpaid(number: string)
from   1 min after Order(number = $n) and
       not Payment(number = $n) between Order and Timer
where  number = $n
"""
EVENTS = 100_000_000
QUICK_EVENTS = 5_000_000
BATCH = 8_192
SAMPLES = 1_000
PARTS = 20
AGE = 250
"""A payment is of the order so many orders ago."""
START = 1_000_000_000_000
"""Microseconds: the first event."""
FLAT = 2.0
"""Percent."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The memory after so many events."""

    events: int
    resident: float
    """Megabytes of the process."""
    engine: float
    """Megabytes that the engine counts."""
    stored: int


@dataclass(frozen=True, slots=True)
class Result:
    """A whole run."""

    events: int
    paid: int
    unpaid: int
    seconds: float
    samples: tuple[Sample, ...]


def batch(first: int, count: int) -> Any:
    """The events from a number on, as a table: even ones are orders, odd ones payments."""
    pa: Any = importlib.import_module("pyarrow")
    pc: Any = importlib.import_module("pyarrow.compute")
    numbers = pa.array(range(first, first + count), pa.int64())
    odd = pc.bit_wise_and(numbers, 1)
    orders = pc.shift_right(numbers, 1)
    payment = pc.equal(odd, 1)
    nobody = pc.and_(payment, pc.equal(pc.bit_wise_and(orders, 3), 3))
    which = pc.subtract(orders, pc.multiply(odd, AGE))
    prefix = pc.if_else(nobody, "no order ", "order ")
    return pa.table(
        {
            "type": pa.DictionaryArray.from_arrays(odd.cast(pa.int32()), pa.array(["Order", "Payment"])),
            "timestamp": pc.add(pc.multiply(numbers, 1_000), START).cast(pa.timestamp("us", tz="UTC")),
            "number": pc.binary_join_element_wise(prefix, which.cast(pa.string()), ""),
            "amount": pc.if_else(payment, pa.scalar(None, pa.int64()), pc.bit_wise_and(orders, 1023)),
        }
    )


def measure(events: int, samples: int = SAMPLES, size: int = BATCH) -> Result:
    """Send so many events; to be run in a process of its own."""
    engine = tyrex.Engine(RULES)
    taken: list[Sample] = []
    counts = {"Paid": 0, "Unpaid": 0}
    start = time.perf_counter()
    for at in range(0, events, size):
        found = engine.send_batch(batch(at, min(size, events - at)))
        for name, table in found.tables().items():
            counts[name] += len(table)
        done = min(at + size, events)
        if done * samples // events > len(taken):
            stats = engine.stats()
            taken.append(Sample(done, resident() / MEGABYTE, stats.bytes / MEGABYTE, stats.stored))
    return Result(events, counts["Paid"], counts["Unpaid"], time.perf_counter() - start, tuple(taken))


def growth(values: Sequence[float]) -> float:
    """By how many percent of their mean the line that fits the values best rises from the first to the last."""
    middle, mean = (len(values) - 1) / 2, sum(values) / len(values)
    slope = sum((place - middle) * (value - mean) for place, value in enumerate(values)) / sum(
        (place - middle) ** 2 for place in range(len(values))
    )
    return 100 * slope * (len(values) - 1) / mean


def maxima(values: Sequence[float], parts: int = PARTS) -> list[float]:
    """The greatest value of each of so many parts."""
    size = max(1, len(values) // parts)
    return [max(values[at : at + size]) for at in range(0, size * min(parts, len(values)), size)]


def second_half(result: Result) -> tuple[Sample, ...]:
    """The samples that count."""
    return result.samples[len(result.samples) // 2 :]


def report(result: Result) -> Report:
    """The report of what was measured."""
    half = second_half(result)
    places = [round(share * (len(result.samples) - 1)) for share in (0, 0.1, 0.25, 0.5, 0.75, 1)]
    rows = tuple(
        (f"{sample.events:,}", sample.resident, sample.engine, sample.stored)
        for sample in (result.samples[place] for place in places)
    )
    verdicts = (
        Verdict("growth of the process", growth(maxima([each.resident for each in half])), FLAT, "%"),
        Verdict(
            "growth of what the engine counts", growth(maxima([each.engine for each in half])), FLAT, "%"
        ),
    )
    flat = all(verdict.met for verdict in verdicts)
    return Report(
        "memory",
        f"Memory over {result.events:,} events with ever new strings, in windows of a minute",
        (Table(("events", "process MB", "engine MB", "events stored"), rows),),
        verdicts,
        (
            f"Over the second half the memory is {'flat' if flat else 'NOT flat'}.",
            f"{result.paid:,} paid and {result.unpaid:,} unpaid orders were found.",
            f"{result.events / result.seconds:,.0f} events/s; making the texts is part of the time.",
        ),
        asdict(result) | {"flat": flat},
    )


def draw(plt: Any, result: Result) -> dict[str, Any]:
    """The memory over the events."""
    figure, axes = plt.subplots(figsize=(8.5, 4.2), layout="constrained")
    at = [sample.events / 1e6 for sample in result.samples]
    axes.plot(at, [sample.resident for sample in result.samples], label="process (resident)")
    axes.plot(at, [sample.engine for sample in result.samples], label="engine (stats().bytes)")
    half = second_half(result)
    axes.axvspan(half[0].events / 1e6, at[-1], color="black", alpha=0.04, label="the half that counts")
    axes.set_ylim(bottom=0)
    axes.set(
        xlabel="million events",
        ylabel="megabytes",
        title="Memory with ever new strings, windows of a minute (60,000 events)",
    )
    axes.legend(loc="center right")
    return {"memory": figure}


def main() -> None:
    """Measure and show."""
    parser = arguments(__doc__)
    parser.add_argument("--events", type=int, help=f"how many; {EVENTS:,} if not given")
    options = parser.parse_args()
    machine = Machine()
    result = fresh(measure, options.events or (QUICK_EVENTS if options.quick else EVENTS))
    publish(report(result), lambda plt: draw(plt, result), options, machine)


if __name__ == "__main__":
    main()
