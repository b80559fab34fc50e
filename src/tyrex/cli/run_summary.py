"""What a run comes to, in one line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_RULES_SHOWN = 8
_WORTH_TELLING = 1.0  # seconds


@dataclass(frozen=True)
class Summary:
    """The counts of a run."""

    events: int
    composites: int
    by_rule: Mapping[str, int] = field(default_factory=dict)
    """How many of the composite events each rule made, where that is told."""
    rejected: int = 0
    late: int = 0
    late_note: str = ""
    """What can be done about them."""
    unused: int = 0
    open_deadlines: int = 0
    overflows: int = 0
    seconds: float | None = None
    """How long it took, where that is told."""

    def __str__(self) -> str:
        out = counted(self.composites, "composite event", " out")
        parts = [counted(self.events, "event", " in"), f"{out}{self._rules()}"]
        parts += [f"{self.rejected:,} rejected"] if self.rejected else []
        parts += [f"{self.late:,} late{self.late_note}"] if self.late else []
        parts += [f"{self.unused:,} of types that no rule knows"] if self.unused else []
        parts += [counted(self.open_deadlines, "deadline", " still open")] if self.open_deadlines else []
        parts += [counted(self.overflows, "overflow")] if self.overflows else []
        if self.seconds is not None and self.seconds >= _WORTH_TELLING:
            parts.append(f"{self.seconds:.1f} s, {rate(self.events, self.seconds)}")
        return ", ".join(parts)

    def _rules(self) -> str:
        if len(self.by_rule) < 2:
            return ""
        most = sorted(self.by_rule.items(), key=lambda item: -item[1])
        shown = [f"{rule} {count:,}" for rule, count in most[:_RULES_SHOWN]]
        more = len(most) - _RULES_SHOWN
        return f" ({', '.join(shown)}{f', {more} more rules' if more > 0 else ''})"


def counted(count: int, what: str, rest: str = "") -> str:
    """A count and what is counted: "1 event in", "2 events in"."""
    return f"{count:,} {what}{'' if count == 1 else 's'}{rest}"


def rate(events: int, seconds: float) -> str:
    """How many events in a second, in readable figures."""
    per_second = events / max(seconds, 1e-9)
    if per_second >= 1e6:
        return f"{per_second / 1e6:.1f} million events/s"
    return f"{per_second:,.0f} events/s"
