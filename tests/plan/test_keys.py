from collections import Counter
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plan.support import DEADLINE, JOURNEY, R6, R7, plan_all, plan_one

from tyrex.events import Event
from tyrex.plan import AggregateLink, JoinKey, NegationLink, RulePlan, State, join_keys, plan_rules
from tyrex.reference import run
from tyrex.tesla import CheckedRules, TeslaError, check_text


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

TYPES = ("A", "B", "C")


def joined_rules(random: Random) -> CheckedRules | None:
    """A rule that compares the attributes k and m of its events; types may play several parts."""
    names = [f"E{number}" for number in range(random.randint(1, 4))]

    def equalities() -> str:
        found = []
        for _ in range(random.choice([1, 1, 1, 2, 2, 0])):
            other = f"{random.choice(declared)}.{random.choice('kkm')}"
            found.append(f"{random.choice('kkm')} = {random.choice([other] * 6 + ['0'])}")
        return ", ".join(found)

    declared = [names[0]]
    conjuncts = [f"{random.choice(TYPES)}() as E0"]
    for name in names[1:]:
        policy = random.choice(["each", "each", "last", "first", "2-last"])
        event = f"{random.choice(TYPES)}({equalities()}) as {name}"
        conjuncts.append(f"{policy} {event} within 9 us from {random.choice(declared)}")
        declared.append(name)
    if random.random() < 0.4:
        conjuncts.append(f"not {random.choice(TYPES)}({equalities()}) within 5 us from E0")
    if random.random() < 0.4:
        conjuncts.append(f"Count({random.choice(TYPES)}({equalities()})) within 5 us from {names[-1]} < 2")
    consumed = [name for name in names if random.random() < 0.2]
    try:
        return check_text(f"""
            {"".join(f"event {name}(id: int, k: int, m: int) " for name in TYPES)}
            define X({", ".join(f"{name}: int" for name in names)})
            from {" and ".join(conjuncts)}
            where {" and ".join(f"{name} = {name}.id" for name in names)}
            {f"consuming {', '.join(consumed)}" if consumed else ""}
        """)
    except TeslaError:
        return None


def random_events(random: Random) -> list[Event]:
    """Events with few values, null among them."""
    return [
        Event(random.choice(TYPES), time, {"id": number, "k": value(random), "m": value(random)})
        for number, time in enumerate(sorted(random.choices(range(10), k=random.randint(2, 14))))
    ]


def value(random: Random) -> int | None:
    return random.choice([0, 1, 0, 1, 0, 1, None])


Found = Counter[tuple[tuple[str, object], ...]]


def found(rules: CheckedRules, events: list[Event]) -> Found:
    return Counter(tuple(c.attributes.items()) for c in run(rules, events).composites)


def found_apart(rules: CheckedRules, plan: RulePlan, key: JoinKey, events: list[Event]) -> Found:
    """What the values of a key detect, each by itself, in the way that `JoinKey` describes."""
    parts: list[State | NegationLink | AggregateLink] = [*plan.states, *plan.negations, *plan.aggregates]
    holders = [*key.events, *key.negations, *key.aggregates]
    attributes: dict[str, set[str]] = {}
    for part, holder in zip(parts, holders, strict=True):
        assert holder is not None
        attributes.setdefault(part.type, set()).add(holder)
    apart: Found = Counter()
    for own in (0, 1, None):
        shard = [e for e in events if own in {e.get(name) for name in attributes.get(e.type, ())}]
        for match, count in found(rules, shard).items():
            terminator = events[int(str(dict(match)["E0"]))]
            if terminator.get(str(key.events[0])) == own:
                apart[match] += count
    return apart


@settings(max_examples=350)
@given(st.randoms(use_true_random=True))
def test_values_of_a_covering_key_can_be_detected_apart(random: Random) -> None:
    """The composites of all events are those of the events of each value, taken together."""
    rules = joined_rules(random)
    if rules is None:
        return
    (plan,) = plan_rules(rules).rules
    for key in plan.keys:
        for _ in range(12 if key.covers else 0):
            events = random_events(random)
            assert found_apart(rules, plan, key, events) == found(rules, events)


def test_an_event_that_is_consumed_must_have_one_value() -> None:
    """A B that is consumed as the one cannot be the other, so both of its values would have to know of it."""
    text = """
        event A(id: int, k: int, m: int) event B(id: int, k: int, m: int)
        define X(E0: int, E1: int, E2: int)
        from A(k = $k) as E0 and each B(k = $k) as E1 within 9 us from E0 and each B({} = $k) as E2 within 9 us from E0
        where E0 = E0.id, E1 = E1.id, E2 = E2.id consuming E1
    """
    assert key_of(text.format("k")).covers
    key = key_of(text.format("m"))
    assert key.reason == "`E1` is consumed, and could be `E2` with another value of `$k`"

    rules = check_text(text.format("m"))
    (plan,) = plan_rules(rules).rules
    kinds = [("B", 0, 1), ("B", 1, 0), ("A", 0, 9), ("B", 1, 9), ("A", 1, 9)]
    events = [Event(kind, n, {"id": n, "k": k, "m": m}) for n, (kind, k, m) in enumerate(kinds)]
    assert found_apart(rules, plan, key, events) != found(rules, events)
