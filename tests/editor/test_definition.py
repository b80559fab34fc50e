"""Where names lead."""

import pytest

from tyrex.editor.definition import definition
from tyrex.editor.symbols import SymbolKind, symbols

RULES = """\
event Smoke(area: string)
Rule R define Fire(area: string)
from Smoke(area = $a) as S and last Smoke(area = $a) as T within 5 min from S
where area = S.area
define Alarm(area) from Fire(area = $a) where area = $a
"""


def at(before: str, word: str) -> int:
    """The offset of a word behind some text."""
    return RULES.index(word, RULES.index(before) + len(before))


@pytest.mark.parametrize(
    ("use", "place"),
    [
        (at("last ", "Smoke"), at("event ", "Smoke")),
        (at("Alarm(area) from ", "Fire"), at("define ", "Fire")),
        (at("within 5 min from ", "S"), at(") as ", "S")),
        (at("where area = ", "S"), at(") as ", "S")),
        (at("last Smoke(area = ", "$a"), at("from Smoke(area = ", "$a")),
        (at("where area = S.", "area"), at("event Smoke(", "area")),
        (at("last Smoke(", "area"), at("event Smoke(", "area")),
        (at("where ", "area"), at("define Fire(", "area")),
        (at("from Fire(", "area"), at("define Fire(", "area")),
        (
            at("where area = S.area\ndefine Alarm(area) from Fire(area = $a) where area = ", "$a"),
            at("from Fire(area = ", "$a"),
        ),
    ],
)
def test_a_use_leads_to_its_definition(use: int, place: int) -> None:
    """Types, aliases, parameters and attributes lead to where they are made known."""
    found = definition(RULES, use)
    assert found is not None
    assert found.start == place


def test_a_declaration_comes_before_a_definition() -> None:
    """A type that is both declared and defined leads to its declaration."""
    text = "define A() from B() event A() event B() define C() from A()"
    found = definition(text, text.rindex("A"))
    assert found is not None
    assert found.start == text.index("event A") + len("event ")


@pytest.mark.parametrize("word", ["where", "5 min", "Rule"])
def test_keywords_lead_nowhere(word: str) -> None:
    """A keyword is defined in the language, not in the document."""
    assert definition(RULES, RULES.index(word)) is None


def test_the_timer_leads_nowhere() -> None:
    """It is built in."""
    text = "define X() from Timer(H = 9)"
    assert definition(text, text.index("Timer")) is None
    assert definition(text, text.index("H")) is None


def test_symbols_are_the_declarations_and_rules() -> None:
    """A rule without a name is called by what it defines; half a rule is there too."""
    found = symbols(RULES + "define Broken(")
    assert [(s.name, s.kind) for s in found] == [
        ("Smoke", SymbolKind.EVENT),
        ("R", SymbolKind.RULE),
        ("Alarm", SymbolKind.RULE),
        ("Broken", SymbolKind.RULE),
    ]
    assert all(s.span.start <= s.name_span.start and s.name_span.end <= s.span.end for s in found)
