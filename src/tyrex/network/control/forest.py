"""The trees that a processor is part of: how they are built, deployed, kept up and given up."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tyrex.network.control.branch import Branch
from tyrex.network.control.division import Job, declared_of, divide, job_of
from tyrex.network.control.outbox import Outbox
from tyrex.network.control.settings import Building, Settings, Trees
from tyrex.network.control.sinks import Sinks
from tyrex.network.control.sources import Sources
from tyrex.network.control.topology import Topology
from tyrex.network.control.tree import Place, combined
from tyrex.network.data.interface import Task, TreeData
from tyrex.network.messages import (
    BEGINNING,
    END,
    Ack,
    Advertise,
    Changed,
    CreateTree,
    Deploy,
    Done,
    Nack,
    Subscribe,
    Tree,
)


class Forest:
    """All trees at one processor, by their roots. What it sends goes into the outbox."""

    def __init__(
        self,
        name: str,
        settings: Settings,
        topology: Topology,
        sources: Sources,
        sinks: Sinks,
        outbox: Outbox,
        data: Callable[[Task], TreeData],
    ) -> None:
        self.name = name
        self.branches: dict[str, Branch] = {}
        self.neighbours: dict[str, int] = {}
        """With the delays of the links."""
        self.standing: list[Branch] = []
        """Own trees that stand now and are to be deployed."""
        self._settings = settings
        self._topology = topology
        self._sources = sources
        self._sinks = sinks
        self._outbox = outbox
        self._data = data
        self._lingering: int | None = None

    @property
    def single(self) -> bool:
        """Whether there is one tree for all."""
        return self._settings.strategy.trees is Trees.SINGLE

    def find(self, tree: Tree) -> Branch | None:
        """The branch of exactly this epoch; what belongs to another is passed over and counted."""
        branch = self.branches.get(tree.root)
        if branch is None or branch.tree != tree:
            self._outbox.counts["of other epochs"] += 1
            return None
        return branch

    # --- Building -----------------------------------------------------------------------------------------

    def plant(self, epoch: int) -> Branch:
        """Begin a new epoch of the processor's own tree."""
        tree = Tree(self.name, epoch)
        branch = self._new_branch(tree, None)
        if self._settings.strategy.building is Building.LINK_STATES:
            parents = self._topology.parents(self.name)
            self._pass_on(branch, CreateTree(tree, tuple(sorted(parents.items()))))
        else:
            self._ask(branch, self.neighbours)
        self.go_on(branch)
        return branch

    def _new_branch(self, tree: Tree, parent: str | None) -> Branch:
        old = self.branches.get(tree.root)
        branch = Branch(Place(tree, parent), None if old is None else old.keep_from)
        self.branches[tree.root] = branch
        return branch

    def _ask(self, branch: Branch, neighbours: Iterable[str]) -> None:
        asked = sorted(neighbours)
        branch.place.ask(asked)
        for neighbour in asked:
            self._outbox.send(neighbour, CreateTree(branch.tree))

    def _pass_on(self, branch: Branch, message: CreateTree) -> None:
        """Tell the children that the root has computed."""
        branch.place.adopt(child for child, parent in message.parents if parent == self.name)
        for child in branch.place.children:
            if child in self.neighbours:
                self._outbox.send(child, message)

    def create(self, sender: str, message: CreateTree) -> None:
        """A neighbour wants to be the parent."""
        tree = message.tree
        known = self.branches.get(tree.root)
        if tree.root == self.name or (known is not None and known.tree.epoch >= tree.epoch):
            if not message.parents:
                self._outbox.send(sender, Nack(tree))
            return
        branch = self._new_branch(tree, sender)
        if message.parents:
            self._pass_on(branch, message)
        else:
            self._outbox.send(sender, Ack(tree))
            self._ask(branch, self.neighbours.keys() - {sender})
        self.go_on(branch)

    def answered(self, sender: str, tree: Tree, *, child: bool) -> None:
        """A neighbour has said whether it is a child."""
        branch = self.find(tree)
        if branch is not None:
            branch.place.answer(sender, child=child)
            self.go_on(branch)

    def advertised(self, sender: str, message: Advertise) -> None:
        """A child's part of the tree stands."""
        branch = self.find(message.tree)
        if branch is not None:
            branch.place.advertised[sender] = message
            if message.delivered is not None:
                branch.place.delivered[sender] = message.delivered
            self.go_on(branch)

    def go_on(self, branch: Branch) -> None:
        """Tell the parent when this part of the tree stands."""
        place = branch.place
        if place.announced or not place.stands:
            return
        place.announced = True
        if place.parent is None:
            self.standing.append(branch)
            return
        if self.single:
            self.subscribe_up(branch)
        tables = (place.types_of(child) for child in place.children)
        mine = tuple(declared_of(self._sources.types[name]) for name in sorted(self._sources.types))
        types, _ = combined((mine, *tables))
        branch.announced = frozenset(self._sources.types)
        self._outbox.send(
            place.parent,
            Advertise(
                branch.tree,
                types,
                self._least_delivered(branch),
                self._reached(branch),
                self._first_awaited(branch),
            ),
        )

    def _least_delivered(self, branch: Branch) -> int | None:
        """Up to when all sinks have got everything that this tree brings them."""
        messages = branch.place.advertised.values()
        known = [m.delivered for m in messages if m.delivered is not None]
        if self.single and self._sinks.delivered is not None:
            known.append(self._sinks.delivered)
        return min(known, default=None)

    def _first_awaited(self, branch: Branch) -> int | None:
        known = [m.awaited for m in branch.place.advertised.values() if m.awaited is not None]
        if self.single and self._sinks.awaited is not None:
            known.append(self._sinks.awaited)
        return min(known, default=None)

    def _reached(self, branch: Branch) -> int | None:
        messages = branch.place.advertised.values()
        known = [m.reached for m in messages if m.reached is not None]
        if self._sources.time > BEGINNING:
            known.append(self._sources.time)
        return max(known, default=None)

    # --- Subscriptions ------------------------------------------------------------------------------------

    def subscribed(self, sender: str, message: Subscribe) -> Branch | None:
        """What the sinks behind a child want; the branch, if they have changed."""
        branch = self.find(message.tree)
        if branch is None:
            return None
        place = branch.place
        if place.subscribed.get(sender, ()) == message.filters:
            return None
        place.subscribed[sender] = message.filters
        if not message.filters:
            place.delivered.pop(sender, None)
        if place.announced:
            self.subscribe_up(branch)
        return branch

    def filters(self, branch: Branch) -> tuple[str, ...]:
        """All that sinks want of a tree, here and below, each once."""
        tables = branch.place.subscribed.values()
        own = self._sinks.filters if self.single or branch.place.parent is None else ()
        return tuple(sorted(set(own).union(*tables)))

    def subscribe_up(self, branch: Branch) -> None:
        """Tell the parent what sinks want, if it is something else than before."""
        filters = self.filters(branch)
        if branch.place.parent is not None and filters != branch.place.wanted:
            branch.place.wanted = filters
            self._outbox.send(branch.place.parent, Subscribe(branch.tree, filters))

    # --- Deployment ---------------------------------------------------------------------------------------

    def deployed(self, sender: str, message: Deploy) -> Branch | None:
        """The parent says what to detect; the branch, if it is of this epoch."""
        branch = self.find(message.tree)
        if branch is None or branch.place.parent != sender:
            return None
        self.assign(branch, job_of(message))
        return branch

    def assign(self, branch: Branch, job: Job) -> None:
        """Divide the work, tell the children, and begin."""
        place = branch.place
        table = {
            child: frozenset(
                declared.name
                for declared in place.types_of(child)
                if declared.name in job.types and declared == declared_of(job.types[declared.name])
            )
            for child in place.children
        }
        own = frozenset(name for name, type_ in self._sources.types.items() if job.types.get(name) == type_)
        strategy, mode = self._settings.strategy, self._settings.mode
        division = divide(job, self.name, place.parent, own, table, strategy, mode)
        for child, deploy in division.deploys.items():
            self._outbox.send(child, deploy)
        task = division.task
        branch.assign(task, self._data(task), dict(division.deploys))
        self._lingering = None
        assert branch.data is not None
        feed = [b for b in self._sources.log(max(BEGINNING, job.start - job.horizon)) if b.type in own]
        branch.data.local(feed, self._own_time(branch))

    def _own_time(self, branch: Branch) -> int:
        """The time of the own sources; where there are none, and no children either, time stands still."""
        if self._sources.closed == END and not branch.deploys and not self._sources.types:
            return BEGINNING
        return self._sources.closed

    def clock(self) -> list[Branch]:
        """The time of the own sources has moved; the branches that want to know."""
        moved = [branch for branch in self.branches.values() if branch.data is not None]
        for branch in moved:
            assert branch.data is not None
            branch.data.local((), self._own_time(branch))
        return moved

    # --- Change -------------------------------------------------------------------------------------------

    def changed(self, message: Changed) -> bool:
        """Something has changed for a tree: tell its root. True if this is the root."""
        branch = self.branches.get(message.root)
        if message.root == self.name:
            return branch is None or message.epoch >= branch.tree.epoch
        if branch is not None and branch.place.parent is not None:
            self._outbox.send(branch.place.parent, message)
        return False

    def tell_change(self, why: str) -> None:
        """The processor's own types have changed: every tree in which they were told must be built anew."""
        for root, branch in self.branches.items():
            if branch.place.announced and branch.place.parent is not None:
                self._outbox.send(branch.place.parent, Changed(root, branch.tree.epoch, why))

    def lost(self, neighbour: str) -> None:
        """A neighbour is gone: it will not answer."""
        for branch in list(self.branches.values()):
            branch.place.answer(neighbour, child=False)
            self.go_on(branch)

    def prune(self) -> None:
        """Give up trees whose roots are gone, or are the leader no longer."""
        reachable = self._topology.reachable()
        leader = self._topology.leader()
        for root in list(self.branches):
            if (self.single and root != leader) or root not in reachable:
                self._drop(root)

    def done(self, message: Done) -> None:
        """No later epoch of a tree starts before a moment, or the tree is not needed any more."""
        branch = self.find(message.tree)
        if branch is None:
            return
        for child in branch.place.children if message.upto == END else branch.deploys:
            self._outbox.send(child, message)
        if message.upto == END:
            del self.branches[message.tree.root]
        else:
            branch.keep(message.upto)

    def fell(self) -> None:
        """The processor's own tree is not needed any more."""
        branch = self.branches.pop(self.name, None)
        if branch is not None:
            for child in branch.place.children:
                self._outbox.send(child, Done(branch.tree, END))

    def _drop(self, root: str) -> None:
        branch = self.branches.pop(root)
        if self.single and branch.keep_from is not None:
            self._lingering = min(branch.keep_from, END if self._lingering is None else self._lingering)

    def keep_from(self) -> int | None:
        """Own events behind this moment may be needed again; None if no tree needs any."""
        known = [branch.keep_from for branch in self.branches.values() if branch.keep_from is not None]
        if self._lingering is not None:
            known.append(self._lingering)
        return min(known, default=None)
