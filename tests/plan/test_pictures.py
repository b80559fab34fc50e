import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import get_args
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plan.support import EVERY_TEXT, ITERATION, MINUTE, R1, R6, R7, plan_all, plan_one
from tests.plan.support import R as RULE_R

from tyrex.plan import Format, draw
from tyrex.plan.pictures.data import automaton_data, hierarchy_data, ordering_data, rule_data
from tyrex.plan.pictures.dot import automaton_dot, hierarchy_dot, ordering_dot
from tyrex.plan.pictures.layered import Size, layered
from tyrex.plan.pictures.links import Link, LinkKind, Spot, links
from tyrex.plan.pictures.measure import text_width, wrap
from tyrex.plan.pictures.mermaid import automaton_mermaid, hierarchy_mermaid, ordering_mermaid
from tyrex.plan.pictures.names import short_names
from tyrex.plan.pictures.svg import automaton_svg, hierarchy_svg, ordering_svg
from tyrex.plan.text import show_step
from tyrex.tesla import TeslaError

SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Box:
    text: str
    left: float
    top: float
    right: float
    bottom: float

    def touches(self, other: "Box") -> bool:
        apart = self.right <= other.left or other.right <= self.left
        return not (apart or self.bottom <= other.top or other.bottom <= self.top)


def boxes(element: ElementTree.Element, x: float = 0, y: float = 0) -> Iterator[Box]:
    """Every text of a drawing and the place it takes."""
    moved = re.fullmatch(r"translate\((\S+) (\S+)\)", element.get("transform", ""))
    if moved:
        x, y = x + float(moved[1]), y + float(moved[2])
    for child in element:
        if child.tag == f"{SVG}text":
            size = float(child.get("font-size", ""))
            text = child.text or ""
            width = text_width(text, size, bold=child.get("font-weight") == "bold")
            start = {"start": 0, "middle": 0.5, "end": 1}[child.get("text-anchor", "")]
            left, base = x + float(child.get("x", "")) - start * width, y + float(child.get("y", ""))
            yield Box(text, left, base - 0.75 * size, left + width, base + 0.2 * size)
        else:
            yield from boxes(child, x, y)


def check_svg(text: str) -> list[Box]:
    """The texts of a picture, none of which touches another or leaves it."""
    root = ElementTree.fromstring(text)
    _, _, width, height = map(float, root.get("viewBox", "").split())
    found = list(boxes(root))
    for box in found:
        assert box.left >= 0, box
        assert box.right <= width, box
        assert box.top >= 0, box
        assert box.bottom <= height, box
    for one, other in combinations(found, 2):
        assert not one.touches(other), (one, other)
    return found


# --- SVG --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY_TEXT)
def test_no_text_of_a_picture_touches_another_or_leaves_it(name: str) -> None:
    """Also for long conditions, many links and several rules."""
    plan = plan_all(EVERY_TEXT[name])
    check_svg(draw(plan, "svg"))
    for rule in plan.rules:
        check_svg(draw(rule, "svg"))
        check_svg(automaton_svg(rule))
        check_svg(ordering_svg(rule))
    check_svg(hierarchy_svg(plan))


def test_the_picture_of_r7_shows_what_figure_2_shows() -> None:
    """Two models, T, W and S, the parameter $a and the negated Rain."""
    texts = [box.text for box in check_svg(draw(plan_one(R7), "svg"))]
    for shown in (
        "M1",
        "M2",
        "T",
        "W",
        "S",
        "value > 45",
        "speed > 20",
        "each, 5 min",
        "$a",
        "not Rain(area = $a)",
    ):
        assert shown in texts


def test_special_characters_are_escaped() -> None:
    """Conditions may contain anything, control characters of XML included."""
    text = """define X() from A(v = "<&>'\\t" and w != '"') and each B(x < 3) within 1 s from A"""
    texts = " ".join(box.text for box in check_svg(draw(plan_one(text), "svg")))
    assert "<&>'" in texts
    assert "x < 3" in texts


def test_a_long_word_is_broken_rather_than_drawn_over_its_neighbour() -> None:
    """Names have no limit."""
    long = "Temperature" * 12
    plan = plan_all(f"""
        Rule {long} define {long}X() from {long}A({long} > 1) and
        each {long}B as {long}2 within 1 s from {long}A
        and not {long}A({long} = 3) between {long}A and {long}2
        define Y() from {long}X()
    """)
    check_svg(draw(plan, "svg"))


@st.composite
def rule_texts(draw_one: st.DrawFn) -> str:
    """Rules with branches, parameters, constraints, negations and aggregates."""
    names = ["Alpha", "Bravo", "Charlie", "Delta", "Echo"][: draw_one(st.integers(1, 5))]
    conjuncts = [f"{names[0]}(k = $k)"]
    for number, name in enumerate(names[1:], 1):
        anchor = names[draw_one(st.integers(0, number - 1))]
        condition = draw_one(
            st.sampled_from(["", "k = $k", "k > $k", "v > 3 and k = $k", f"x{number} = $x and v < 9"])
        )
        conjuncts.append(f"each {name}({condition}) within {number} h from {anchor}")
    event = st.sampled_from(names)
    for _ in range(draw_one(st.integers(0, 4))):
        one, other = draw_one(event), draw_one(event)
        conjuncts.append(
            draw_one(
                st.sampled_from(
                    [
                        f"{one} within 3 h from {other}",
                        f"not Rain(k = $k) between {one} and {other}",
                        f"not Rain(k = $k and some_other_attribute != 1234567) within 5 min from {one}",
                        f"Avg(Wind(k = $k).speed) between {one} and {other} > 3",
                        f"Count(Wind()) within 5 min from {one} > 3",
                    ]
                )
            )
        )
    return f"define Out() from {' and '.join(conjuncts)}"


@settings(max_examples=150, deadline=None)
@given(rule_texts())
def test_the_picture_of_any_rule_is_in_order(text: str) -> None:
    """Whatever its tree and its links."""
    try:
        plan = plan_one(text)
    except TeslaError:
        return
    check_svg(draw(plan, "svg"))


# --- Links, names, layout ---------------------------------------------------------------------------------


def test_links_are_the_dashed_lines_of_figure_2() -> None:
    """S joins the models; $a links T with S and W with S; Rain is between W and S."""
    assert links(plan_one(R7)) == (
        Link(LinkKind.JOIN, (Spot(0, 0), Spot(1, 0)), ""),
        Link(LinkKind.PARAMETER, (Spot(0, 1), Spot(0, 0)), "$a"),
        Link(LinkKind.PARAMETER, (Spot(1, 2), Spot(1, 0)), "$a"),
        Link(LinkKind.NEGATION, (Spot(1, 2), Spot(1, 0)), "not Rain(area = $a)"),
    )


def test_a_parameter_can_link_two_sequences() -> None:
    """It is bound in one branch and used in another; another operator is written out."""
    plan = plan_one(
        "define X() from A() and each B(v = $v) within 1 s from A and each C(w > $v) within 1 s from A"
    )
    assert Link(LinkKind.PARAMETER, (Spot(0, 1), Spot(1, 2)), "w > $v") in links(plan)


def test_an_attribute_with_another_name_is_written_out() -> None:
    """`$a` alone says that both have the attribute that binds it."""
    plan = plan_one("""
        define X() from A(area = $a) and each B(area = $a) within 1 s from A and each C(zone = $a) within 1 s from B
    """)
    assert [(link.spots, link.label) for link in links(plan)] == [
        ((Spot(0, 1), Spot(0, 0)), "$a"),
        ((Spot(0, 2), Spot(0, 0)), "zone = $a"),
    ]


def test_conditions_without_a_parameter_are_dashed_lines_too() -> None:
    """Otherwise the picture would not show that the zone of B must be the area of A."""
    plan = plan_one("""
        define X() from A() and each B() within 1 s from A and last C(x > B.x + A.x) within 1 s from A
        and B.zone = A.area
    """)
    assert [link for link in links(plan) if link.kind is LinkKind.CONDITION] == [
        Link(LinkKind.CONDITION, (Spot(0, 1), Spot(0, 0)), "zone = A.area"),
        Link(LinkKind.CONDITION, (Spot(0, 0), Spot(0, 1), Spot(1, 2)), "x > B.x + A.x"),
    ]
    texts = [box.text for box in check_svg(draw(plan, "svg"))]
    assert {"zone = A.area", "x > B.x + A.x", "condition"} <= set(texts)


@pytest.mark.parametrize("name", EVERY_TEXT)
def test_every_part_of_a_rule_is_in_every_picture(name: str) -> None:
    """States, windows, selections, negations and dynamic conditions; each dashed line is labelled."""
    for rule in plan_all(EVERY_TEXT[name]).rules:
        pictures = [draw(rule, "svg"), draw(rule, "mermaid"), draw(rule, "dot")]
        steps = [show_step(step) for sequence in rule.sequences for step in sequence.transitions]
        for picture in pictures:
            assert all(step in picture for step in steps)
            assert all(state.type in picture for state in rule.states)
            assert all(f"not {negation.type}(" in picture for negation in rule.negations)
            assert all(f"{a.function}({a.type}(" in picture for a in rule.aggregates)
        assert all(link.label for link in links(rule) if link.kind is not LinkKind.JOIN)


def test_the_accepting_state_is_a_double_circle_and_links_are_dashed() -> None:
    """R7: two starts, T, S, W, S, of which both S are double; the joined S, `$a` twice and Rain."""
    root = ElementTree.fromstring(automaton_svg(plan_one(R7)))
    radii = sorted(float(circle.get("r", "")) for circle in root.iter(f"{SVG}circle"))
    assert [radii.count(radius) for radius in sorted(set(radii))] == [2, 4, 2]
    colours = {path.get("stroke") for path in root.iter(f"{SVG}path") if path.get("stroke-dasharray")}
    assert len(colours) == 3
    assert len(list(root.iter(f"{SVG}polygon"))) == 4


def test_a_picture_has_a_white_ground_and_a_title() -> None:
    """So that it can be read in a dark notebook, and by a screen reader."""
    root = ElementTree.fromstring(draw(plan_one(R7), "svg"))
    ground = next(root.iter(f"{SVG}rect"))
    _, _, width, height = map(float, root.get("viewBox", "").split())
    assert ground.get("fill") == "#ffffff"
    assert float(ground.get("width", "")) >= width - 1
    assert float(ground.get("height", "")) >= height - 1
    assert root.findtext(f"{SVG}title") == root.get("aria-label") == "Rule R7"


def test_short_names_are_initials_where_those_differ() -> None:
    """Otherwise a little more; they never collide."""
    assert short_names(["Smoke", "Temp", "Wind"]) == ["S", "T", "W"]
    assert short_names(["T1", "T2", "Temp"]) == ["T1", "T2", "T"]
    assert short_names(["Check", "CheckIn", "Checking"]) == ["C", "CI", "Ch"]
    assert len(set(short_names([f"Check{i}" for i in range(50)]))) == 50


def test_text_is_wrapped_at_spaces_and_long_words_are_cut() -> None:
    """No line is wider than allowed."""
    lines = wrap("one two three " + "x" * 60, 12, 100)
    assert lines[0] == "one two three"
    assert all(text_width(line, 12) <= 100 for line in lines)
    assert "".join(lines).replace(" ", "") == "onetwothree" + "x" * 60
    assert wrap("", 12, 100) == []


def test_wide_characters_take_more_room() -> None:
    """Chinese is about twice as wide as Latin, combining accents take no room."""
    assert text_width("火", 10) > text_width("m", 10)
    assert text_width("e\u0301", 10) == text_width("e", 10)


def test_nodes_of_a_graph_do_not_touch_and_arrows_lead_to_the_right() -> None:
    """In layers, as long as there is no circle."""
    size = Size(40, 20)
    arrows = [("d", "b"), ("d", "c"), ("e", "b"), ("b", "a"), ("c", "a"), ("d", "a")]
    placed = layered(dict.fromkeys("abcde", size), arrows, across=30, down=10)
    for one, other in combinations("abcde", 2):
        (x1, y1), (x2, y2) = placed.nodes[one], placed.nodes[other]
        assert abs(x1 - x2) >= 40 or abs(y1 - y2) >= 20
    for source, target in arrows:
        assert placed.nodes[source][0] < placed.nodes[target][0]
        assert placed.arrows[source, target][0] == placed.nodes[source]
        assert placed.arrows[source, target][-1] == placed.nodes[target]
    assert len(placed.arrows["d", "a"]) == 3


def test_parts_of_a_graph_that_nothing_connects_stand_below_each_other() -> None:
    """None of them is pulled towards another, so there are no gaps."""
    size = Size(40, 20)
    arrows = [("a", "b"), ("c", "d"), ("e", "d"), ("f", "g")]
    placed = layered(dict.fromkeys("abcdefgh", size), arrows, across=30, down=10)
    assert placed.height == (1 + 2 + 1 + 1) * 20 + 4 * 10
    assert [placed.nodes[node][0] for node in "acefh"] == [20.0] * 5
    heights = [placed.nodes[node][1] for node in "acefh"]
    assert heights == sorted(set(heights))


def test_an_end_stands_next_to_what_leads_there() -> None:
    """Not at the far right, where other ways end."""
    placed = layered(
        dict.fromkeys("abcde", Size(40, 20)),
        [("a", "b"), ("b", "c"), ("c", "d"), ("a", "e")],
        across=30,
        down=10,
    )
    assert placed.nodes["e"][0] == placed.nodes["b"][0]


def test_circles_are_laid_out_too() -> None:
    """One of the arrows then leads back."""
    placed = layered(dict.fromkeys("ab", Size(40, 20)), [("a", "b"), ("b", "a")], across=30, down=10)
    assert placed.arrows["b", "a"][0] == placed.nodes["b"]
    assert placed.nodes["a"][0] != placed.nodes["b"][0]


# --- Mermaid, dot, JSON -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY_TEXT)
def test_mermaid_pictures_are_well_formed(name: str) -> None:
    """Every line is a frame, a node or an arrow between known nodes, and quotes are only around labels."""
    plan = plan_all(EVERY_TEXT[name])
    head, *lines = draw(plan, "mermaid").splitlines()
    assert head == "flowchart LR"
    known: set[str] = set()
    depth = 0
    for line in map(str.strip, lines):
        if line.startswith("subgraph ") or line == "end":
            depth += -1 if line == "end" else 1
        elif line == "direction LR":  # every frame needs it, else it goes from top to bottom
            assert depth == 1
        elif arrow := re.fullmatch(r'(\w+) (?:-->|-\.-)(?:\|"[^"]*"\|)? (\w+)', line):
            assert {arrow[1], arrow[2]} <= known
        else:
            node = re.fullmatch(
                r'(\w+)(?:\(\("[^"]*"\)\)|\(\(\("[^"]*"\)\)\)|\["[^"]*"\]|\(\["[^"]*"\]\))', line
            )
            assert node, line
            known.add(node[1])
    assert depth == 0


@pytest.mark.parametrize("name", EVERY_TEXT)
def test_dot_pictures_are_well_formed(name: str) -> None:
    """Braces match, and every arrow is between known nodes."""
    text = draw(plan_all(EVERY_TEXT[name]), "dot")
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)
    assert bare.count("{") == bare.count("}")
    assert '"' not in bare.replace('""', "")
    known = set(re.findall(r"^\s*(\w+) \[", bare, re.MULTILINE)) - {"node", "edge"}
    for source, target in re.findall(r"(\w+) -> (\w+)", bare):
        assert {source, target} <= known


def test_parts_can_be_drawn_alone() -> None:
    """The automaton, the ordering graph and the hierarchy, in each language."""
    rule, rules = plan_one(RULE_R), plan_all(R6)
    assert automaton_mermaid(rule).count("(((") == 3
    assert ordering_mermaid(rule).count("-->") == 5
    assert "NotIncrTemp" in hierarchy_mermaid(rules)
    assert automaton_dot(rule).count("doublecircle") == 3
    assert ordering_dot(rule).count("->") == 5
    assert "NotIncrTemp" in hierarchy_dot(rules)


def test_quotes_and_backslashes_are_escaped() -> None:
    """In the way of each language."""
    plan = plan_one('define X() from A(v = "say \\"it\'s\\" \\\\ so")')
    mermaid, dot = draw(plan, "mermaid"), draw(plan, "dot")
    assert "#quot;say" in mermaid
    assert re.search(r'label="(?:[^"\\]|\\.)*say(?:[^"\\]|\\.)*"', dot)


def test_json_has_the_whole_plan() -> None:
    """States with their conditions, links, horizon and keys."""
    data = json.loads(draw(plan_one(R7), "json"))
    assert data == rule_data(plan_one(R7))
    automaton = data["automaton"]
    assert [sequence["states"] for sequence in automaton["sequences"]] == [
        ["Temp", "Smoke"],
        ["Wind", "Smoke"],
    ]
    assert automaton["states"][1]["static"] == ["value > 45"]
    assert automaton["states"][1]["dynamic"] == [{"condition": "area = Smoke.area", "needs": ["Smoke"]}]
    assert automaton["joined"] == [{"event": "Smoke", "sequences": ["M1", "M2"]}]
    assert automaton["negations"][0]["interval"] == {"kind": "between", "earlier": "Wind", "later": "Smoke"}
    assert automaton["parameters"][0]["uses"][0]["condition"] == "area = $a"
    assert data["horizon"]["Temp"] == 5 * MINUTE
    assert data["keys"][0]["covers"] is True
    assert data["ordering"]["arrows"] == [{"from": "Temp", "to": "Smoke"}, {"from": "Wind", "to": "Smoke"}]


def test_json_of_a_rule_set_has_its_hierarchy() -> None:
    """Which rules define and use a type, and the strata."""
    plan = plan_all(ITERATION)
    data = json.loads(draw(plan, "json"))
    assert [rule["name"] for rule in data["rules"]] == ["RepA", "RepA_2", "B"]
    assert data["strata"] == [["RepA"], ["RepA_2"], ["B"]]
    assert data["recursive_groups"] == [["RepA_2"]]
    assert hierarchy_data(plan)["types"][2] == {
        "name": "RepA",
        "defined_by": ["RepA", "RepA_2"],
        "used_by": ["RepA_2", "B"],
        "horizon": 3 * MINUTE,
    }


@pytest.mark.parametrize("name", EVERY_TEXT)
def test_data_can_be_written_as_json(name: str) -> None:
    """Nothing in it is an object of ours."""
    for rule in plan_all(EVERY_TEXT[name]).rules:
        for data in (rule_data(rule), automaton_data(rule), ordering_data(rule)):
            assert json.loads(json.dumps(data)) == data


@pytest.mark.parametrize("form", get_args(Format))
def test_every_format_ends_with_a_line_break(form: Format) -> None:
    """For one rule and for a set."""
    assert draw(plan_one(R1), form).endswith("\n")
    assert draw(plan_all(R6), form).endswith("\n")
    assert draw(plan_all("event A(x: int)"), form) is not None
