"""Rules come, go, stop and go on while events flow: `deploy`, `undeploy`, `pause`, `resume`."""

from __future__ import annotations

from typing import Any

import pytest

from tyrex import Engine, Event, TeslaError
from tyrex.engine.engine import RuleInUse, UnknownRule

TYPES = """
event A(k: string, v: int)
event B(k: string)
"""
PAIR = """
Rule pair
define Pair(k: string, v: int)
from   B(k = $k) and each A(k = $k) within 10 s from B
where  k = $k, v = A.v
"""
SECOND = 1_000_000


def _texts(events: Any) -> list[str]:
    return [str(event) for event in events]


def _names(engine: Engine) -> list[str]:
    return [rule.name for rule in engine.rules]


# Coming


def test_deploy_gives_the_names_of_the_new_rules() -> None:
    """In the order of the text, which is the order in which they fire; unnamed ones are called by what they define."""
    engine = Engine(TYPES + PAIR)
    added = engine.deploy("Rule z define Z() from A() define Y() from A() Rule x define X() from A()")
    assert added == ["z", "Y", "x"]
    assert _names(engine) == ["pair", "z", "Y", "x"]
    assert _texts(engine.send("A", timestamp=1)) == ["Z@1()", "Y@1()", "X@1()"]


def test_a_new_rule_sees_only_what_comes_after_it() -> None:
    """Though another rule keeps the very events that it would look at."""
    engine = Engine(TYPES + PAIR)
    engine.send("A", timestamp=1, k="a", v=1)
    engine.deploy(PAIR.replace("pair", "again").replace("Pair", "Again"))
    engine.send("A", timestamp=2, k="a", v=2)
    found = engine.send("B", timestamp=3, k="a")
    assert _texts(found) == ['Pair@3(k="a", v=1)', 'Pair@3(k="a", v=2)', 'Again@3(k="a", v=2)']


@pytest.mark.parametrize(
    "pattern",
    [
        "B() and not A() within 10 s from B",
        "B() and last A() within 10 s from B",
        "B() and Count(A() within 10 s from B) >= 1",
        "3 s after A()",
    ],
)
def test_a_new_rule_sees_nothing_older_in_any_part(pattern: str) -> None:
    """Neither in a negation, nor in an aggregate, nor for a deadline."""
    engine = Engine(TYPES + "Rule keep define Keep() from B() and each A() within 1 h from B consuming A")
    engine.send("A", timestamp=1, k="a")
    engine.deploy(f"Rule new define New() from {pattern}")
    fired = [event.type for event in [*engine.send("B", timestamp=2, k="a"), *engine.flush(until=5)]]
    assert ("New" in fired) == (" not " in pattern)


def test_new_types_may_come_with_rules() -> None:
    """Events of them are known from then on."""
    engine = Engine(TYPES + PAIR)
    assert engine.send("C", timestamp=1, w=1) == []
    assert engine.deploy("event C(w: int) define Got(w: int) from C() where w = C.w") == ["Got"]
    assert _texts(engine.send("C", timestamp=2, w=2)) == ["Got@2(w=2)"]
    assert (engine.stats().unused, engine.stats().types["C"].arrived) == (1, 1)


def test_rules_may_build_on_deployed_ones() -> None:
    """From then on what those make is looked at."""
    engine = Engine(TYPES + PAIR)
    engine.deploy("define Alarm(k: string) from Pair(v > 1) where k = Pair.k")
    engine.send_batch([Event("A", SECOND, {"k": "a", "v": 1}), Event("A", SECOND, {"k": "a", "v": 2})])
    assert _texts(engine.send("B", timestamp=3, k="a"))[2:] == ['Alarm@3(k="a")']


def test_events_that_wait_for_the_watermark_are_still_to_come() -> None:
    """A rule that is deployed meanwhile sees them, if their type was known when they came."""
    engine = Engine(TYPES + PAIR, delay=5)
    engine.send("A", timestamp=1, k="a", v=1)
    engine.deploy("Rule echo define Echo(v: int) from A() where v = A.v")
    assert _texts(engine.flush()) == ["Echo@1(v=1)"]


@pytest.mark.parametrize(
    "text",
    [
        "define X( from",
        "define X() from Nothing()",
        "Rule ok define X() from A() define Y(v: int) from A() where v = A.w",
        "Rule pair define X() from A()",
        "event A(other: int)",
        "define Pair(k: int) from A() where k = A.v",
        "define A(k: string, v: int) from Pair() where k = Pair.k, v = 1 define Pair(k: string, v: int) from A()",
    ],
)
def test_bad_text_changes_nothing(text: str) -> None:
    """It is refused as a whole, with every diagnostic, and the engine goes on as if nothing had been asked."""
    engine = Engine(TYPES + PAIR, delay=1)
    engine.send("A", timestamp=1, k="a", v=1)
    before = engine.snapshot()
    with pytest.raises(TeslaError) as caught:
        engine.deploy(text)
    assert caught.value.diagnostics
    assert engine.snapshot() == before
    assert _names(engine) == ["pair"]
    engine.send("B", timestamp=2, k="a")
    assert _texts(engine.flush()) == ['Pair@2(k="a", v=1)']


def test_a_text_without_rules_adds_none() -> None:
    """It may repeat declarations that are known."""
    engine = Engine(TYPES + PAIR)
    assert engine.deploy("") == []
    assert engine.deploy(TYPES) == []


# Going


def test_an_undeployed_rule_makes_nothing_more() -> None:
    """The others keep their state; its type stays known."""
    engine = Engine(
        TYPES + PAIR + "Rule last define Last(v: int) from B() and last A() within 1 h from B where v = A.v"
    )
    engine.send("A", timestamp=1, k="a", v=1)
    engine.undeploy("pair")
    assert _names(engine) == ["last"]
    assert "pair" not in engine.stats().rules
    assert _texts(engine.send("B", timestamp=2, k="a")) == ["Last@2(v=1)"]
    assert "Pair" in engine.rules.types


def test_what_only_an_undeployed_rule_kept_is_let_go() -> None:
    """When the next event comes."""
    engine = Engine(TYPES + PAIR)
    engine.send_batch([Event("A", SECOND, {"k": "a"})] * 100)
    assert engine.stats().stored == 100
    engine.undeploy("pair")
    engine.send("A", timestamp=2, k="a")
    assert engine.stats().stored == 0


def test_open_deadlines_go_with_their_rule() -> None:
    """They are neither counted nor fire."""
    engine = Engine(
        TYPES + "Rule over define Over() from 5 s after A() Rule other define Other() from 6 s after A()"
    )
    engine.send("A", timestamp=1)
    assert engine.stats().open_deadlines == 2
    engine.undeploy("over")
    assert engine.stats().open_deadlines == 1
    assert _texts(engine.flush(until=100)) == ["Other@7()"]


def test_a_rule_may_come_again_under_its_name() -> None:
    """It begins anew, with other text if that is wanted."""
    engine = Engine(TYPES + PAIR)
    engine.send("A", timestamp=1, k="a", v=1)
    engine.undeploy("pair")
    assert engine.deploy(PAIR.replace("10 s", "5 s")) == ["pair"]
    assert engine.send("B", timestamp=2, k="a") == []
    engine.send("A", timestamp=3, k="a", v=3)
    assert _texts(engine.send("B", timestamp=8, k="a")) == ['Pair@8(k="a", v=3)']
    assert engine.send("B", timestamp=8.1, k="a") == []
    assert engine.stats().rules["pair"].fired == 1


def test_a_rule_that_others_build_on_can_not_go() -> None:
    """The error names them; when they are gone, it can."""
    engine = Engine(
        TYPES
        + PAIR
        + """
        Rule one define One() from Pair()
        Rule two define Two() from B() and not Pair() within 1 s from B
        Rule three define Three() from One()
        """
    )
    with pytest.raises(RuleInUse, match=r"rule `pair` defines `Pair`, which rules `one` .* `two` look at"):
        engine.undeploy("pair")
    assert _names(engine) == ["pair", "one", "two", "three"]
    for name in ("three", "one"):
        engine.undeploy(name)
    with pytest.raises(RuleInUse, match="which rule `two` looks at; undeploy it first"):
        engine.undeploy("pair")
    engine.undeploy("two")
    engine.undeploy("pair")
    assert _names(engine) == []


def test_a_rule_may_go_where_another_makes_the_same() -> None:
    """What builds on the type has still a maker."""
    engine = Engine(
        TYPES + "Rule a define M() from A() Rule b define M() from B() Rule user define U() from M()",
    )
    engine.undeploy("a")
    assert engine.send("A", timestamp=1) == []
    assert _texts(engine.send("B", timestamp=2)) == ["M@2()", "U@2()"]
    with pytest.raises(RuleInUse):
        engine.undeploy("b")


def test_a_rule_that_looks_at_what_it_makes_itself_may_go() -> None:
    """It is no other rule that builds on it."""
    engine = Engine(
        TYPES + "Rule r define N(n: int) from A() and last N() within 1 h from A where n = N.n + 1 "
        "Rule s define N(n: int) from B() where n = 0"
    )
    engine.send("B", timestamp=1)
    assert _texts(engine.send("A", timestamp=2)) == ["N@2(n=1)"]
    engine.undeploy("s")
    engine.undeploy("r")
    assert engine.send("A", timestamp=3) == []


@pytest.mark.parametrize("action", [Engine.undeploy, Engine.pause, Engine.resume])
def test_an_unknown_rule_is_an_error_with_a_suggestion(action: Any) -> None:
    """Also a type, which is no rule."""
    engine = Engine(TYPES + PAIR)
    with pytest.raises(UnknownRule) as caught:
        action(engine, "pear")
    assert str(caught.value) == "there is no rule `pear`; did you mean `pair`?"
    with pytest.raises(UnknownRule):
        action(engine, "A")


def test_rules_that_come_and_go_leave_nothing_behind() -> None:
    """After a hundred rounds the others find what they always found, and nothing more is held."""
    engine = Engine(TYPES + PAIR)
    held = []
    for n in range(100):
        engine.deploy(
            f'Rule x define X(s: int) from B(k = "{n % 5}") and each A(k = B.k) within 5 s from B and '
            "not A(v > 3) within 2 s from B and 1 < $s = Sum(A(k = B.k).v within 9 s from B) where s = $s consuming A"
        )
        engine.send_batch([Event("A", 20 * n * SECOND, {"k": f"{n % 5}", "v": v}) for v in (1, 2)])
        fired = engine.send("B", timestamp=20 * n + 3, k=f"{n % 5}")
        assert _texts(fired)[2:] == [f"X@{20 * n + 3}(s=3)"] * 2
        engine.undeploy("x")
        held.append(engine.stats().stored)
    assert set(held) == {3}


# Pausing


def test_a_paused_rule_makes_nothing_and_its_windows_go_on_filling() -> None:
    """Resumed, it is itself again."""
    engine = Engine(TYPES + PAIR)
    engine.send("A", timestamp=1, k="a", v=1)
    engine.pause("pair")
    engine.pause("pair")
    assert engine.send("B", timestamp=2, k="a") == []
    engine.send("A", timestamp=3, k="a", v=3)
    engine.resume("pair")
    engine.resume("pair")
    assert _texts(engine.send("B", timestamp=4, k="a")) == ['Pair@4(k="a", v=1)', 'Pair@4(k="a", v=3)']
    assert (engine.stats().rules["pair"].evaluated, engine.stats().rules["pair"].fired) == (1, 2)


@pytest.mark.parametrize(
    ("rule", "fires"),
    [
        ("from B() and last A() within 10 s from B where v = A.v", True),
        ("from B() and first A() within 10 s from B where v = A.v", True),
        ("from B() where v = Max(A().v within 10 s from B)", True),
        ("from 1 s after A() where v = A.v", False),
        ("from Timer(S = 2) and last A() within 10 s from Timer where v = A.v", False),
    ],
)
def test_every_kind_of_rule_can_be_paused(rule: str, fires: bool) -> None:
    """A terminator or a timer that comes meanwhile is lost; what it chooses from is not."""
    engine = Engine(TYPES + f"Rule r define M(v: int) {rule}")
    engine.pause("r")
    engine.send("A", timestamp=1, v=1)
    assert list(engine.send("B", timestamp=2)) == []
    assert list(engine.advance(2.5)) == []
    engine.resume("r")
    assert bool(engine.send("B", timestamp=3)) == fires


def test_pausing_a_rule_leaves_those_that_build_on_it_without_events() -> None:
    """They are not paused themselves."""
    engine = Engine(TYPES + PAIR + "Rule no define No() from B() and not Pair() within 1 h from B")
    engine.send("A", timestamp=1, k="a", v=1)
    engine.pause("pair")
    assert _texts(engine.send("B", timestamp=2, k="a")) == ["No@2()"]


def test_a_paused_rule_consumes_nothing() -> None:
    """What it did not choose is there when it goes on."""
    engine = Engine(TYPES + PAIR.rstrip() + " consuming A")
    engine.send("A", timestamp=1, k="a", v=1)
    engine.pause("pair")
    engine.send("B", timestamp=2, k="a")
    engine.resume("pair")
    assert len(engine.send("B", timestamp=3, k="a")) == 1
    assert len(engine.send("B", timestamp=4, k="a")) == 0


def test_why_not_knows_that_a_rule_is_paused_though_it_fired_before() -> None:
    """It does not claim that a paused rule fired."""
    engine = Engine(TYPES + PAIR)
    engine.send("A", timestamp=1, k="a", v=1)
    engine.send("B", timestamp=2, k="a")
    engine.pause("pair")
    engine.send("B", timestamp=3, k="a")
    assert not engine.why_not("Pair", at=3).fired
