"""The papers' figures as networks of processors: trees, tables, deployment, and what travels."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.network.networks import MS, Watched, ids, type_of
from tests.network.plain_data import PlainData

from tyrex.network import messages as m
from tyrex.network.control.settings import Mode
from tyrex.network.control.topology import Topology

FIGURE_3 = {
    ("1", "2"): 10 * MS,
    ("1", "3"): 10 * MS,
    ("2", "4"): 10 * MS,
    ("2", "5"): 10 * MS,
    ("3", "5"): 50 * MS,
    ("3", "6"): 60 * MS,
    ("4", "6"): 10 * MS,
    ("4", "7"): 10 * MS,
}
FIRE = """
event Smoke(area: string)
event Temp(area: string, value: float)
Rule fire
define Fire(area: string, value: float)
from   Smoke(area = $a) and last Temp(area = $a and value > 45) within 5 min from Smoke
where  area = $a, value = Temp.value
"""
SMOKE = type_of("Smoke", area="string")
TEMP = type_of("Temp", area="string", value="float")


def figure_3(strategy: str) -> Watched:
    """Smoke comes from 7, temperatures from 6, and sinks at 1 and 5 want fires; 2 would be the leader."""
    network = Watched(FIGURE_3, PlainData, strategy, weights={"2": 1})
    network.advertise("7", "source", SMOKE)
    network.advertise("6", "source", TEMP)
    network.define("3", "admin", "fire", FIRE)
    network.subscribe("1", "sink", 1, "Fire()")
    network.subscribe("5", "sink", 1, 'Fire(area = "A1")')
    network.settle()
    return network


def travelled(network: Watched, since: int) -> list[tuple[str, str, str, tuple[str, ...]]]:
    """The events that were sent: from, to, type, and the roots of the trees that they are labelled with."""
    return [
        (sender, to, block.type, tuple(tree.root for tree in trees))
        for sender, to, message in network.messages(m.Events, since)
        if isinstance(message, m.Events)
        for trees, block in message.blocks
        for _ in range(len(block))
    ]


def test_a_single_tree_has_the_leader_as_its_root() -> None:
    """Fig. 3(a): 2 is the leader; all events go up to where they meet, and fires down to 1 and 5."""
    network = figure_3("Centr")
    parents = {"1": "2", "2": None, "3": "1", "4": "2", "5": "2", "6": "4", "7": "4"}
    assert network.parents("2") == parents
    assert {root for p in network.processors.values() for root in p.branches} == {"2"}
    since = network.now
    network.emit("6", "Temp", area="A1", value=50.0)
    network.settle(200 * MS)
    network.emit("7", "Smoke", area="A1")
    network.settle()
    assert [str(e).split("#")[1][32:] for e in network.got("1")] == ['(area="A1", value=50.0)']
    assert network.got("5") == network.got("1")
    assert travelled(network, since) == [
        ("6", "4", "Temp", ("2",)),
        ("4", "2", "Temp", ("2",)),
        ("7", "4", "Smoke", ("2",)),
        ("4", "2", "Smoke", ("2",)),
    ]
    down = [(a, b) for a, b, c in network.messages(m.Composites, since) if c.blocks]  # type: ignore[union-attr]
    assert sorted(down) == [("2", "1"), ("2", "5")]


def test_each_sink_has_a_tree_and_a_shared_path_carries_one_copy() -> None:
    """Fig. 3(b): trees for 1 and 5; from 6 to 2 each event travels once, with both labels, and no fire travels."""
    network = figure_3("MT")
    assert network.parents("1") == {
        "1": None,
        "2": "1",
        "3": "1",
        "4": "2",
        "5": "2",
        "6": "4",
        "7": "4",
    }
    assert network.parents("5") == {
        "1": "2",
        "2": "5",
        "3": "1",
        "4": "2",
        "5": None,
        "6": "4",
        "7": "4",
    }
    since = network.now
    network.emit("6", "Temp", area="A1", value=50.0)
    network.settle(200 * MS)
    network.emit("7", "Smoke", area="A1")
    network.settle()
    assert len(network.got("1")) == 1
    assert network.got("5") == network.got("1")
    # 4 has all that a fire needs, so it is responsible in both trees, and the fires go their own ways.
    assert travelled(network, since) == [("6", "4", "Temp", ("1", "5")), ("7", "4", "Smoke", ("1", "5"))]


def test_trees_by_link_states_are_those_by_arrival() -> None:
    """RACED's trees: the root computes them, and nobody has to answer."""
    network = figure_3("PADRES")
    for root in ("1", "5"):
        assert network.parents(root) == figure_3("MT").parents(root)
    assert network.sent["Ack"] == network.sent["Nack"] == 0


def star(mode: Mode = Mode.EXACT) -> Watched:
    """Fig. 4 and 5: 1 is the root, 2 its child, 3 to 5 have the sources."""
    network = Watched(
        {("1", "2"): 5 * MS, ("2", "3"): 5 * MS, ("2", "4"): 5 * MS, ("2", "5"): 5 * MS},
        PlainData,
        mode=mode,
        weights={"1": 1},
    )
    for at, types in (("3", "AB"), ("4", "CE"), ("5", "D")):
        for name in types:
            network.advertise(at, "source", type_of(name))
    return network


def test_types_are_combined_on_the_way_up() -> None:
    """Fig. 4: 2 has a row for each child; 1 has one row, with all types."""
    network = star()
    network.settle()
    table = network.processors["2"].branches["1"].place.advertised
    assert {child: [t.name for t in row.types] for child, row in table.items()} == {
        "3": ["A", "B"],
        "4": ["C", "E"],
        "5": ["D"],
    }
    top = network.processors["1"].branches["1"].place.advertised
    assert {child: [t.name for t in row.types] for child, row in top.items()} == {
        "2": ["A", "B", "C", "D", "E"]
    }


R4 = """
event A() event B() event C() event D() event E()
Rule R4
define CompEvent()
from   A() and last B() within 5 min from A and last C() within 5 min from B and
       last D() within 5 min from C and last E() within 5 min from D
"""


def test_a_rule_goes_to_where_all_its_events_meet_and_is_split_from_there() -> None:
    """Fig. 5: 1 gives R4 to 2 as a whole, which asks its children for the paper's partial rules."""
    network = star(Mode.PAPER)
    network.define("1", "admin", "r4", R4)
    network.settle()
    newest = {(a, b): d for a, b, d in network.messages(m.Deploy) if isinstance(d, m.Deploy)}
    whole = newest["1", "2"]
    assert [group.rules[0].splitlines()[0] for group in whole.groups] == ["Rule R4"]
    assert whole.parts == ()
    texts = {child: [t for part in d.parts for t in part.partial_rules] for (_, child), d in newest.items()}
    assert texts["3"] == ["A() and\nlast B() within 5 min from A\nsend A, B"]
    assert texts["4"] == ["C() and\neach E() within 10 min from C\nsend C, E"]
    assert texts["5"] == ["D()\nsend D"]
    assert [task.groups for task in (network.processors[n].branches["1"].task for n in "13") if task] == [
        (),
        (),
    ]


def test_what_was_not_advertised_is_refused() -> None:
    """Publishing a type that the client has not advertised gives a note, and nothing travels."""
    network = figure_3("ST")
    since = network.now
    network.emit("3", "Temp", area="A1", value=50.0)
    network.emit("6", "Smoke", area="A1")
    network.settle()
    refused = [(name, note.text) for _, name, note in network.notes if note.kind == "refused"]
    assert refused == [
        ("3", "expected events of an advertised type, found `Temp`; advertise it first"),
        ("6", "expected events of an advertised type, found `Smoke`; advertise it first"),
    ]
    assert travelled(network, since) == []


def test_composites_go_only_where_a_filter_lets_them_through() -> None:
    """The subscription tables hold what the sinks behind each child want, and fires in A2 don't go to 5."""
    network = figure_3("ST")
    root = network.processors["2"].branches["2"].place
    assert {child: filters for child, filters in root.subscribed.items() if filters} == {
        "1": ("Fire()",),
        "5": ('Fire(area = "A1")',),
    }
    since = network.now
    for area in ("A1", "A2"):
        network.emit("6", "Temp", area=area, value=50.0)
    network.settle(200 * MS)
    for area in ("A1", "A2"):
        network.emit("7", "Smoke", area=area)
    network.settle()
    assert [e.attributes["area"] for e in network.got("5")] == ["A1"]
    assert sorted(str(e.attributes["area"]) for e in network.got("1")) == ["A1", "A2"]
    to_5 = [block for _, b, c in network.messages(m.Composites, since) if b == "5" for block in c.blocks]  # type: ignore[union-attr]
    assert [len(block) for block in to_5] == [1]


@pytest.mark.parametrize("strategy", ["ST", "MT", "PADRES"])
def test_primitive_events_can_be_subscribed_to(strategy: str) -> None:
    """A sink gets the primitive events that its filter lets through, without any rule."""
    network = Watched(FIGURE_3, PlainData, strategy)
    network.advertise("6", "source", TEMP)
    network.subscribe("5", "sink", 1, "Temp(value > 45)")
    network.settle()
    sent = [network.emit("6", "Temp", area="A1", value=value) for value in (40.0, 50.0, 60.0)]
    network.settle()
    assert [e.attributes for e in network.got("5")] == [e.attributes for e in sent[1:]]
    assert ids(network.got("5")) == ["6/2", "6/3"]


graphs = st.integers(2, 7).flatmap(
    lambda size: st.tuples(
        st.tuples(*(st.integers(0, child - 1) for child in range(1, size))),
        st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=8),
        st.lists(st.integers(1, 20), min_size=size + 8, max_size=size + 8),
    )
)


@settings(max_examples=40)
@given(graphs, st.sampled_from(["ST", "PADRES"]))
def test_trees_are_shortest_paths(
    graph: tuple[tuple[int, ...], list[tuple[int, int]], list[int]], strategy: str
) -> None:
    """On any connected graph, the way up the tree takes as long as the shortest path, however it was built."""
    parents, more, delays = graph
    pairs = [(parent, child) for child, parent in enumerate(parents, 1)] + [(a, b) for a, b in more if a != b]
    edges: dict[tuple[str, str], int] = {}
    for (a, b), delay in zip(pairs, delays, strict=False):
        edges.setdefault((f"p{min(a, b)}", f"p{max(a, b)}"), delay * MS)
    network = Watched(edges, PlainData, strategy)
    network.subscribe("p0", "sink", 1, "Fire()")
    network.settle()
    topology = Topology("p0")
    for processor in network.processors.values():
        for links in processor.topology.states:
            topology.learn(links)
    distances = topology.distances("p0")
    for name, parent in network.parents("p0").items():
        if parent is not None:
            edge = edges[min(name, parent), max(name, parent)]
            assert distances[name] == distances[parent] + edge
    assert network.parents("p0").keys() == network.processors.keys()
    assert {processor.topology.leader() for processor in network.processors.values()} == {"p0"}
