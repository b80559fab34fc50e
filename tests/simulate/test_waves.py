"""Processors on simulated links: delays, traffic and counts that can be computed by hand."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tyrex.network.messages import Ack, Tree
from tyrex.simulate.deployment import Deployment
from tyrex.simulate.measure import measure
from tyrex.simulate.scenario import STRATEGIES, Run
from tyrex.simulate.topology import Link, Topology
from tyrex.simulate.waves import Delivery, WaveNetwork
from tyrex.simulate.wires import Wires
from tyrex.simulate.workload import Feed, Sink, Workload
from tyrex.tesla.durations import MILLISECOND, MINUTE, SECOND

LINE = Topology(("a", "b", "c"), (Link("a", "b", 2 * MILLISECOND), Link("b", "c", 3 * MILLISECOND)))
A, B = Feed("a", "A", 1), Feed("b", "B", 1)
WORKLOAD = Workload(
    "event A(v: int)\nevent B(v: int)\nRule r define C() from A() and last B() within 10 s from A",
    (A, B),
    (Sink("c", ("C()",)),),
)


def test_the_delay_on_a_line_is_that_of_its_links() -> None:
    """With one tree, A is at the root at once, B's time comes after 2 ms, and the composite takes 5 ms to the sink.

    With a tree for each sink, A travels 5 ms to the root, where the sink is, and brings the time of all with it.
    """
    assert _delay("ST") == (7 * MILLISECOND, 5 * MILLISECOND)
    assert _delay("Centr") == (7 * MILLISECOND, 5 * MILLISECOND)
    assert _delay("MT") == (5 * MILLISECOND, 5 * MILLISECOND)


def test_the_traffic_on_a_line_is_counted_link_by_link() -> None:
    """One tree: three B go to the root a, and two composites over both links back to c.

    A tree for the sink: b, on the way from a to c, has all that the rule needs, and detects; only composites go on.
    """
    assert _events(_ran("ST")) == {("b", "a"): 3, ("a", "b"): 2, ("b", "c"): 2}
    assert _events(_ran("MT")) == {("a", "b"): 2, ("b", "c"): 2}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_message_that_is_sent_arrives(strategy: str) -> None:
    """Nothing is under way when a wave is over, and nothing was refused, late or lost."""
    scenario = Deployment(processors=8, degree=3, types=12, rules=6, subscriptions=2, slowest=0.1)
    topology = scenario.topology()
    network = WaveNetwork(topology, scenario.workload(topology), strategy)
    network.start()
    for second in range(0, 60, 20):
        events = network.workload.events(second * SECOND, (second + 20) * SECOND)
        network.wave(events, (second + 20) * SECOND - 1)
        assert network.wires.sent == network.wires.arrived
    assert network.published == network.counts()["published"] > 500
    assert not network.problems


def test_bandwidth_makes_messages_wait_for_each_other() -> None:
    """Two messages of 9 bytes on a link of 900 bytes/s with 1 ms: the second one leaves when the first one has."""
    topology = Topology(("a", "b"), (Link("a", "b", MILLISECOND, 900.0),))
    wires = Wires(topology)
    message = Ack(Tree("root1", 1))
    wires.send("a", "b", message)
    wires.send("a", "b", message)
    size = wires.traffic.total().bytes // 2
    arrivals = []
    while (arrival := wires.next()) is not None:
        arrivals.append(arrival.clock)
    took = round(size / 900 * SECOND)
    assert arrivals == [MILLISECOND + took, MILLISECOND + 2 * took]


def test_waves_of_any_length_detect_the_same() -> None:
    """Events handed in second by second, and minute by minute, are the same events, and so are the composites."""
    scenario = Deployment(processors=6, degree=2, types=9, rules=5, subscriptions=3, slowest=0.2, window=5)
    topology = scenario.topology()
    workload = scenario.workload(topology)
    short, long = (
        measure(topology, workload, "MT", "exact", Run(2 * MINUTE, 0, span, samples=0, check=True))
        for span in (SECOND, 2 * MINUTE)
    )
    assert short.difference == long.difference
    assert short.difference is not None
    assert short.difference.exact
    assert short.delivered == long.delivered > 100
    assert short.forwarded.events == long.forwarded.events


def test_the_paper_mode_is_wrong_now_and_then_and_the_exact_mode_never() -> None:
    """With chains of `last`, leaving out what leads nowhere brings back what it had hidden."""
    scenario = Deployment(processors=6, degree=2, types=9, rules=20, slowest=0.05, subscriptions=6, window=5)
    topology = scenario.topology()
    workload = scenario.workload(topology)
    run = Run(10 * MINUTE, 0, 10 * MINUTE, samples=0, check=True)
    exact, paper = (measure(topology, workload, "MT", mode, run) for mode in ("exact", "paper"))
    assert exact.difference is not None
    assert paper.difference is not None
    assert exact.difference.exact
    assert paper.difference.extra + paper.difference.missing > 0
    assert paper.forwarded.events < exact.forwarded.events


def test_delays_are_measured_at_moments_when_something_is_detected() -> None:
    """Each sample is a composite; with order made certain it takes at least as long as without."""
    scenario = Deployment(processors=8, degree=3, types=12, rules=6, subscriptions=2, slowest=0.1)
    topology = scenario.topology()
    outcome = measure(topology, scenario.workload(topology), "ST", "exact", Run(MINUTE, MINUTE, samples=20))
    assert len(outcome.delays) == len(outcome.assumed) >= 20
    assert all(known >= taken for known, taken in zip(outcome.delays, outcome.assumed, strict=True))
    assert 0 < sum(outcome.assumed) / len(outcome.assumed) < 40


def _ran(strategy: str) -> WaveNetwork:
    """B at 1, 2 and 4 s, A at 3 and 5 s, all in one wave."""
    network = WaveNetwork(LINE, WORKLOAD, strategy)
    network.start()
    network.wires.traffic.clear()
    found = network.wave([(A, _table(3, 5)), (B, _table(1, 2, 4))], 6 * SECOND)
    assert [len(one.block) for one in found] == [2]
    return network


def _events(network: WaveNetwork) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for (sender, receiver, _), count in network.wires.traffic.counts.items():
        if count.events:
            found[sender, receiver] = found.get((sender, receiver), 0) + count.events
    return found


def _delay(strategy: str) -> tuple[int, int]:
    """Of a composite whose terminator comes alone."""
    network = WaveNetwork(LINE, WORKLOAD, strategy)
    network.start()
    network.wave([(B, _table(1))], 2 * SECOND)
    (one,) = network.wave([(A, _table(3))], 3 * SECOND)
    assert isinstance(one, Delivery)
    return one.after, one.assumed


def _table(*seconds: int) -> pa.Table:
    times = pa.array([second * SECOND for second in seconds], pa.int64())
    return pa.table({"timestamp": times, "@v": pa.array([0] * len(seconds), pa.int64())})
