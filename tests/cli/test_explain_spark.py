"""`tyrex explain --on spark`: what the planner chose, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.cli.support import FIRE, tyrex, write

TYPES = """
event Temp(area: string, value: float, note: string)
event Smoke(area: string)
event Rain(area: string, mm: float)
event Door(zone: int, open: bool)
event Other(x: int)
"""
HOT = "Rule hot define Hot(area: string) from Temp(value > 60) where area = Temp.area\n"
FIRES = """
Rule fire define Fire(area: string)
from Smoke(area = $a) and last Temp(area = $a and value > 45) within 5 min from Smoke where area = $a
"""
DRAUGHT = """
Rule draught define Draught(zone: int)
from Door(open = true) and each Rain(mm > 10 and mm * 2.0 > 30) within 30 s from Door where zone = Door.zone
"""
ONCE = """
Rule once define Once(area: string)
from Temp() and last Smoke() within 1 h from Temp where area = Temp.area consuming Smoke
"""
PARTLY = """
Rule dry define Dry(area: string)
from Smoke(area = $a) and last Temp(area = $a) within 5 min from Smoke and not Rain() between Temp and Smoke
where area = $a
"""


def explained(tmp_path: Path, rules: str) -> dict[str, Any]:
    path = write(tmp_path / "rules.tesla", TYPES + rules)
    answer = tyrex("explain", path, "--on", "spark", "--format", "json")
    assert answer.status == 0
    found: dict[str, Any] = json.loads(answer.out)
    return found


@pytest.mark.parametrize(
    ("rules", "split", "keys"),
    [
        (FIRES, "key", {"Smoke": "area", "Temp": "area"}),
        (HOT, "event", None),
        (DRAUGHT, "time", None),
        (ONCE, "none", None),
    ],
)
def test_each_way_to_split_is_shown(tmp_path: Path, rules: str, split: str, keys: object) -> None:
    """By key with its attributes, by event, by time, not at all."""
    (part,) = explained(tmp_path, rules)["parts"]
    assert (part["split"], part["keys"]) == (split, keys)


def test_slices_of_time_have_a_length_and_an_overlap(tmp_path: Path) -> None:
    """In microseconds; the overlap is what the windows reach back."""
    (part,) = explained(tmp_path, DRAUGHT)["parts"]
    assert (part["slice"], part["overlap"]) == (480_000_000, 30_000_000)


@pytest.mark.parametrize(
    ("rules", "reason", "help_"),
    [
        (DRAUGHT, "rule `draught` does not join its events by `=`", "its types share no attribute"),
        (ONCE, "what rule `once` consumes depends on all that came before", "say so: `area = $k` in each"),
        (ONCE, "does not join", "without `consuming`, rule `once` could be cut into slices of time"),
        (
            PARTLY,
            "`not Rain(..)` has no attribute",
            "if `not Rain` is meant of the same `area`, say so: `area = $a`",
        ),
    ],
)
def test_it_says_what_prevents_a_better_split_and_what_would_help(
    tmp_path: Path, rules: str, reason: str, help_: str
) -> None:
    """So that the writer of the rules can do something about it."""
    (part,) = explained(tmp_path, rules)["parts"]
    assert reason in part["reason"]
    assert any(help_ in line for line in part["help"])


def test_filters_are_those_that_spark_applies(tmp_path: Path) -> None:
    """What Spark can't test as TESLA does is left to the engine; an event passes if one rule can use it."""
    types = {one["type"]: one for one in explained(tmp_path, FIRES + HOT + DRAUGHT)["types"]}
    assert types["Temp"]["filter"] == "value > 45 or value > 60"
    assert types["Rain"]["filter"] == "mm > 10"
    assert types["Door"]["filter"] == "open = true"
    assert types["Smoke"]["filter"] == "area is not null"


def test_what_stays_behind_is_named(tmp_path: Path) -> None:
    """Attributes that no rule looks at, and types."""
    found = explained(tmp_path, FIRES)
    types = {one["type"]: one for one in found["types"]}
    assert (types["Temp"]["attributes"], types["Temp"]["left_behind"]) == (["area", "value"], ["note"])
    assert found["unused_types"] == ["Rain", "Door", "Other"]


def test_the_text_says_the_same_to_a_person(tmp_path: Path) -> None:
    """Rules, split, reason, help, filters."""
    path = write(tmp_path / "rules.tesla", TYPES + FIRES + ONCE)
    text = tyrex("explain", path, "--on", "spark").out
    for line in (
        "Part 1: rule fire",
        "  Split     by key: Smoke.area, Temp.area",
        "  Split      not at all: one shard has all the events",
        "  Better if  without `consuming`, rule `once` could be cut into slices of time",
        "No rule looks at Rain, Door, Other: these events stay behind.",
    ):
        assert line in text


def test_the_picture_has_sources_filters_shards_and_composites() -> None:
    """As SVG that a browser can show."""
    root = ElementTree.fromstring(tyrex("explain", FIRE, "--on", "spark", "--format", "svg").out)
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    for text in ("Temp", "area is not null", "by area", "fire, heat, alarm", "many shards, by key", "Alarm"):
        assert text in texts


@pytest.mark.parametrize(("format", "beginning"), [("mermaid", "flowchart"), ("dot", "digraph")])
def test_it_is_there_in_the_languages_of_pictures(format: str, beginning: str) -> None:
    """With what stands on the arrows."""
    text = tyrex("explain", FIRE, "--on", "spark", "--format", format).out
    assert text.startswith(beginning)
    assert "by area" in text
