"""How a rule set is split into units."""

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plan.support import CROSSED, DEADLINE, ITERATION, JOURNEY, PERIODIC, R1, R5, R6, R7, R

from tyrex.events import Event
from tyrex.plan import KeyAttribute, Sharding, Unit, combine, plan_rules, shard
from tyrex.plan.sharding import find_key
from tyrex.reference import run
from tyrex.tesla import CheckedRules, TeslaError, check_text
from tyrex.tesla.types import ValueType


def split(text: str) -> Sharding:
    rules = check_text(text)
    return shard(plan_rules(rules), rules.types)


def only(text: str) -> Unit:
    (unit,) = split(text).units
    return unit


def attributes(unit: Unit) -> Mapping[str, str]:
    """By what the types of a unit are divided."""
    assert unit.key is not None, unit.obstacle
    return {name: attribute.name for name, attribute in unit.key.items()}


# --- One rule ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [R1, R5, R7], ids=["R1", "R5", "R7"])
def test_the_papers_rules_about_areas_are_split_by_area(text: str) -> None:
    """Events, negations and aggregates of R1, R5 and R7 join on the area."""
    unit = only(text)
    assert set(attributes(unit).values()) == {"area"}
    assert set(attributes(unit)) == set(unit.types)
    assert not unit.timers


@pytest.mark.parametrize(
    ("text", "obstacle"),
    [
        (R, "rule `R` does not join its events by `=`"),
        (JOURNEY, "in rule `Journey` `Max(Security(..))` has no attribute that must be equal to `$p`"),
        (CROSSED, "in rule `Crossed` `D` has no attribute that must be equal to `$k`"),
        (PERIODIC, "rule `AvgTemp` is evaluated by a `Timer`, which has no attributes"),
    ],
    ids=["R", "journey", "crossed", "periodic"],
)
def test_a_rule_that_no_key_covers_says_what_is_in_the_way(text: str, obstacle: str) -> None:
    """The rule and its clause are named."""
    unit = only(text)
    assert unit.key is None
    assert unit.obstacle == obstacle


def test_a_deadline_can_be_split_and_a_calendar_timer_cannot() -> None:
    """A deadline belongs to the event that set it; a timer belongs to all."""
    deadline, periodic = only(DEADLINE), only(PERIODIC)
    assert attributes(deadline) == {"Login": "case", "Offer": "case", "Reply": "case"}
    assert (deadline.deadlines, deadline.calendar, deadline.timers) == (True, False, True)
    assert (periodic.deadlines, periodic.calendar, periodic.timers) == (False, True, True)


def test_a_deadline_alone_can_be_split_at_will() -> None:
    """Nothing but the event that set it is looked at, so it may be anywhere; still it is not stateless."""
    unit = only("event A(k: int) define X(k: int) from 5 s after A() as O where k = O.k")
    assert unit.key == {}
    assert not unit.stateless


def test_a_self_join_on_two_attributes_has_no_key() -> None:
    """An event would be needed at its `from` and at its `to`."""
    unit = only("""
        event Hop(origin: string, target: string)
        define Way() from Hop() as B and each Hop(target = B.origin) as A within 1 h from B
    """)
    assert unit.key is None
    assert (
        unit.obstacle
        == "rule `Way` joins `Hop` on `origin` and on `target`, so an event would have two places"
    )


def test_equality_may_be_transitive_and_constants_join() -> None:
    """C joins with A through B; a constant is the same for all."""
    unit = only("""
        event A(x: int) event B(y: int) event C(z: int)
        define X() from A() and each B(y = A.x) within 1 s from A and each C(z = B.y) within 1 s from B
    """)
    assert attributes(unit) == {"A": "x", "B": "y", "C": "z"}
    assert attributes(
        only("event A(v: int) event B(v: int) define X() from A(v = 1) and last B(v = 1) within 1 s from A")
    ) == {"A": "v", "B": "v"}


@pytest.mark.parametrize("clause", ["not C() within 1 min from A", "Count(C()) within 1 min from A > 1"])
def test_negations_and_aggregates_need_the_key_too(clause: str) -> None:
    """A C of any other key would count."""
    text = """
        event A(k: int) event B(k: int) event C(k: int)
        define X() from A(k = $k) and each B(k = $k) within 1 min from A and {}
    """
    assert "C(..)" in only(text.format(clause)).obstacle
    assert attributes(only(text.format(clause.replace("C()", "C(k = $k)")))) == {"A": "k", "B": "k", "C": "k"}


def test_consumed_events_are_split_if_they_have_one_place() -> None:
    """Consuming is known only where the event is."""
    text = """
        event A(k: int, m: int) event B(k: int, m: int)
        define X() from A(k = $k) and each B(k = $k) as P within 9 s from A and each B({} = $k) as Q within 9 s from A
        consuming P
    """
    assert attributes(only(text.format("k"))) == {"A": "k", "B": "k"}
    assert "consumed" in only(text.format("m")).obstacle


# --- What keys are hashed as ------------------------------------------------------------------------------


def test_ints_that_join_floats_are_hashed_as_floats() -> None:
    """1 and 1.0 are equal, so they must be in one place."""
    unit = only("""
        event A(k: int) event B(k: float) event C(k: int)
        define X() from A() and each B(k = A.k) within 1 s from A
        define Y() from A() and each C(k = A.k) within 1 s from A
    """)
    assert unit.key == {name: KeyAttribute("k", ValueType.FLOAT) for name in "ABC"}


def test_values_that_never_meet_are_hashed_each_as_its_own() -> None:
    """One unit has a key of strings and one of ints, over different types."""
    unit = only("""
        event A(k: string) event B(k: string) event C(k: int) event D(k: int)
        define X() from A() and each B(k = A.k) within 1 s from A
        define Y() from C() and each D(k = C.k) within 1 s from C
    """)
    assert unit.key is not None
    assert [unit.key[name].hash_as.value for name in "ABCD"] == ["string", "string", "int", "int"]


# --- Hierarchies ------------------------------------------------------------------------------------------

LEVELS = """
    event Temp(area: string, sensor: string) event Smoke(area: string)
    define Fire(area: string, sensor: string)
    from   Smoke(area = $a) and last Temp(area = $a) within 5 min from Smoke
    where  area = {area}, sensor = Temp.sensor
    define Alarm(area: string)
    from   Fire({by} = $a) as Now and last Fire({by} = $a) as Before within 1 h from Now
    where  area = Now.area
"""


def test_a_hierarchy_that_carries_its_key_on_is_split() -> None:
    """R6 joins on the area at both levels, so the composite events are needed only where they are made."""
    unit = only(R6)
    assert attributes(unit) == {"NotIncrTemp": "area", "Smoke": "area", "Temp": "area"}
    assert attributes(only(LEVELS.format(area="$a", by="area")))["Fire"] == "area"


@pytest.mark.parametrize(("area", "by"), [("Temp.sensor", "area"), ("$a", "sensor")])
def test_a_hierarchy_that_loses_its_key_is_not_split(area: str, by: str) -> None:
    """A fire would be needed in another place than the one that detected it."""
    unit = only(LEVELS.format(area=area, by=by))
    assert unit.key is None
    assert f"`Fire` is joined on `{by}`, which rule `Fire` does not set" in unit.obstacle


def test_recursion_is_split_if_it_carries_its_key() -> None:
    """The iteration of the TESLA paper has no key; with one that each step hands on, it is split."""
    assert "RepA" in only(ITERATION).obstacle
    unit = only("""
        event A(k: int)
        define Rep(k: int, times: int) from A() where k = A.k, times = 1
        define Rep(k: int, times: int)
        from   A() and last Rep(k = A.k) within 3 min from A
        where  k = A.k, times = Rep.times + 1
    """)
    assert attributes(unit) == {"A": "k", "Rep": "k"}


def test_a_stateless_rule_that_feeds_a_keyed_one_must_carry_the_key() -> None:
    """It says by what its own events have to be divided."""
    text = """
        event Raw(zone: string, other: string)
        define Temp(area: string) from Raw() where area = {}
        define Twice() from Temp() as B and each Temp(area = B.area) as A within 1 h from B
    """
    assert attributes(only(text.format("Raw.zone"))) == {"Raw": "zone", "Temp": "area"}
    assert "rule `Temp` does not set" in only(text.format('concat(Raw.zone, "x")')).obstacle


def test_stateless_rules_may_follow_each_other_anywhere() -> None:
    """No rule looks at the past: the unit says so, and has an empty key."""
    unit = only("event A(k: int) define B(k: int) from A() where k = A.k define C() from B(k > 3)")
    assert unit.stateless
    assert unit.key == {}
    assert unit.types == ("A", "B")


def test_a_stateless_rule_asks_nothing_of_what_it_looks_at() -> None:
    """It works wherever the composite events of its group are made."""
    unit = only("""
        event A(k: int) event B(k: int)
        define X(n: int) from A() and each B(k = A.k) within 1 s from A where n = 1
        define Y() from X(n > 0)
    """)
    assert attributes(unit) == {"A": "k", "B": "k"}
    assert unit.types == ("A", "B", "X")


# --- Units of several groups ------------------------------------------------------------------------------


def test_many_rules_over_the_same_types_are_one_unit() -> None:
    """Their keys agree, though they do not feed each other."""
    text = "event A(k: int, v: int) event B(k: int)\n" + "\n".join(
        f"define X{n}() from A(v > {n}, k = $k) and last B(k = $k) within 1 min from A" for n in range(1000)
    )
    unit = only(text)
    assert unit.rules == tuple(range(1000))


def test_the_key_that_most_rules_can_use_is_taken() -> None:
    """The first rule joins on both attributes, the others on the second only."""
    unit = only("""
        event A(k: int, m: int) event B(k: int, m: int)
        define X() from A(k = $k, m = $m) and each B(k = $k, m = $m) within 1 s from A
        define Y() from A(m = $m) and each B(m = $m) within 1 s from A
        define Z() from A(m = $m) and last B(m = $m) within 1 s from A
    """)
    assert attributes(unit) == {"A": "m", "B": "m"}


def test_groups_whose_keys_do_not_agree_are_units_apart() -> None:
    """Each type of a unit is divided by one attribute; units are in the order of their first rules."""
    sharding = split("""
        event A(k: int, m: int) event B(k: int, m: int)
        define X() from A(k = $k) and each B(k = $k) within 1 s from A
        define Y() from A(m = $m) and each B(m = $m) within 1 s from A
        define Z() from A(k = $k) and last B(k = $k) within 1 s from A
        define Loose() from A(k > 1)
        define Whole() from A() and each B(k > A.k) within 1 s from A
    """)
    assert [unit.rules for unit in sharding.units] == [(0, 2), (1,), (3,), (4,)]
    assert [unit.stateless for unit in sharding.units] == [False, False, True, False]
    assert [unit.key is None for unit in sharding.units] == [False, False, False, True]
    assert sharding.unit_of(2) is sharding.units[0]


def test_rules_of_one_group_that_disagree_have_no_key() -> None:
    """Both look at Fire, one by area and one by sensor."""
    unit = only(
        LEVELS.format(area="$a", by="area")
        + """
        define Other() from Fire(sensor = $s) as F and last Fire(sensor = $s) as G within 1 h from F
        """
    )
    assert unit.rules == (0, 1, 2)
    assert unit.key is None
    assert "`Fire`" in unit.obstacle


def test_a_key_can_be_asked_for_with_some_attributes_fixed() -> None:
    """So it is known whether a rule fits to others that are there already."""
    plan = plan_rules(
        check_text("""
        event A(k: int, m: int) event B(k: int, m: int)
        define X() from A(k = $k, m = $m) and each B(k = $k, m = $m) within 1 s from A
    """)
    )
    assert find_key(plan.rules, {"A": "m"}).attributes == {"A": "m", "B": "m"}
    refused = find_key(plan.rules, {"A": "m", "B": "k"})
    assert refused.attributes is None
    assert "but other rules join it on" in refused.obstacle


def test_choosing_keys_goes_back_where_a_choice_leads_nowhere() -> None:
    """The first key of the first rule is refused by the second, so the other one is taken."""
    unit = only("""
        event A(k: int, m: int) event B(k: int, m: int)
        define X(m: int) from A(k = $k, m = $m) and each B(k = $k, m = $m) within 1 s from A where m = $m
        define Y() from X(m = $m) as N and last X(m = $m) as L within 1 s from N
    """)
    assert attributes(unit) == {"A": "m", "B": "m", "X": "m"}


# --- Against the reference --------------------------------------------------------------------------------

TYPES = ("A", "B", "C")


def random_set(random: Random) -> CheckedRules | None:
    """Two or three rules with attributes k and m, which may feed each other."""
    rules = []
    known = list(TYPES)
    for number in range(random.randint(1, 3)):
        names = [f"E{n}" for n in range(random.randint(1, 3))]
        holder = random.choice("kkm")
        parts = [f"{random.choice(known)}({holder} = $p) as E0"]
        for name in names[1:]:
            own = random.choice([holder, holder, holder, "k", "m"])
            policy = random.choice(["each", "last", "first"])
            parts.append(f"{policy} {random.choice(known)}({own} = $p) as {name} within 9 us from E0")
        if random.random() < 0.3:
            parts.append(f"not {random.choice(known)}({holder} = $p) within 5 us from E0")
        if random.random() < 0.3:
            parts.append(f"Count({random.choice(known)}({holder} = $p)) within 5 us from E0 < 3")
        values = [f"{random.choice(names)}.{random.choice('kkm')}" for _ in range(2)]
        rules.append(
            f"define R{number}(k: int, m: int, id: int) from {' and '.join(parts)} "
            f"where k = {values[0]}, m = {values[1]}, id = E0.id"
        )
        known.append(f"R{number}")
    declared = "".join(f"event {name}(k: int, m: int, id: int) " for name in TYPES)
    try:
        return check_text(declared + "\n".join(rules))
    except TeslaError:
        return None


def random_events(random: Random) -> list[Event]:
    def value() -> int | None:
        return random.choice([0, 1, 0, 1, 2, None])

    return [
        Event(random.choice(TYPES), time, {"k": value(), "m": value(), "id": number})
        for number, time in enumerate(sorted(random.choices(range(12), k=random.randint(2, 14))))
    ]


Found = Counter[tuple[str, int, tuple[tuple[str, object], ...]]]


def found(rules: CheckedRules, events: Sequence[Event]) -> Found:
    composites = run(rules, events).composites
    return Counter((c.type, c.timestamp, tuple(c.attributes.items())) for c in composites)


def found_apart(rules: CheckedRules, sharding: Sharding, events: Sequence[Event]) -> Found:
    """What the units detect, each value of a key by itself."""
    total: Found = Counter()
    for unit in sharding.units:
        own = CheckedRules(tuple(rules.rules[number] for number in unit.rules), rules.types)
        if unit.key is None:
            total += found(own, events)
            continue
        for value in (0, 1, 2, None):
            shares = []
            for event in events:
                holder = unit.key.get(event.type)
                place = event.attributes["id"] % 3 if holder is None else event.get(holder.name)  # type: ignore[operator]
                shares += [event] if place == value else []
            total += found(own, shares)
    return total


@settings(max_examples=300)
@given(st.randoms(use_true_random=True))
def test_units_and_values_of_their_keys_can_be_detected_apart(random: Random) -> None:
    """What is found in all places together is what the whole rule set finds in one."""
    rules = random_set(random)
    if rules is None:
        return
    sharding = shard(plan_rules(rules), rules.types)
    assert sorted(rule for unit in sharding.units for rule in unit.rules) == list(range(len(rules.rules)))
    for unit in sharding.units:
        assert (unit.key is None) == bool(unit.obstacle)
    for _ in range(6):
        events = random_events(random)
        assert found_apart(rules, sharding, events) == found(rules, events)


def test_no_rules_make_no_units() -> None:
    """An empty set is split into nothing."""
    assert shard(combine([]), {}).units == ()
