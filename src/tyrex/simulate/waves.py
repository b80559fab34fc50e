"""A network of processors, driven in waves: sources hand in the events of a span of time, and all comes to rest.

The processors are those that run over sockets, each with its engines; only the links are simulated, and the clock is
that of the links. Event time is told by the sources (`Settings.lateness` is None), so a wave may be a microsecond or an
hour: what is detected is the same. Large waves let columns of thousands of events go through at once; a wave of a
single moment measures how long it takes until a sink has what that moment made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tyrex.network.blocks import SEPARATOR, Block
from tyrex.network.control.settings import STRATEGIES, Mode, Settings
from tyrex.network.messages import Deploy
from tyrex.network.outputs import Deliver, Kind, Note, Output, Send
from tyrex.network.processor import Processor
from tyrex.simulate.topology import Topology
from tyrex.simulate.wires import Wires
from tyrex.simulate.workload import Feed, Workload
from tyrex.tesla.durations import SECOND

if TYPE_CHECKING:
    import pyarrow as pa

SOURCE, SINK, ADMIN = "source", "sink", "admin"
_ROUND = SECOND // 10
_QUIET = 5
_ROUNDS = 200


class UnstableError(RuntimeError):
    """The trees of a network do not come to rest."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """Events that a sink got."""

    sink: int
    """The place of the sink in the workload."""
    wish: int
    """The place of the subscription in the sink."""
    block: Block
    after: int
    """How long after the wave began, with the order of events made certain: microseconds."""
    assumed: int
    """The same if events were taken to come in order by themselves."""


@dataclass
class WaveNetwork:
    """Processors on simulated links, with the rules, sources and sinks of a workload."""

    topology: Topology
    workload: Workload
    strategy: str
    mode: str = "exact"
    wires: Wires = field(init=False)
    processors: dict[str, Processor] = field(init=False)
    notes: Counter[str] = field(default_factory=Counter)
    """What processors noted, by kind."""
    problems: list[str] = field(default_factory=list)
    """What was refused, late or lost, in words; the first few."""
    deploys: dict[tuple[str, str, str], Deploy] = field(default_factory=dict)
    """The last one for each tree, by its root, the sender and the receiver."""
    numbers: Counter[str] = field(default_factory=Counter)
    """How many events each processor has taken from its sources."""
    published: int = 0

    def __post_init__(self) -> None:
        self.wires = Wires(self.topology)
        settings = Settings(
            STRATEGIES[self.strategy], Mode(self.mode), lateness=None, heartbeat=0, settle=_ROUND, memory=0
        )
        self.processors = {name: Processor(name, settings) for name in self.topology.processors}
        self._delivered: list[Delivery] = []
        self._began = 0

    def start(self) -> None:
        """Connect the processors, define the rules, bring in sources and sinks, and wait until the trees stand."""
        for link in self.topology.links:
            for end in (link.a, link.b):
                outputs = self.processors[end].connected(self.wires.clock, link.other(end), link.delay)
                self._do(end, outputs)
        first = self.topology.processors[0]
        defined = self.processors[first].define(
            self.wires.clock, ADMIN, "rules", self.workload.rules, raced=self.workload.raced
        )
        self._do(first, defined)
        types = self.workload.parsed.types
        for place, type_ in dict.fromkeys((feed.processor, feed.type) for feed in self.workload.feeds):
            self._do(place, self.processors[place].advertise(self.wires.clock, SOURCE, types[type_]))
        for number, sink in enumerate(self.workload.sinks):
            processor = self.processors[sink.processor]
            for wish, filter_ in enumerate(sink.filters):
                outputs = processor.subscribe(self.wires.clock, f"{SINK}{number}", wish, filter_)
                self._do(sink.processor, outputs)
        self._settle()

    def wave(self, events: Iterable[tuple[Feed, pa.Table]], upto: int) -> list[Delivery]:
        """Sources hand in events, none of them after this time, and say that up to it there are no more."""
        self._delivered = []
        self._began = self.wires.clock
        self.wires.begin()
        for feed, table in events:
            self._publish(feed, table)
        for place in dict.fromkeys(feed.processor for feed in self.workload.feeds):
            self._do(place, self.processors[place].advance(self.wires.clock, SOURCE, upto))
        self._drain()
        return self._delivered

    def counts(self) -> Counter[str]:
        """What all processors count, together."""
        total: Counter[str] = Counter()
        for processor in self.processors.values():
            total.update(processor.counts())
        return total

    # --- How --------------------------------------------------------------------------------------------

    def _publish(self, feed: Feed, table: pa.Table) -> None:
        plain = [name.removeprefix(SEPARATOR) for name in table.column_names]
        self.numbers[feed.processor] += len(table)
        self.published += len(table)
        self.wires.caused(feed.processor)
        processor = self.processors[feed.processor]
        outputs = processor.publish(self.wires.clock, SOURCE, feed.type, table.rename_columns(plain))
        self._do(feed.processor, outputs)

    def _settle(self) -> None:
        """Let time pass until nothing happens any more."""
        quiet = 0
        for _ in range(_ROUNDS):
            before = self.wires.sent
            for name, processor in self.processors.items():
                self._do(name, processor.tick(self.wires.clock))
            self._drain()
            self.wires.clock += _ROUND
            quiet = quiet + 1 if self.wires.sent == before else 0
            if quiet == _QUIET:
                return
        raise UnstableError(
            f"the trees did not come to rest within {_ROUNDS * _ROUND // SECOND} simulated seconds"
        )

    def _drain(self) -> None:
        while (arrival := self.wires.next()) is not None:
            processor = self.processors[arrival.receiver]
            self._do(arrival.receiver, processor.receive(self.wires.clock, arrival.sender, arrival.message))

    def _do(self, name: str, outputs: Iterable[Output]) -> None:
        for output in outputs:
            match output:
                case Send(to=to, message=message):
                    if isinstance(message, Deploy):
                        self.deploys[message.tree.root, name, to] = message
                    self.wires.send(name, to, message)
                case Deliver(client=client, subscription=wish, block=block):
                    after = self.wires.clock - self._began
                    assumed = self.wires.cause(name) - self._began
                    sink = int(client.removeprefix(SINK))
                    self._delivered.append(Delivery(sink, wish, block, after, assumed))
                case Note():
                    self.notes[output.kind] += 1
                    if output.kind is not Kind.NOTICED and len(self.problems) < 20:
                        self.problems.append(f"{name}: {output.text}")
