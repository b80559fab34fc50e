"""Which rules of an engine run where."""

import pytest

from tyrex import RuleSet, parse
from tyrex.engine.layout import DoesNotFit, Layout

TYPES = """
event Temp(area: string, value: float)
event Smoke(area: string)
event Tick(n: int)
"""
FIRE = """
rule fire define Fire(area: string, value: float)
from Smoke(area = $a) and last Temp(area = $a and value > 45) within 5 min from Smoke
where area = $a, value = Temp.value
"""
AGAIN = """
rule again define Again(area: string)
from Fire(area = $a) as Now and last Fire(area = $a) as Before within 1 h from Now where area = $a
"""
HOTTEST = (
    "rule hottest define Hottest(v: float) from Smoke() where v = Max(Temp().value within 5 min from Smoke)"
)
COUNTING = (
    "\nrule counting define Counting(n: int) from Tick() where n = Count(Tick() within 1 min from Tick)"
)
EVERY = "rule every define Every() from Timer(M % 5 == 0)"
HOT = "rule hot define Hot(area: string) from Temp(value > 90) where area = Temp.area"
SILENCE = """
rule silence define Silence(area: string)
from 5 min after Temp(area = $a) as T and not Temp(area = $a) between T and Timer where area = $a
"""


def lay_out(*rules: str, threads: int = 2) -> Layout:
    return extend(Layout.empty(threads), parse(TYPES + "\n".join(rules)))


def extend(layout: Layout, rules: RuleSet) -> Layout:
    return layout.with_rules([rule.plan for rule in rules], rules.types)


def shown(layout: Layout) -> list[tuple[tuple[str, ...], int]]:
    """The rules of each place that has some, and how many kernels it has."""
    return [(place.rules, place.kernels) for place in layout.places if place.rules]


def test_one_thread_has_one_kernel_for_everything() -> None:
    """Nothing is divided."""
    layout = lay_out(FIRE, HOTTEST, EVERY, threads=1)
    assert shown(layout) == [(("fire", "hottest", "every"), 1)]


def test_rules_with_a_key_have_a_kernel_for_each_thread() -> None:
    """They are divided by it, and rules that feed each other are together."""
    layout = lay_out(FIRE, AGAIN, threads=3)
    assert shown(layout) == [(("fire", "again"), 3)]
    assert layout.places[1].key == {"Fire": "area", "Smoke": "area", "Temp": "area"}
    assert layout.kernels == 4


def test_rules_without_a_key_are_spread_over_at_most_as_many_kernels_as_threads() -> None:
    """Three groups on two threads: the first kernel takes two of them."""
    more = COUNTING.replace("ounting", "ounting2")
    assert shown(lay_out(HOTTEST, COUNTING, more)) == [(("hottest", "counting2"), 1), (("counting",), 1)]


def test_timers_and_deadlines_are_together_in_one_kernel() -> None:
    """Also a deadline that could be divided by a key, with the rules that it looks at."""
    layout = lay_out(SILENCE, EVERY, FIRE)
    assert shown(layout) == [(("silence", "every"), 1), (("fire",), 2)]
    assert [place.timers for place in layout.places] == [True, False]


def test_a_deadline_does_not_keep_others_from_being_divided() -> None:
    """Though their keys agree, they do not feed each other."""
    assert shown(lay_out(FIRE, SILENCE))[1] == (("fire",), 2)


def test_stateless_rules_go_where_events_are_divided_anyhow() -> None:
    """By themselves they are divided, too."""
    assert shown(lay_out(HOT, FIRE)) == [(("hot", "fire"), 2)]
    assert shown(lay_out(HOT, HOTTEST)) == [(("hottest",), 1), (("hot",), 2)]


def test_a_rule_that_fits_goes_where_it_belongs() -> None:
    """To the rules whose events it looks at, to those with the same key, or to a place of its own."""
    layout = lay_out(FIRE)
    rules = parse(TYPES + "\n".join((FIRE, AGAIN, HOT, HOTTEST, EVERY)))
    assert shown(extend(layout, rules)) == [
        (("every",), 1),
        (("fire", "again", "hot"), 2),
        (("hottest",), 1),
    ]


@pytest.mark.parametrize(
    ("rules", "new", "reason"),
    [
        (
            FIRE,
            "define Pair() from Fire() as A and last Fire() as B within 1 h from A",
            "does not join its events by `=`",
        ),
        (FIRE, "define Late() from 5 min after Fire() as F", "divided by a key"),
        (
            FIRE,
            "define Both() from Fire(value = $v) as A and last Fire(value = $v) as B within 1 h from A",
            "`Fire` is joined on `value`, which rule `fire` does not set",
        ),
        (
            HOTTEST + COUNTING,
            "define C() from Hottest() and last Counting() within 1 h from Hottest",
            "apart",
        ),
        (
            COUNTING + HOTTEST,
            "define C() from 5 min after Hottest() as O",
            "timers and deadlines run apart",
        ),
    ],
    ids=["no key", "deadline", "another key", "two places", "timers elsewhere"],
)
def test_a_rule_that_does_not_fit_is_refused_and_told_why(rules: str, new: str, reason: str) -> None:
    """It would need events where they are not; the message says what to do."""
    layout = lay_out(rules)
    with pytest.raises(DoesNotFit, match=r"threads=2.*make the engine with threads=1") as error:
        extend(layout, parse(TYPES + rules + "\n" + new))
    assert reason in str(error.value)
    lay_out(rules, new)  # all at once they have a place


def test_a_place_that_lost_its_rules_is_used_again() -> None:
    """And may then be divided by another key."""
    rules = parse(TYPES + FIRE)
    layout = extend(Layout.empty(2), rules).without("fire", ())
    assert shown(layout) == []
    by_value = "define Same() from Temp(value = $v) as A and last Temp(value = $v) as B within 1 min from A"
    again = extend(layout, parse(TYPES + by_value))
    assert shown(again) == [(("Same",), 2)]
    assert len(again.places) == len(layout.places)


def test_what_a_rule_needed_alone_no_longer_divides_when_it_goes() -> None:
    """The attributes of types that nobody looks at are forgotten."""
    rules = parse(TYPES + FIRE + AGAIN)
    layout = extend(Layout.empty(2), rules).without("again", [rules["fire"].plan])
    assert layout.places[1].key == {"Smoke": "area", "Temp": "area"}
