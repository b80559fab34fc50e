from collections import Counter
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plan.support import DEADLINE, JOURNEY, R6, R7, plan_all, plan_one

from tyrex.events import Event
from tyrex.plan import JoinKey, RulePlan, join_keys, plan_rules
from tyrex.reference import run
from tyrex.tesla import CheckedRules, check_text


def key_of(text: str) -> JoinKey:
    (key,) = plan_one(text).keys
    return key


def test_a_parameter_that_joins_everything_is_a_key_of_the_rule() -> None:
    """R7: every event and the negated Rain have the area $a."""
    key = plan_one(R7).key
    assert key == JoinKey("$a", ("area", "area", "area"), ("area",), (), ("area",), covers=True, reason="")


def test_a_key_is_found_through_aliases_and_in_aggregates() -> None:
    """R6a joins two Temps; in R6c the aggregates have the area too."""
    first, _, third = plan_all(R6).rules
    assert first.key is not None
    assert first.key.events == ("area", "area")
    assert third.key is not None
    assert third.key.aggregates == ("area", "area")


def test_equality_is_transitive() -> None:
    """C has B's zone, and B's zone is A's area."""
    key = key_of("""
        define X() from A() and each B() within 1 s from A and each C() within 1 s from B
        and B.zone = A.area and C.place = B.zone
    """)
    assert (key.name, key.events, key.covers) == ("A.area", ("area", "zone", "place"), True)


def test_other_comparisons_make_no_key() -> None:
    """`>=` does not make equal."""
    assert plan_one("define X() from A(v = $v) and each B(v >= $v) within 1 s from A").keys == ()


def test_an_equality_under_or_makes_no_key() -> None:
    """It need not hold."""
    assert plan_one("define X() from A(v = $v) and each B(v = $v or w = 1) within 1 s from A").keys == ()


def test_a_key_that_an_event_lacks_does_not_cover_the_rule() -> None:
    """The reason names the first part that is missing."""
    key = key_of(
        "define X() from A(k = $k) and each B(k = $k) within 1 s from A and each C() within 1 s from A"
    )
    assert not key.covers
    assert key.reason == "`C` has no attribute that must be equal to `$k`"


def test_a_key_that_a_negation_or_an_aggregate_lacks_does_not_cover_the_rule() -> None:
    """Candidates with other keys would count, so all must be seen."""
    negated = key_of(
        "define X() from A(k = $k) and each B(k = $k) within 1 s from A and not N() within 1 s from A"
    )
    assert negated.reason == "`not N(..)` has no attribute that must be equal to `$k`"
    assert (
        plan_one(JOURNEY).keys[0].reason == "`Max(Security(..))` has no attribute that must be equal to `$p`"
    )


def test_the_conditions_of_a_negation_bind_no_events() -> None:
    """`not N(k = A.k and k = B.k)` does not make A.k and B.k equal."""
    plan = plan_one("""
        define X() from A() and each B() within 1 s from A and not N(k = A.k and k = B.k) within 1 s from A
    """)
    assert [key.events for key in plan.keys] == [("k", None), (None, "k")]
    assert plan.key is None


def test_a_single_choice_must_be_made_by_key() -> None:
    """The last B is chosen among all Bs; only C, later, demands that its key be that of A."""
    text = (
        "define X() from A() and {} B() within 1 s from A and each C(k = A.k and k = B.k) within 1 s from A"
    )
    assert key_of(text.format("each")).covers
    last = key_of(text.format("last"))
    assert not last.covers
    assert last.reason == "`B` is chosen before it is compared with `A.k`"


def test_of_two_attributes_a_single_choice_has_the_one_it_is_chosen_by() -> None:
    """B's zone is compared only later, by C."""
    key = key_of("""
        define X() from A() and last B() within 1 s from A and each C() within 1 s from A
        and C.k = B.zone and C.k = A.k and B.area = A.k
    """)
    assert key.events == ("k", "area", "k")


def test_constants_join_too() -> None:
    """All parts of the rule are about area 1, written as 1 and as 1.0."""
    key = key_of(
        "define X() from A(v = 1) and last B(v = 1.0) within 1 s from A and not N(v = 1) within 1 s from A"
    )
    assert key.covers
    assert key.negations == ("v",)


def test_a_calendar_timer_has_no_key() -> None:
    """Even where all other events join on one."""
    key = key_of("""
        define X() from Timer(H = 9) and each B(k = $k) within 1 h from Timer
        and each C(k = $k) within 1 h from B
    """)
    assert not key.covers
    assert "Timer" in key.reason


def test_a_deadline_has_the_key_of_the_event_that_set_it() -> None:
    """Each timer belongs to one Offer."""
    key = plan_one(DEADLINE).key
    assert key is not None
    assert key.events == (None, "case", "case")


def test_a_rule_without_joins_has_no_keys() -> None:
    """A rule of one event needs none: it is stateless."""
    plan = plan_one("define X() from A(v > 3)")
    assert plan.keys == ()
    assert plan.stateless


def test_join_keys_is_a_function_of_the_checked_rule() -> None:
    """It can be called by itself."""
    plan = plan_one(R7)
    assert join_keys(plan.rule) == plan.keys


# --- Against the reference --------------------------------------------------------------------------------

TYPES = ("A", "B", "C", "D")


@st.composite
def joined_rules(draw: st.DrawFn) -> CheckedRules:
    """Rules that compare the attributes k and m of their events, each type in one part."""
    count = draw(st.integers(2, 4))
    conjuncts = ["A()"]

    def equality(index: int) -> str:
        own = draw(st.sampled_from("km"))
        other = f"{TYPES[draw(st.integers(0, index - 1))]}.{draw(st.sampled_from('km'))}"
        return f"{own} = {draw(st.sampled_from([other, other, other, '0']))}"

    for index in range(1, count):
        policy = draw(st.sampled_from(["each", "last", "first", "2-last"]))
        conditions = ", ".join(equality(index) for _ in range(draw(st.integers(0, 3))))
        conjuncts.append(f"{policy} {TYPES[index]}({conditions}) within 9 us from {TYPES[index - 1]}")
    if draw(st.booleans()):
        conjuncts.append(f"not N({equality(count)}) within 5 us from A")
    if draw(st.booleans()):
        conjuncts.append(f"Count(S({equality(count)})) between {TYPES[count - 1]} and A < 2")
    outputs = TYPES[:count]
    return check_text(f"""
        {"".join(f"event {name}(id: int, k: int, m: int) " for name in (*TYPES, "N", "S"))}
        define X({", ".join(f"{name.lower()}: int" for name in outputs)})
        from {" and ".join(conjuncts)}
        where {" and ".join(f"{name.lower()} = {name}.id" for name in outputs)}
    """)


def found(rules: CheckedRules, events: list[Event]) -> Counter[tuple[tuple[str, object], ...]]:
    return Counter(tuple(sorted(c.attributes.items())) for c in run(rules, events).composites)


def attribute_of_each_type(plan: RulePlan, key: JoinKey) -> dict[str, str]:
    types = [state.type for state in plan.states]
    types += [negation.type for negation in plan.negations]
    types += [aggregate.type for aggregate in plan.aggregates]
    holders = [*key.events, *key.negations, *key.aggregates]
    return {name: holder for name, holder in zip(types, holders, strict=True) if holder is not None}


@settings(max_examples=250, deadline=None)
@given(joined_rules(), st.integers(0, 2**32))
def test_values_of_a_covering_key_can_be_detected_apart(rules: CheckedRules, seed: int) -> None:
    """The composites of all events are those of the events of each value, taken together."""
    (plan,) = plan_rules(rules).rules
    random = Random(seed)
    for key in plan.keys:
        attribute = attribute_of_each_type(plan, key)
        for _ in range(15 if key.covers else 0):
            events = [
                Event(
                    random.choice("AABBCCDNS"),
                    time,
                    {"id": number, "k": random.randint(0, 1), "m": random.randint(0, 1)},
                )
                for number, time in enumerate(sorted(random.choices(range(10), k=random.randint(2, 16))))
            ]
            apart: Counter[tuple[tuple[str, object], ...]] = Counter()
            for value in (0, 1):
                shard = [
                    e for e in events if e.type in attribute and e.attributes[attribute[e.type]] == value
                ]
                apart += found(rules, shard)
            assert apart == found(rules, events)
