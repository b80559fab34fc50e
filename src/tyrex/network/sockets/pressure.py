"""Back-pressure: a broker whose neighbour can't keep up asks all sources of the network to wait.

Brokers never stop listening to each other, since trees cross and they could wait for each other for ever. So whoever
has too much to send tells so, it is flooded, and every broker stops taking events from its own clients.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from tyrex.network.sockets.link import Frame, Link

HIGH, LOW = 4, 16
"""Pressure begins at a quarter of what may wait for a neighbour, and ends at a sixteenth."""


REPEAT = 1.0
"""Seconds; pressure is told again so often, and forgotten if nobody tells it any more."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a broker told last."""

    version: int
    on: bool
    heard: float


@dataclass(slots=True)
class Pressure:
    """Who in the network has too much to send, as far as this broker knows. Times are those of the event loop."""

    name: str
    _told: dict[str, Told] = field(default_factory=dict)
    _free: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._free.set()

    @property
    def is_on(self) -> bool:
        """Whether sources have to wait."""
        return not self._free.is_set()

    def feel(self, waiting: int, limit: int, now: float) -> bool:
        """So many bytes wait for the slowest neighbour: whether this broker has to tell something."""
        last = self._told.get(self.name, Told(0, False, now))
        on = waiting > limit // (LOW if last.on else HIGH)
        if on == last.on and not (on and now - last.heard > REPEAT):
            return False
        return self.heard(self.name, last.version + 1, on, now)

    def heard(self, origin: str, version: int, on: bool, now: float) -> bool:
        """Somebody tells; whether that is news."""
        if origin in self._told and version <= self._told[origin].version:
            return False
        self._told[origin] = Told(version, on, now)
        self._decide()
        return True

    def forget_before(self, moment: float) -> None:
        """Who has not told of pressure since then has none, or is gone."""
        for origin, told in list(self._told.items()):
            if told.on and told.heard < moment:
                self._told[origin] = Told(told.version, False, told.heard)
        self._decide()

    def _decide(self) -> None:
        if any(told.on for told in self._told.values()):
            self._free.clear()
        else:
            self._free.set()

    def pass_on(self, links: Iterable[Link], origin: str, without: str | None = None) -> None:
        """Tell the neighbours what this broker knows of one."""
        told = self._told[origin]
        for link in links:
            if link.name != without:
                link.say([Frame.PRESSURE, origin, told.version, told.on])

    def tell_all(self, link: Link) -> None:
        """Tell a neighbour who is new everything."""
        for origin, told in self._told.items():
            link.say([Frame.PRESSURE, origin, told.version, told.on])

    async def gone(self) -> None:
        """Come back when nobody asks sources to wait."""
        await self._free.wait()
