"""`tyrex.parse` and `tyrex.load`: rules as users hold them."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

import tyrex
from tyrex import RuleSet, TeslaError, ValueType
from tyrex.rules import examine, parse_sources
from tyrex.tesla import Source
from tyrex.testing import assert_fires

TEXT = """\
event Temp(area: string, value: float)

Rule hot
define Hot(area: string) from Temp(value > 45) where area = Temp.area

define Cold(area: string)
from   Temp(value < 0)
where  area = Temp.area
"""
RULES = tyrex.parse(TEXT)


def codes(text: str, name: str = "<rules>", known: RuleSet | None = None) -> list[str]:
    with pytest.raises(TeslaError) as caught:
        tyrex.parse(text, name, known=known)
    return [found.code for found in caught.value.diagnostics]


# Rules


def test_rules_are_held_in_the_order_of_the_text() -> None:
    """A rule without a name has that of the event it defines."""
    assert [rule.name for rule in RULES] == ["hot", "Cold"]
    assert len(RULES) == 2
    assert RULES.rules[1].name == "Cold"


def test_a_rule_is_found_by_its_name() -> None:
    """And nothing by any other."""
    assert RULES["hot"].defines.name == "Hot"
    assert "hot" in RULES
    assert RULES["hot"] in RULES
    assert "Hot" not in RULES
    with pytest.raises(KeyError, match="Hot"):
        RULES["Hot"]


def test_a_rule_knows_its_text() -> None:
    """As it was written, from its first word to its last."""
    assert RULES["Cold"].text == "define Cold(area: string)\nfrom   Temp(value < 0)\nwhere  area = Temp.area"
    assert str(RULES["hot"]).startswith("Rule hot\ndefine Hot")


def test_a_rule_set_knows_every_type() -> None:
    """Declared, defined and built in; with the attributes of each."""
    assert set(RULES.types) == {"Timer", "Temp", "Hot", "Cold"}
    assert [(a.name, a.type) for a in RULES.types["Temp"].attributes] == [
        ("area", ValueType.STRING),
        ("value", ValueType.FLOAT),
    ]


def test_types_that_are_not_declared_are_inferred() -> None:
    """From how their attributes are used."""
    rules = tyrex.parse('define Hot(v: float) from Temp(value > 45 and area = "A1") where v = Temp.value')
    assert str(rules.types["Temp"]) == "Temp(value: float, area: string)"


def test_rules_cannot_be_changed() -> None:
    """Neither a rule set nor what it holds."""
    with pytest.raises(AttributeError):
        RULES.checked = tyrex.parse("").checked  # type: ignore[misc]
    with pytest.raises(TypeError):
        RULES.types["New"] = RULES.types["Temp"]  # type: ignore[index]


def test_plans_are_made_once() -> None:
    """A plan has the rule's name, and asking again gives the same object."""
    assert RULES["hot"].plan is RULES["hot"].plan
    assert RULES.plan is RULES.plan
    assert [plan.name for plan in RULES.plan.rules] == ["hot", "Cold"]


def test_in_a_notebook_rules_show_themselves_as_pictures() -> None:
    """A well-formed SVG, and the text for where there are no pictures."""
    for shown in (RULES, RULES["hot"]):
        bundle = shown._repr_mimebundle_(include=None, exclude=None)
        assert set(bundle) == {"image/svg+xml", "text/plain"}
        assert ElementTree.fromstring(bundle["image/svg+xml"]).tag == "{http://www.w3.org/2000/svg}svg"
    assert RULES["hot"]._repr_mimebundle_()["text/plain"] == RULES["hot"].text
    assert RULES._repr_mimebundle_()["text/plain"] == f"{RULES['hot'].text}\n\n{RULES['Cold'].text}"


# Errors


def test_every_error_is_reported_at_once_in_the_order_of_the_text() -> None:
    """One piece that can't be read does not hide what is wrong with another."""
    text = "event A(v: int)\ndefine B() from A(w = 1)\ndefine C( from\ndefine D() from A(v = 'x')\n"
    with pytest.raises(TeslaError) as caught:
        tyrex.parse(text, "mine.tesla")
    found = caught.value.diagnostics
    assert [(d.code, d.line, d.column) for d in found] == [
        ("TSL013", 2, 19),
        ("TSL001", 3, 11),
        ("TSL040", 4, 19),
    ]
    assert {d.source.name for d in found} == {"mine.tesla"}
    assert str(caught.value) == "\n\n".join(d.render() for d in found)
    assert all(f"--> mine.tesla:{d.line}:{d.column}" in str(caught.value) for d in found)


def test_a_tesla_error_is_a_value_error() -> None:
    """Who calls with a text from elsewhere need not know our classes."""
    with pytest.raises(ValueError, match="TSL003"):
        tyrex.parse("define A() from")


def test_examine_gives_diagnostics_instead_of_raising() -> None:
    """No rules where there is an error, no diagnostics where there is none."""
    rules, found = examine([Source("define A() from B(", "a.tesla")])
    assert (rules, [d.code for d in found]) == (None, ["TSL003"])
    rules, found = examine([Source(TEXT)])
    assert rules is not None
    assert found == []


def test_an_empty_text_is_an_empty_rule_set() -> None:
    """It has no rules and only the clock."""
    rules = tyrex.parse("")
    assert (len(rules), list(rules), set(rules.types)) == (0, [], {"Timer"})


# Rules that know others


def test_rules_can_be_added_to_known_ones() -> None:
    """The new set holds both, the known ones first, and the known set stays as it was."""
    more = tyrex.parse("define Burning(area: string) from Hot() where area = Hot.area", known=RULES)
    assert [rule.name for rule in more] == ["hot", "Cold", "Burning"]
    assert len(RULES) == 2
    assert_fires(more, 'Temp@1("a", 50)', "Hot", 'Burning@1("a")', exactly=True)


def test_what_is_added_has_to_agree_with_what_is_known() -> None:
    """A name that is taken, a type that differs, a type that nobody declared, an event that makes itself."""
    assert codes("Rule hot define X() from Temp()", known=RULES) == ["TSL018"]
    assert "TSL012" in codes("define Hot(v: int) from Temp() where v = 1", known=RULES)
    assert codes("define X() from Tmep()", known=RULES) == ["TSL010"]
    again = "define Temp(area: string, value: float) from Hot() where area = '', value = 1.0"
    assert codes(again, known=RULES) == ["TSL060"]
    assert codes("event Temp(x: int)", known=RULES) == ["TSL011"]


# Files


def test_load_reads_a_file() -> None:
    """The name in its diagnostics would be the path."""
    rules = tyrex.load("examples/fire/rules.tesla")
    assert [rule.name for rule in rules] == ["fire", "heat", "alarm"]
    assert rules["fire"].checked.source.name == str(Path("examples/fire/rules.tesla"))


def test_load_reads_a_directory_in_the_order_of_names(tmp_path: Path) -> None:
    """Deployment order is the order of names; other files and subdirectories are left alone."""
    (tmp_path / "b.tesla").write_text("define Second() from A()", "utf-8")
    (tmp_path / "a.raced").write_text("DefineEvent(First_, A)", "utf-8")
    (tmp_path / "c.txt").write_text("define Third() from A()", "utf-8")
    (tmp_path / "d.tesla").mkdir()
    assert [rule.name for rule in tyrex.load(tmp_path)] == ["First_", "Second"]


def test_load_reports_each_error_with_its_file(tmp_path: Path) -> None:
    """Across files, in their order."""
    (tmp_path / "a.tesla").write_text("event A(v: int)\ndefine B() from A(w = 1)", "utf-8")
    (tmp_path / "b.tesla").write_text("define C() from A(x = 1)", "utf-8")
    with pytest.raises(TeslaError) as caught:
        tyrex.load(tmp_path)
    assert [(Path(d.source.name).name, d.line, d.code) for d in caught.value.diagnostics] == [
        ("a.tesla", 2, "TSL013"),
        ("b.tesla", 1, "TSL013"),
    ]


def test_load_ignores_a_byte_order_mark(tmp_path: Path) -> None:
    """It is no part of the text, so columns count from the first word."""
    path = tmp_path / "a.tesla"
    path.write_text(TEXT, "utf-8-sig")
    assert tyrex.load(str(path))["hot"].text == RULES["hot"].text


def test_load_says_why_a_file_cannot_be_read(tmp_path: Path) -> None:
    """It is not there, or is no text."""
    with pytest.raises(FileNotFoundError):
        tyrex.load(tmp_path / "missing.tesla")
    (tmp_path / "latin.tesla").write_bytes(b"-- \xf6")
    with pytest.raises(ValueError, match=r"latin\.tesla is not UTF-8 text \(byte 3\); save it as UTF-8"):
        tyrex.load(tmp_path)


def test_texts_that_belong_together_are_parsed_together() -> None:
    """Their names say which language each is in."""
    rules = parse_sources(
        [Source("event A(v: int)", "a.tesla"), Source("DefineEvent(B[v: $V], A[v = $V])", "b.raced")]
    )
    assert str(rules.types["B"]) == "B(v: int)"
