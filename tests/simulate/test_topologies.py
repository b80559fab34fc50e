"""Networks that are made or read."""

from __future__ import annotations

from math import dist
from pathlib import Path

import pytest

from tyrex.simulate.topologies import barabasi_albert, grid, tree, waxman
from tyrex.simulate.topology import Link, Topology, TopologyError, components
from tyrex.simulate.topology_file import parse_topology, read_topology

MODELS = {"waxman": waxman, "barabasi_albert": barabasi_albert}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("processors", [5, 20, 50, 200])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_network_as_brite_makes_it_is_connected_and_has_the_degree_asked_for(
    model: str, processors: int, seed: int
) -> None:
    """Both models give so many processors, in one piece, with the average number of neighbours."""
    degree = min(5, processors - 1)
    made = MODELS[model](processors, degree=degree, seed=seed)
    assert len(made.processors) == processors
    assert made.degree == pytest.approx(degree, abs=1 / processors)
    assert len(components(made.processors, made.links)) == 1


@pytest.mark.parametrize("model", MODELS)
def test_the_delays_of_a_network_have_the_average_asked_for(model: str) -> None:
    """Delays are lengths, scaled."""
    made = MODELS[model](50, degree=4, seed=3, delay=7000)
    delays = [link.delay for link in made.links]
    assert sum(delays) / len(delays) == pytest.approx(7000, rel=0.001)
    assert len(set(delays)) > 50


@pytest.mark.parametrize("model", MODELS)
def test_a_seed_makes_one_network(model: str) -> None:
    """The same seed gives the same network, another one another."""
    make = MODELS[model]
    assert make(20, degree=4, seed=5) == make(20, degree=4, seed=5)
    assert make(20, degree=4, seed=5) != make(20, degree=4, seed=6)


def test_waxman_prefers_near_processors_and_barabasi_albert_those_with_links() -> None:
    """Links of Waxman are shorter than pairs are on average; in the other model the greatest degree is far greater."""
    near, wide = waxman(200, degree=4, seed=1), waxman(200, degree=4, seed=1, beta=1e9)
    assert _mean_length(near) < 0.75 * _mean_length(wide)
    assert _greatest(barabasi_albert(200, degree=4, seed=1)) > 1.5 * _greatest(wide)


def test_a_grid_links_neighbours_and_a_tree_branches() -> None:
    """3 by 2 processors have 7 links; in a tree each link leads away from the root."""
    assert len(grid(3, 2).links) == 7
    made = tree(7, children=2)
    assert [(link.a, link.b) for link in made.links] == [
        ("p1", "p2"),
        ("p1", "p3"),
        ("p2", "p4"),
        ("p2", "p5"),
        ("p3", "p6"),
        ("p3", "p7"),
    ]
    assert made.distances("p1")["p7"] == 10_000


@pytest.mark.parametrize(
    ("processors", "degree", "said"),
    [(0, 5, "empty"), (5, 5, "give at most 4"), (10, 1.5, "give at least 1.80")],
)
def test_a_degree_that_can_not_be_is_refused(processors: int, degree: float, said: str) -> None:
    """The message says which degrees can be."""
    with pytest.raises(TopologyError, match=said):
        waxman(processors, degree=degree)


def test_shortest_ways_are_those_of_the_delays() -> None:
    """A detour over short links is shorter than a long link."""
    made = Topology(("a", "b", "c"), (Link("a", "b", 2000), Link("b", "c", 3000), Link("a", "c", 9000)))
    assert made.distances("a") == {"a": 0, "b": 2000, "c": 5000}
    assert made.nearest("c", 2) == ("c", "b")


def test_a_network_is_read_from_a_file(tmp_path: Path) -> None:
    """Each line is a link with its delay, and its bandwidth if it has one."""
    path = tmp_path / "net.csv"
    path.write_text("from,to,delay_ms,mbit_per_s\n# the coast\na, b, 2.5,\nb,c,4,8\n", "utf-8")
    made = read_topology(path)
    assert made.processors == ("a", "b", "c")
    assert made.links == (Link("a", "b", 2500), Link("b", "c", 4000, 1e6))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty: begin with the line `from,to,delay_ms`"),
        ("from,to,delay_ms\n", "has no link"),
        ("from,too,delay_ms\na,b,1\n", "net:1: there is no column `too`: did you mean `to`?"),
        ("from,to\na,b\n", "net:1: the column `delay_ms` is missing"),
        ("from,to,delay_ms\na,b,soon\n", "net:2: `delay_ms` is 'soon': give a number, 0 or more"),
        ("from,to,delay_ms\na,,1\n", "net:2: a link needs two processors"),
        ("from,to,delay_ms\na,a,1\n", "net: `a` is linked to itself"),
        ("from,to,delay_ms\na,b,1\nb,a,2\n", "net: `b` and `a` are linked twice"),
        ("from,to,delay_ms\na,b,1\nc,d,2\n", "net: the network has 2 parts without a link between them"),
        ("from,to,delay_ms,mbit_per_s\na,b,1,0\n", "has no bandwidth"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_its_place(text: str, said: str) -> None:
    """Every mistake is told with the line, and what to do."""
    with pytest.raises(TopologyError) as raised:
        parse_topology(text, "net")
    assert said in str(raised.value)


def _mean_length(made: Topology) -> float:
    return sum(dist(made.places[link.a], made.places[link.b]) for link in made.links) / len(made.links)


def _greatest(made: Topology) -> int:
    return max(len(near) for near in made.neighbours.values())
