"""How fast networks are simulated: the default scenario of the deployment paper, and growth with processors.

    .venv/bin/python -m benchmarks.network_simulation [--quick] [--format json]

The processors are those that run over sockets, with their engines; sources hand in the events of twenty minutes at a
time. Setting up is apart: flooding links and rules, building trees, deploying partial rules.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.report import Machine, Report, Table, Verdict, arguments, publish

from tyrex.simulate.deployment import Deployment
from tyrex.simulate.waves import WaveNetwork
from tyrex.simulate.workload import spans
from tyrex.tesla.durations import HOUR, MINUTE, SECOND

DAY_TARGET = 60.0
"""Seconds for a day of the default scenario with ST."""
GROWTH_TARGET = 10.0
"""With a hundred times the processors, an event may cost so many times as much: ways are longer, columns shorter."""
SPAN = 20 * MINUTE
DAY = 24 * HOUR
SIZES = (5, 20, 50, 100, 200, 500)
STRATEGIES = ("Centr", "ST", "MT", "STpp", "MTpp")


@dataclass(frozen=True, slots=True)
class Row:
    """One network."""

    processors: int
    strategy: str
    simulated: float
    """Seconds of event time."""
    events: int
    hops: int
    """Events over links."""
    setup: float
    """Seconds on the processor until the trees stand."""
    run: float
    """Seconds on the processor for the events."""

    @property
    def rate(self) -> float:
        """Events of sources in a second."""
        return self.events / self.run

    @property
    def day(self) -> float:
        """How long a day of it takes."""
        return self.run * DAY / SECOND / self.simulated


def measure(processors: int, strategy: str, duration: int, *, span: int = SPAN) -> Row:
    """Run the default scenario on a network of this size."""
    scenario = Deployment(processors=processors, degree=min(5.0, processors - 1.0))
    topology = scenario.topology()
    workload = scenario.workload(topology)
    network = WaveNetwork(topology, workload, strategy)
    before = time.process_time()
    network.start()
    setup = time.process_time() - before
    network.wires.traffic.clear()
    run = 0.0
    for first, last in spans(0, duration, span):
        events = workload.events(first, last)
        before = time.process_time()
        network.wave(events, last - 1)
        run += time.process_time() - before
    if network.problems:
        raise AssertionError(network.problems[0])
    hops = network.wires.traffic.total(["Events", "Composites"]).events
    return Row(processors, strategy, duration / SECOND, network.published, hops, setup, run)


def report(by_strategy: list[Row], by_size: list[Row]) -> Report:
    """The report of what was measured."""
    header = (
        "",
        "processors",
        "simulated s",
        "events",
        "events over links",
        "set-up s",
        "events/s",
        "a day takes s",
    )

    def table(rows: list[Row], title: str) -> Table:
        return Table(
            header,
            tuple(
                (r.strategy, r.processors, r.simulated, r.events, r.hops, r.setup, r.rate, r.day)
                for r in rows
            ),
            title,
        )

    first, last = by_size[0], by_size[-1]
    single = next(row for row in by_strategy if row.strategy == "ST")
    verdicts = (
        Verdict("a day of the default scenario, ST", single.day, DAY_TARGET, "s"),
        Verdict(
            f"cost of an event with {last.processors} processors, times that with {first.processors}",
            first.rate / last.rate,
            GROWTH_TARGET,
            "x",
        ),
    )
    return Report(
        "network_simulation",
        "Simulated networks",
        (table(by_strategy, "The default scenario"), table(by_size, "Growth with processors")),
        verdicts,
        (
            "Time on the processor. Events are those of sources; with several trees each travels on many of them.",
        ),
        [asdict(row) for row in (*by_strategy, *by_size)],
    )


def main() -> None:
    """Measure and show."""
    options = arguments(__doc__).parse_args()
    machine = Machine()
    duration = 40 * MINUTE if options.quick else 2 * HOUR
    by_strategy = [measure(20, strategy, duration) for strategy in STRATEGIES]
    sizes = SIZES[:4] if options.quick else SIZES
    by_size = [measure(processors, "ST", duration // 2) for processors in sizes]
    publish(report(by_strategy, by_size), _draw(by_size), options, machine)


def _draw(rows: list[Row]) -> Any:
    def draw(plt: Any) -> dict[str, Any]:
        """Events per second over the number of processors."""
        figure, axes = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
        axes.loglog([row.processors for row in rows], [row.rate for row in rows], marker="o")
        axes.set(xlabel="processors", ylabel="events/s", title="Simulated networks, ST")
        return {"network_simulation": figure}

    return draw


if __name__ == "__main__":
    main()
