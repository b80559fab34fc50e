"""A processor of the network: takes messages, calls of clients and the time, and says what is to be done.

It does no I/O, has no thread and looks at no clock: the same object runs over sockets and in the simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, assert_never

from tyrex.events import Event
from tyrex.network.blocks import Block
from tyrex.network.control.branch import Branch
from tyrex.network.control.filters import read_filter, type_wanted
from tyrex.network.control.forest import Forest
from tyrex.network.control.outbox import Outbox
from tyrex.network.control.roots import Due, agreed_types, groups_wanted, job_of_root, start_of
from tyrex.network.control.rulebook import Agreed, Rulebook
from tyrex.network.control.settings import Settings
from tyrex.network.control.sinks import Sinks, Subscription
from tyrex.network.control.sources import RefusedError, Sources, check_type
from tyrex.network.control.topology import Topology
from tyrex.network.control.upkeep import Upkeep
from tyrex.network.data.interface import Task, TreeData
from tyrex.network.data.tree import LocalTree
from tyrex.network.messages import (
    BEGINNING,
    END,
    Ack,
    Advertise,
    Awaken,
    Changed,
    Composites,
    CreateTree,
    Delivered,
    Deploy,
    Done,
    Events,
    Links,
    Message,
    Nack,
    Retune,
    Rules,
    Subscribe,
    Tree,
)
from tyrex.network.outputs import Kind, Output
from tyrex.raced import translate
from tyrex.tesla import EventType, TeslaError
from tyrex.tesla.format import format_tree

if TYPE_CHECKING:
    import pyarrow as pa


class Processor:
    """One processor. Every call has the time, in microseconds, and gives what follows from it, in order.

    A transport calls `connected` and `disconnected`, `receive` and, at least once in each heartbeat, `tick`; the
    rest is for clients. `incarnation` must grow when a processor of the same name is started again.
    """

    def __init__(
        self,
        name: str,
        settings: Settings,
        *,
        data: Callable[[Task], TreeData] = LocalTree,
        incarnation: int = 0,
    ) -> None:
        self.name = name
        self.settings = settings
        self._outbox = Outbox()
        self._topology = Topology(name)
        self._rulebook = Rulebook()
        self._sources = Sources(name, settings.lateness)
        self._sinks = Sinks()
        self._forest = Forest(name, settings, self._topology, self._sources, self._sinks, self._outbox, data)
        self._upkeep = Upkeep(settings, self._sources, self._sinks, self._forest, self._outbox)
        self._due = Due(settings.settle)
        self._epoch = incarnation
        self._version = incarnation
        self._touched: dict[str, Branch] = {}
        self._now = BEGINNING
        self._topology.learn(Links(name, self._version, settings.weight, ()))
        self._started = False

    # --- The transport ------------------------------------------------------------------------------------

    def connected(self, now: int, neighbour: str, delay: int) -> list[Output]:
        """There is a link to a neighbour; `delay` is how long a message takes, in microseconds."""
        self._begin(now)
        self._forest.neighbours[neighbour] = delay
        for links in self._topology.states:
            self._outbox.send(neighbour, links)
        for rules in self._rulebook.entries:
            self._outbox.send(neighbour, rules)
        self._links_changed()
        return self._finish()

    def disconnected(self, now: int, neighbour: str) -> list[Output]:
        """A link is gone, and what was on its way."""
        self._begin(now)
        if self._forest.neighbours.pop(neighbour, None) is not None:
            self._outbox.note(Kind.NOTICED, f"the link to {neighbour} is gone")
            self._links_changed()
            self._forest.lost(neighbour)
        return self._finish()

    def tick(self, now: int) -> list[Output]:
        """Time has passed."""
        self._begin(now)
        return self._finish()

    def receive(self, now: int, sender: str, message: Message) -> list[Output]:
        """A message of a neighbour."""
        self._begin(now)
        if sender in self._forest.neighbours:
            self._take(sender, message)
        else:
            self._outbox.counts["of strangers"] += 1
        return self._finish()

    # --- Clients ------------------------------------------------------------------------------------------

    def advertise(self, now: int, client: str, type_: EventType) -> list[Output]:
        """A client will publish events of this type."""
        self._begin(now)
        try:
            check_type(type_.name, ((a.name, a.type) for a in type_.attributes))
            known = self._types().get(type_.name)
            if known is not None and known.attributes != type_.attributes:
                raise RefusedError(
                    f"expected {known}, as others advertise it, found {type_}; use one of them"
                )
            if self._sources.advertise(client, type_):
                self._types_changed(f"`{type_.name}` is advertised at {self.name}")
        except RefusedError as error:
            self._outbox.note(Kind.REFUSED, str(error), client)
        return self._finish()

    def withdraw(self, now: int, client: str, type_: str | None = None) -> list[Output]:
        """A client will publish no more events of this type, or of any."""
        self._begin(now)
        if self._sources.withdraw(client, type_):
            self._types_changed(f"a type is no longer advertised at {self.name}")
        return self._finish()

    def publish(self, now: int, client: str, type_: str, events: Sequence[Event] | pa.Table) -> list[Output]:
        """Events of one type that the client has advertised: objects, or a table of columns."""
        self._begin(now)
        try:
            accepted = self._sources.publish(self._now, client, type_, events)
        except RefusedError as error:
            self._outbox.counts["refused"] += len(events)
            self._outbox.note(Kind.REFUSED, str(error), client, len(events))
            return self._finish()
        if accepted.late:
            self._outbox.counts["late"] += accepted.late
            text = f"{accepted.late} events of `{type_}` came after their time was closed"
            self._outbox.note(Kind.LATE, text, client, accepted.late)
        if accepted.block is not None:
            self._outbox.counts["published"] += len(accepted.block)
            for branch in self._forest.branches.values():
                if branch.data is not None and branch.task is not None and type_ in branch.task.types:
                    branch.data.local((accepted.block,), self._sources.closed)
                    self._touch(branch)
        return self._finish()

    def advance(self, now: int, client: str, upto: int) -> list[Output]:
        """A client will publish nothing more up to this time of its events, if sources tell the time."""
        self._begin(now)
        self._sources.advance(client, upto)
        return self._finish()

    def subscribe(self, now: int, client: str, number: int, filter: str) -> list[Output]:
        """A client wants events: `Fire(area = "A1")`. The number is its name for the subscription."""
        self._begin(now)
        try:
            wanted = type_wanted(filter)
            known = self._agreed().rules.types.get(wanted)
            if known is not None:
                read_filter(filter, known)
            if not self._sinks.add(Subscription(client, number, filter), self._present()):
                raise RefusedError(f"expected a new number, found {number}, which is taken; use another")
            self._wishes_changed()
        except (TeslaError, RefusedError) as error:
            self._outbox.note(Kind.REFUSED, str(error), client)
        return self._finish()

    def unsubscribe(self, now: int, client: str, number: int | None = None) -> list[Output]:
        """A client no longer wants something, or anything."""
        self._begin(now)
        if self._sinks.remove(client, number):
            self._wishes_changed()
        return self._finish()

    def define(self, now: int, client: str, name: str, text: str, *, raced: bool = False) -> list[Output]:
        """A set of rules under a name, in TESLA or RACED; it takes the place of an earlier one of that name."""
        self._begin(now)
        try:
            written = format_tree(translate(text, name=name)) if raced else text
            version = max(self._version, self._rulebook.version(self.name, name)) + 1
            rules = Rules(self.name, name, version, written, self._present())
            self._check(rules)
            self._flood_rules(rules)
        except (TeslaError, RefusedError) as error:
            self._outbox.note(Kind.REFUSED, str(error), client)
        return self._finish()

    def undefine(self, now: int, client: str, name: str) -> list[Output]:
        """Take away a set of rules that was defined here."""
        self._begin(now)
        if self._rulebook.text(self.name, name):
            version = self._rulebook.version(self.name, name) + 1
            self._flood_rules(Rules(self.name, name, version, ""))
        else:
            text = f"expected the name of rules that were defined at {self.name}, found `{name}`; define them first"
            self._outbox.note(Kind.REFUSED, text, client)
        return self._finish()

    def left(self, now: int, client: str) -> list[Output]:
        """A client is gone: it publishes and wants nothing more. Its rules stay."""
        self._begin(now)
        if self._sources.withdraw(client):
            self._types_changed(f"a source left {self.name}")
        if self._sinks.remove(client):
            self._wishes_changed()
        return self._finish()

    # --- What it knows of itself --------------------------------------------------------------------------

    @property
    def branches(self) -> Mapping[str, Branch]:
        """The trees that the processor is part of, by their roots: to look at, not to change."""
        return self._forest.branches

    @property
    def topology(self) -> Topology:
        """What the processor knows of the network."""
        return self._topology

    @property
    def delivered(self) -> int | None:
        """Up to which time the sinks of this processor have got everything; None before a tree brings anything."""
        return self._sinks.delivered

    def counts(self) -> dict[str, int]:
        """What was published, refused, late, passed over; and what its trees hold now."""
        counts = dict(self._outbox.counts)
        counts["kept of own sources"] = len(self._sources)
        counts["found again"] = self._sinks.doubles
        for branch in self._forest.branches.values():
            for name, number in (branch.data.counts() if branch.data is not None else {}).items():
                counts[name] = counts.get(name, 0) + number
        return counts

    # --- Messages -----------------------------------------------------------------------------------------

    def _take(self, sender: str, message: Message) -> None:
        forest = self._forest
        match message:
            case Links():
                self._take_links(sender, message)
            case Rules():
                if self._rulebook.learn(message):
                    self._pass_on(message, sender)
                    self._rules_changed()
            case CreateTree():
                forest.create(sender, message)
            case Ack(tree=tree):
                forest.answered(sender, tree, child=True)
            case Nack(tree=tree):
                forest.answered(sender, tree, child=False)
            case Advertise():
                forest.advertised(sender, message)
            case Subscribe():
                branch = forest.subscribed(sender, message)
                if branch is not None and branch.place.parent is None and branch.task is not None:
                    self._check_wishes(branch)
            case Changed():
                if forest.changed(message):
                    self._due.mark(self._now)
            case Deploy():
                branch = forest.deployed(sender, message)
                if branch is not None:
                    self._touch(branch)
            case Events():
                self._take_events(sender, message)
            case Composites():
                self._take_composites(sender, message)
            case Delivered():
                branch = forest.find(message.tree)
                if branch is not None:
                    branch.place.delivered[sender] = message.upto
            case Done():
                forest.done(message)
            case Awaken():
                branch = self._fed(message.tree)
                if branch is not None and branch.data is not None:
                    branch.data.awakened(message)
            case Retune():
                branch = self._fed(message.tree)
                if branch is not None and branch.data is not None:
                    branch.data.retuned(message)
            case _:
                assert_never(message)

    def _fed(self, tree: Tree) -> Branch | None:
        """The branch of a tree that is deployed, which will be looked at when the call ends."""
        branch = self._forest.find(tree)
        if branch is None or branch.data is None:
            return None
        self._touch(branch)
        return branch

    def _touch(self, branch: Branch) -> None:
        self._touched[branch.tree.root] = branch

    def _take_links(self, sender: str, message: Links) -> None:
        if message.origin == self.name:
            if message.version > self._version:  # of an earlier life
                self._version = message.version
                self._links_changed()
        elif self._topology.learn(message):
            self._pass_on(message, sender)
            self._network_changed()

    def _take_events(self, sender: str, message: Events) -> None:
        blocks: dict[Tree, list[Block]] = {tree: [] for tree, _ in (*message.upto, *message.answered)}
        for trees, block in message.blocks:
            for tree in trees:
                blocks.setdefault(tree, []).append(block)
        upto, answered = dict(message.upto), dict(message.answered)
        for tree, found in blocks.items():
            branch = self._fed(tree)
            if branch is None or branch.data is None or sender not in branch.deploys:
                self._outbox.counts["events of other epochs"] += sum(map(len, found))
            else:
                branch.data.received(sender, found, upto.get(tree), answered.get(tree))

    def _take_composites(self, sender: str, message: Composites) -> None:
        branch = self._forest.find(message.tree)
        if branch is None:
            self._outbox.counts["events of other epochs"] += sum(map(len, message.blocks))
            return
        down = sender == branch.place.parent
        self._deliver(branch, message.blocks)
        branch.route(message.blocks, sender, message.upto if down else None, self._outbox)
        if down and message.upto is not None and self._mine(branch):
            self._sinks.passed(message.upto)

    # --- Change -------------------------------------------------------------------------------------------

    def _links_changed(self) -> None:
        self._version += 1
        delays = tuple(sorted(self._forest.neighbours.items()))
        links = Links(self.name, self._version, self.settings.weight, delays)
        self._topology.learn(links)
        self._pass_on(links, None)
        self._network_changed()

    def _network_changed(self) -> None:
        self._forest.prune()
        self._due.mark(self._now)

    def _pass_on(self, message: Message, sender: str | None) -> None:
        for neighbour in self._forest.neighbours:
            if neighbour != sender:
                self._outbox.send(neighbour, message)

    def _flood_rules(self, rules: Rules) -> None:
        self._rulebook.learn(rules)
        self._pass_on(rules, None)
        self._rules_changed()

    def _rules_changed(self) -> None:
        """A root begins a new epoch if the rules that it deploys are others now."""
        branch = self._forest.branches.get(self.name)
        if branch is None or branch.task is None:
            self._due.mark(self._now)
        else:
            self._check_wishes(branch)

    def _types_changed(self, why: str) -> None:
        self._forest.tell_change(why)
        self._due.mark(self._now)

    def _wishes_changed(self) -> None:
        """The clients of this processor want something else than before."""
        for branch in self._forest.branches.values():
            if branch.place.announced and self._forest.single:
                self._forest.subscribe_up(branch)
        branch_of_own = self._forest.branches.get(self.name)
        if branch_of_own is None or branch_of_own.task is None:
            self._due.mark(self._now)
        else:
            self._check_wishes(branch_of_own)

    def _check_wishes(self, branch: Branch) -> None:
        if self._wishes(branch) != branch.wishes:
            self._due.mark(self._now)

    def _wishes(self, branch: Branch) -> tuple[object, ...]:
        """What an epoch depends on besides the network: the rules that are wanted, and primitive events."""
        types = self._types()
        filters = self._forest.filters(branch)
        groups = groups_wanted(self._agreed(types), filters, self.settings)
        primitive = tuple(text for text in filters if type_wanted(text) in types)
        return (tuple(group.rules for group in groups), primitive)

    # --- The own tree -------------------------------------------------------------------------------------

    def _is_root(self) -> bool:
        if self._forest.single:
            return self._topology.leader() == self.name
        return bool(self._sinks)

    def _root(self) -> None:
        if not self._is_root():
            self._forest.fell()
        elif self._due.is_due(self._now):
            self._due.clear()
            self._epoch += 1
            self._forest.plant(self._epoch)
        while self._forest.standing:
            branch = self._forest.standing.pop()
            if self._forest.branches.get(self.name) is branch:
                self._deploy(branch)

    def _deploy(self, branch: Branch) -> None:
        place = branch.place
        tables = [(child, place.types_of(child)) for child in place.children]
        types = agreed_types(self._sources.types, tables, self._outbox)
        start = start_of(place.advertised.values(), self._sinks, self._sources.time)
        known = (self._sinks.delivered, *(told.delivered for told in place.advertised.values()))
        job = job_of_root(
            branch.tree,
            start,
            types,
            self._agreed(types),
            self._forest.filters(branch),
            self.settings,
            self._outbox,
            again=any(time is not None for time in known),
        )
        self._forest.assign(branch, job)
        branch.wishes = self._wishes(branch)
        branch.announced = frozenset(self._sources.types)
        branch.done = start
        self._outbox.note(Kind.NOTICED, f"epoch {branch.tree.epoch} of the tree of {self.name} begins")
        self._touch(branch)

    def _types(self) -> dict[str, EventType]:
        """The types that are known here to be advertised."""
        known: dict[str, EventType] = {}
        for branch in self._forest.branches.values():
            tables = [(child, branch.place.types_of(child)) for child in branch.place.children]
            known |= agreed_types({}, tables, Outbox())
        return {**known, **self._sources.types}

    def _agreed(self, types: Mapping[str, EventType] | None = None) -> Agreed:
        return self._rulebook.agreed(self._types() if types is None else types)

    def _check(self, rules: Rules) -> None:
        """Refuse rules that fit neither the types that are known here nor stand by themselves."""
        who = f"{rules.origin}/{rules.name}"
        problems = dict(self._rulebook.agreed(self._types(), rules).refused)
        if who in problems and who in dict(self._rulebook.agreed({}, rules).refused):
            raise RefusedError(problems[who])

    def _present(self) -> int:
        """The time of events, as far as it is known here."""
        known = [branch.told for branch in self._forest.branches.values() if branch.told < END]
        return max(self._sources.time, *known, BEGINNING)

    # --- Every call ---------------------------------------------------------------------------------------

    def _begin(self, now: int) -> None:
        self._now = max(now, self._now)
        if not self._started:
            self._started = True
            self._due.mark(self._now)

    def _finish(self) -> list[Output]:
        """Do what all the changes of this call lead to, and give what is to be done."""
        before = self._sources.closed
        self._sources.clock(self._now)
        self._root()
        if self._sources.closed != before:
            for branch in self._forest.clock():
                self._touch(branch)
        self._step()
        self._upkeep.tell(self._now, current=not self._due.marked)
        return self._outbox.take()

    def _step(self) -> None:
        """Let trees do what they can do, and send what comes of it."""
        for root, branch in self._touched.items():
            if branch.data is None or self._forest.branches.get(root) is not branch:
                continue
            step = branch.data.step()
            for child, question in step.down:
                self._outbox.send(child, question)
            self._deliver(branch, step.composites)
            branch.route(step.composites, None, None, self._outbox)
            if branch.place.parent is None:
                self._deliver(branch, step.up)
                branch.route(step.up, None, None, self._outbox)
                branch.told = step.completed
                if step.completed < END and not self._due.marked:
                    self._sinks.passed(step.completed)
            else:
                branch.waiting += step.up
                branch.upto = step.upto
                if step.answered is not None:
                    branch.answered = step.answered
        self._touched.clear()
        self._upkeep.send_up(self._now)

    def _deliver(self, branch: Branch, blocks: Sequence[Block]) -> None:
        if blocks and self._mine(branch):
            if not branch.heard:  # the epoch may find again what an earlier one has found
                branch.heard = True
                self._sinks.begin_epoch()
            self._outbox.deliver(self._sinks.deliver(blocks))

    def _mine(self, branch: Branch) -> bool:
        """Whether the tree brings events for the sinks of this processor."""
        if self._forest.single:
            return branch.tree.root == self._topology.leader()
        return branch.place.parent is None
