"""What trees need to go on: events for parents, and from time to time how far things have come."""

from __future__ import annotations

from tyrex.network.control.branch import Branch
from tyrex.network.control.forest import Forest
from tyrex.network.control.labels import label
from tyrex.network.control.outbox import Outbox
from tyrex.network.control.settings import Settings
from tyrex.network.control.sinks import Sinks
from tyrex.network.control.sources import Sources
from tyrex.network.messages import BEGINNING, END, Delivered, Done, Events

PATIENCE = 5
"""So many heartbeats pass between two messages that say up to when sinks have got everything."""


class Upkeep:
    """Sends what waits in the branches of a processor, and watermarks where nothing waits."""

    def __init__(
        self, settings: Settings, sources: Sources, sinks: Sinks, forest: Forest, outbox: Outbox
    ) -> None:
        self._settings = settings
        self._sources = sources
        self._sinks = sinks
        self._forest = forest
        self._outbox = outbox

    def send_up(self, now: int) -> None:
        """Send what waits, the events for several trees of one parent together."""
        due: dict[str, list[Branch]] = {}
        for branch in self._forest.branches.values():
            parent = branch.place.parent
            if parent is None or branch.data is None:
                continue
            urgent = branch.waiting or branch.answered is not None
            if urgent or (branch.upto > branch.told and self._passed(now, branch.told_at, 1)):
                due.setdefault(parent, []).append(branch)
        for parent, branches in due.items():
            blocks = label({branch.tree: branch.waiting for branch in branches})
            upto = tuple((branch.tree, branch.upto) for branch in branches if branch.upto > branch.told)
            answers = tuple((b.tree, b.answered) for b in branches if b.answered is not None)
            self._outbox.send(parent, Events(blocks, upto, answers))
            for branch in branches:
                branch.waiting, branch.answered = [], None
                branch.told, branch.told_at = branch.upto, now

    def _passed(self, now: int, at: int | None, heartbeats: int) -> bool:
        return at is None or now >= at + heartbeats * self._settings.heartbeat

    def tell(self, now: int, *, current: bool) -> None:
        """Tell from time to time how far things have come, and forget what nobody needs any more.

        If a new epoch is due, the own tree is not `current`: it may not bring all that sinks want by now.
        """
        for branch in self._forest.branches.values():
            if branch.data is None and branch.place.parent is None:
                continue
            root = branch.place.parent is None
            wanted = root and any(branch.place.subscribed.values()) and current
            if wanted and END > branch.told > branch.passed and self._passed(now, branch.passed_at, 1):
                branch.passed, branch.passed_at = branch.told, now
                branch.route((), None, branch.told, self._outbox)
            if (root or self._forest.single) and self._passed(now, branch.delivered_at, PATIENCE):
                self._tell_delivered(now, branch)
        keep = self._forest.keep_from()
        if self._sources.time > BEGINNING:
            recent = self._sources.time - self._settings.memory
            self._sources.forget(recent if keep is None else min(keep, recent), now - self._settings.memory)

    def _tell_delivered(self, now: int, branch: Branch) -> None:
        """Up to when sinks have got everything: to the parent, or from the root to all that keep events."""
        place = branch.place
        known = [place.delivered.get(child) for child, filters in place.subscribed.items() if filters]
        if self._sinks:
            known.append(self._sinks.delivered)
        times = [time for time in known if time is not None]
        if len(times) < len(known):
            return  # somebody has not got anything yet
        if place.parent is not None and not times:
            return
        upto = min(times, default=branch.told)
        if upto >= END or upto <= branch.done:
            return
        branch.done, branch.delivered_at = upto, now
        if place.parent is not None:
            self._outbox.send(place.parent, Delivered(branch.tree, upto))
        else:
            branch.keep(upto)
            for child in branch.deploys:
                self._outbox.send(child, Done(branch.tree, upto))
