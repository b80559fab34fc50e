"""Counts and times of the server, in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tyrex.engine import Stats
from tyrex.server.node import Node
from tyrex.server.node.state import Counts

_BOUNDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


@dataclass
class Histogram:
    """How long something took."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(_BOUNDS) + 1))
    total: float = 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        self.total += seconds
        for place, bound in enumerate(_BOUNDS):
            if seconds <= bound:
                self.counts[place] += 1
                return
        self.counts[-1] += 1

    def lines(self, name: str) -> Iterable[str]:
        """It as Prometheus reads it."""
        yield f"# TYPE {name} histogram"
        below = 0
        for bound, count in zip((*map(str, _BOUNDS), "+Inf"), self.counts, strict=True):
            below += count
            yield f'{name}_bucket{{le="{bound}"}} {below}'
        yield f"{name}_sum {self.total}"
        yield f"{name}_count {below}"


@dataclass
class Metrics:
    """What the API counts itself."""

    publishing: Histogram = field(default_factory=Histogram)
    rejected: int = 0
    """Events that were none of their type."""
    refused: dict[str, int] = field(default_factory=dict)
    """Requests by the code of the problem they were answered with."""

    def refuse(self, code: str) -> None:
        """Count a request that was not done."""
        self.refused[code] = self.refused.get(code, 0) + 1

    def text(self, node: Node, counts: Counts, stats: Stats, subscriptions: int) -> str:
        """All of it, with what the node and its engine count."""
        progress, journal = node.progress, node.store.journal
        lines: list[str] = []

        def add(name: str, kind: str, help_: str, values: Mapping[str, float] | float) -> None:
            lines.append(f"# HELP tyrex_{name} {help_}")
            lines.append(f"# TYPE tyrex_{name} {kind}")
            if isinstance(values, Mapping):
                lines.extend(f"tyrex_{name}{{{label}}} {value}" for label, value in values.items())
            else:
                lines.append(f"tyrex_{name} {values}")

        add("events_accepted_total", "counter", "Events that were made safe.", counts.accepted)
        add("events_duplicate_total", "counter", "Events that were sent before.", counts.duplicates)
        add("events_late_total", "counter", "Events that came too late.", counts.late)
        add(
            "events_rejected_total",
            "counter",
            "Events that were none of their type.",
            counts.rejected + self.rejected,
        )
        add("events_unused_total", "counter", "Events of types that no rule knows.", stats.unused)
        add("detections_total", "counter", "Composite events.", counts.detected)
        add(
            "detections_dropped_total",
            "counter",
            "Composite events beyond the limit of a rule.",
            counts.dropped,
        )
        add("subscriptions", "gauge", "Subscribers that are connected.", subscriptions)
        add("queue_events", "gauge", "Events that wait.", progress.waiting)
        add("queue_events_greatest", "gauge", "The most that have waited.", progress.greatest)
        add("queue_capacity", "gauge", "How many may wait.", node.settings.capacity)
        add("log_bytes", "gauge", "Bytes of the event log.", journal.size)
        add("log_syncs_total", "counter", "Waits for the disk.", progress.syncs)
        add("snapshots_total", "counter", "Snapshots taken since the start.", progress.snapshots)
        add("disk_full", "gauge", "Whether events are refused as the disk is full.", int(progress.disk_full))
        add("up", "gauge", "Whether the node takes events.", int(not node.failure))
        add("engine_stored_events", "gauge", "Events that a window may still reach.", stats.stored)
        add("engine_bytes", "gauge", "About how much memory they take.", stats.bytes)
        add("engine_waiting_events", "gauge", "Events that wait for the watermark.", stats.waiting)
        add(
            "rule_evaluated_total",
            "counter",
            "How often the terminator of a rule came.",
            {f'rule="{name}"': rule.evaluated for name, rule in stats.rules.items()},
        )
        add(
            "rule_fired_total",
            "counter",
            "Composite events of a rule.",
            {f'rule="{name}"': rule.fired for name, rule in stats.rules.items()},
        )
        add(
            "requests_refused_total",
            "counter",
            "Requests that were not done, by the code of the problem.",
            {f'code="{code}"': count for code, count in sorted(self.refused.items())},
        )
        lines.extend(self.publishing.lines("tyrex_publish_seconds"))
        return "\n".join(lines) + "\n"
