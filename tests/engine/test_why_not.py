"""Why a composite event is not there: `Engine.why_not`."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.engine.random_rules import random_history, random_rules

from tyrex import Engine
from tyrex.engine import Cause, WhyNot
from tyrex.engine.engine import UnknownRule
from tyrex.events import parse_events
from tyrex.reference.semantics import Reference

TYPES = """
event Temp(area: string, value: float)
event Smoke(area: string)
event Rain(area: string)
"""
FIRE = (
    TYPES
    + """
Rule fire
define Fire(area: string)
from   Smoke(area = $a) and
       last Temp(area = $a and value > 45) within 5 min from Smoke and
       not Rain(area = $a) between Temp and Smoke
where  area = $a

Rule any_heat
define Warm(value: float) from Smoke() and last Temp() within 10 min from Smoke where value = Temp.value
"""
)


def _send(engine: Engine, events: str) -> None:
    engine.send_batch(parse_events(events, engine.rules.types))


def _asked(rules: str, events: str, name: str, at: float, **attributes: str) -> WhyNot:
    engine = Engine(rules)
    _send(engine, events)
    return engine.why_not(name, at=at, **attributes)


def _parts(told: WhyNot) -> list[str]:
    return [str(part) for part in told.rules[0].attempts[0].parts]


# --- Choosing --------------------------------------------------------------------------------------------------


def test_a_condition_that_leaves_no_candidate_says_what_the_nearest_had() -> None:
    """Each demand of the part is counted, in the order in which it was made."""
    events = (
        "Temp@1('A1', 20.0) Temp@310('A1', 30.0) Temp@320('A1', 44.0) Temp@330('B2', 60.0) Smoke@400('A1')"
    )
    told = _asked(FIRE, events, "Fire", 400)
    assert told.cause is Cause.CONDITION
    assert _parts(told)[-1] == (
        "last Temp(area = $a and value > 45) within 5 min from Smoke: 4 Temp stored, 3 in the window, "
        "2 with area = $a, 0 with value > 45 (the nearest had 44.0)"
    )
    assert not told.fired


def test_a_condition_on_texts_says_what_the_candidates_had() -> None:
    """There is no nearest among texts: some of them are listed."""
    told = _asked(FIRE, "Temp@1('B2', 50.0) Temp@2('C3', 50.0) Smoke@9('A1')", "Fire", 9)
    assert told.cause is Cause.CONDITION
    assert '0 with area = $a (they had "B2", "C3")' in _parts(told)[-1]


def test_a_window_that_leaves_no_candidate_says_how_far_away_the_last_one_was() -> None:
    """Six minutes are more than five."""
    told = _asked(FIRE, "Temp@10('A1', 50.0) Smoke@370('A1')", "Fire", 370)
    assert told.cause is Cause.WINDOW
    assert "0 in the window (the last one was 6 min before)" in _parts(told)[-1]


def test_a_candidate_that_came_after_its_anchor_is_not_in_the_window() -> None:
    """Simultaneous events are ordered by arrival."""
    told = _asked(FIRE, "Smoke@10('A1') Temp@10('A1', 50.0)", "Fire", 10)
    assert told.cause is Cause.WINDOW
    assert 'all of them came after Smoke@10(area="A1")' in _parts(told)[-1]


def test_where_no_event_of_the_type_is_stored_it_says_how_many_came() -> None:
    """Events that no rule asks for are not kept, so their values are not known."""
    rules = FIRE.split("Rule any_heat", maxsplit=1)[0]
    told = _asked(rules, "Temp@1('A1', 20.0) Smoke@2('A1')", "Fire", 2)
    assert told.cause is Cause.NONE_STORED
    assert "0 Temp stored (of 1 that came" in _parts(told)[-1]
    told = _asked(rules, "Smoke@2('A1')", "Fire", 2)
    assert "0 Temp stored (none has come)" in _parts(told)[-1]


def test_too_few_candidates_for_the_selection() -> None:
    """`2-last` of one event is none."""
    rules = TYPES + "define M() from Smoke() and 2-last Temp() within 1 min from Smoke"
    told = _asked(rules, "Temp@1('A1', 20.0) Smoke@2('A1')", "M", 2)
    assert told.cause is Cause.SELECTION
    assert _parts(told)[-1].endswith("1 in the window; too few for 2-last")


def test_one_event_in_two_roles_is_no_match() -> None:
    """The choice is not revised for it."""
    rules = TYPES + (
        "define M() from Smoke() and each Temp() as X within 1 min from Smoke "
        "and last Temp() as Y within 1 min from Smoke"
    )
    told = _asked(rules, "Temp@1('A1', 20.0) Smoke@2('A1')", "M", 2)
    assert told.cause is Cause.SAME_EVENT


def test_a_choice_that_leads_nowhere_is_shown_before_the_part_that_failed() -> None:
    """The last `Temp` is taken, even though an earlier one had a `Rain` before it."""
    rules = TYPES + (
        "define M() from Smoke() and last Temp() within 1 min from Smoke and last Rain() within 5 s from Temp"
    )
    told = _asked(rules, "Rain@1('A1') Temp@2('A1', 1.0) Temp@20('A1', 2.0) Smoke@21('A1')", "M", 21)
    assert told.cause is Cause.WINDOW
    assert [part.fulfilled for part in told.rules[0].attempts[0].parts] == [True, True, False]
    assert 'chosen: Temp@20(area="A1", value=2.0)' in _parts(told)[1]


# --- The complete tuple -----------------------------------------------------------------------------------------


def test_a_negation_names_the_event_that_removed_the_match() -> None:
    """`not Rain between Temp and Smoke`, and there was one."""
    told = _asked(FIRE, "Temp@1('A1', 50.0) Rain@2('A1') Smoke@3('A1')", "Fire", 3)
    assert told.cause is Cause.NEGATION
    assert _parts(told)[-1] == ('not Rain(area = $a) between Temp and Smoke: removed by Rain@2(area="A1")')


def test_a_guard_shows_the_values_that_it_compared() -> None:
    """A condition with an aggregate is tested on the complete tuple."""
    rules = (
        TYPES
        + "define M(t: float) from Smoke() and 45 < $t = Avg(Temp().value) within 1 min from Smoke where t = $t"
    )
    told = _asked(rules, "Temp@1('A1', 40.0) Temp@2('A1', 41.0) Smoke@3('A1')", "M", 3)
    assert told.cause is Cause.GUARD
    assert _parts(told)[-1] == (
        "45 < Avg(Temp().value) within 1 min from Smoke: removed as 45 < 40.5 is false"
    )


def test_of_several_matches_it_says_how_many_were_removed() -> None:
    """With `each` a negation may remove some and a guard the rest."""
    rules = TYPES + (
        "define M() from Smoke() and each Temp() within 1 min from Smoke and not Rain() between Temp and Smoke"
    )
    told = _asked(rules, "Temp@1('A1', 1.0) Rain@2('A1') Temp@3('A1', 2.0) Smoke@4('A1')", "M", 4)
    assert told.fired
    assert _parts(told)[-1].endswith('1 of 2 matches removed by Rain@2(area="A1")')


# --- Consumption ------------------------------------------------------------------------------------------------

CONSUMING = TYPES + "define M() from Smoke() and last Temp() within 1 min from Smoke consuming Temp"


def test_a_consumed_candidate_is_told_with_the_terminator_that_took_it() -> None:
    """Both terminators are of one moment, so that both are stored."""
    engine = Engine(CONSUMING)
    _send(engine, "Temp@1('A1', 20.0) Smoke@2('A1') Smoke@2('B2')")
    told = engine.why_not("M", at=2, area="B2")
    assert told.cause is Cause.CONSUMED
    taken = 'Temp@1(area="A1", value=20.0) with Smoke@2(area="A1")'
    assert f"0 not consumed ({taken})" in _parts(told)[-1]
    assert told.rules[0].attempts[0].certain
    assert engine.why_not("M", at=2, area="A1").fired


def test_what_may_have_been_consumed_with_a_forgotten_terminator_is_a_doubt() -> None:
    """The first `Smoke` has left the store; what it took is not written down anywhere."""
    told = _asked(CONSUMING, "Temp@1('A1', 20.0) Smoke@2('A1') Smoke@3('B2')", "M", 3)
    (attempt,) = told.rules[0].attempts
    assert not attempt.certain
    assert 'Temp@1(area="A1", value=20.0) may have been consumed' in str(told)


def test_a_rule_that_has_never_fired_has_consumed_nothing() -> None:
    """So there is no doubt, however many terminators were forgotten."""
    rules = CONSUMING.replace("consuming", "and last Rain() within 1 min from Temp consuming")
    told = _asked(rules, "Temp@1('A1', 20.0) Smoke@2('A1') Smoke@4('B2')", "M", 4)
    assert told.cause is Cause.NONE_STORED
    assert told.rules[0].attempts[0].certain


# --- The terminator ---------------------------------------------------------------------------------------------


def test_no_terminator_at_that_time() -> None:
    """Nothing of the type is there, though that time is in reach."""
    told = _asked(FIRE, "Temp@1('A1', 50.0) Smoke@2('A1') Temp@9('A1', 1.0)", "Warm", 9)
    assert told.cause is Cause.NO_TERMINATOR
    assert told.rules[0].reason == "no Smoke came at that time"


def test_the_terminator_may_have_failed_its_own_conditions_and_not_been_kept() -> None:
    """Both are possible, and both are said."""
    rules = TYPES + "define M() from Temp(value > 45)"
    told = _asked(rules, "Temp@1('A1', 20.0)", "M", 1)
    assert told.cause is Cause.NO_TERMINATOR
    assert "or it did not fulfil `value > 45`" in told.rules[0].reason


def test_a_terminator_that_is_kept_shows_which_of_its_own_conditions_failed() -> None:
    """Another rule asked for it."""
    rules = TYPES + "define M() from Temp(value > 45) define N() from Temp(value > 10)"
    told = _asked(rules, "Temp@1('A1', 20.0)", "M", 1)
    assert told.cause is Cause.TERMINATOR
    assert _parts(told) == ["Temp(value > 45): value > 45 does not hold (it had 20.0)"]


def test_a_null_binds_no_parameter() -> None:
    """A comparison with null is false, and so is a binding."""
    told = _asked(FIRE, "Temp@1('A1', 50.0) Smoke@2()", "Fire", 2)
    assert told.cause is Cause.TERMINATOR
    assert _parts(told) == ["Smoke(area = $a): area = $a does not hold (it had null)"]


def test_a_filter_chooses_among_the_terminators_of_a_moment() -> None:
    """By values of attributes, or by a TESLA filter."""
    engine = Engine(FIRE)
    _send(engine, "Temp@1('A1', 50.0) Smoke@2('A1') Smoke@2('B2')")
    assert [attempt.fired for attempt in engine.why_not("Fire", at=2).rules[0].attempts] == [True, False]
    assert engine.why_not("Fire", at=2, area="A1").fired
    assert not engine.why_not("Fire", at=2, terminator='Smoke(area != "A1")').fired
    told = engine.why_not("Fire", at=2, area="C3")
    assert told.rules[0].reason == "2 Smoke came at that time, but none that is meant"


def test_a_filter_that_can_not_be_meant_is_an_error() -> None:
    """A misspelt attribute, or another type than the terminator's."""
    engine = Engine(FIRE)
    with pytest.raises(ValueError, match="did you mean `area`"):
        engine.why_not("Fire", at=2, aera="A1")
    with pytest.raises(ValueError, match="the terminator is `Smoke`, not `Rain`"):
        engine.why_not("Fire", at=2, terminator="Rain()")


def test_an_unknown_name_is_an_error_with_a_suggestion() -> None:
    """Types and rules are both looked at."""
    with pytest.raises(UnknownRule, match="did you mean `Fire`"):
        Engine(FIRE).why_not("Fier", at=2)


# --- Rules and times --------------------------------------------------------------------------------------------


def test_a_rule_that_fired_shows_why() -> None:
    """The composite event with its parts."""
    told = _asked(FIRE, "Temp@1('A1', 50.0) Smoke@2('A1')", "fire", 2)
    assert told.fired
    assert told.cause is Cause.FIRED
    (match,) = told.rules[0].attempts[0].matches
    assert str(match) == (
        'Fire@2(area="A1")  by rule fire\n├─ Smoke@2(area="A1")\n└─ Temp@1(area="A1", value=50.0)'
    )
    assert str(match).splitlines()[1] in str(told)


def test_each_rule_that_defines_the_type_is_explained() -> None:
    """A type may be defined by several."""
    rules = TYPES + "Rule r1 define M() from Smoke(area = 'A1') Rule r2 define M() from Rain(area = 'A1')"
    told = _asked(rules, "Smoke@1('A1') Rain@1('B2')", "M", 1)
    assert [(report.rule, report.fired) for report in told.rules] == [("r1", True), ("r2", False)]


def test_a_paused_rule_says_so() -> None:
    """It would have fired."""
    engine = Engine(FIRE)
    engine.pause("fire")
    _send(engine, "Temp@1('A1', 50.0) Smoke@2('A1')")
    assert engine.why_not("Fire", at=2).cause is Cause.PAUSED


def test_a_rule_sees_nothing_from_before_it_was_deployed() -> None:
    """Neither a terminator nor any other event."""
    engine = Engine(
        TYPES
        + "define Warm(v: float) from Smoke() and last Temp() within 1 h from Smoke where v = Temp.value"
    )
    _send(engine, "Temp@1('A1', 50.0) Smoke@2('A1')")
    engine.deploy("Rule late define Late() from Smoke() and last Temp() within 1 h from Smoke")
    assert engine.why_not("late", at=2).cause is Cause.NOT_DEPLOYED
    engine.send("Smoke", timestamp=3, area="A1")
    told = engine.why_not("late", at=3)
    assert told.cause is Cause.NOT_DEPLOYED
    assert "1 Temp stored, 0 since the rule was deployed" in _parts(told)[-1]


def test_a_moment_that_lies_before_what_is_stored_is_named() -> None:
    """A terminator leaves the store when a later one comes."""
    told = _asked(FIRE, "Smoke@2('A1') Smoke@3000('A1')", "Fire", 2)
    assert told.cause is Cause.FORGOTTEN
    assert "1970-01-01T00:50:00" in told.rules[0].reason
    assert str(told).startswith("Fire is not known at")


def test_a_window_that_is_partly_forgotten_is_a_doubt() -> None:
    """The terminator is there, as another rule keeps it, but not all that it looked at."""
    rules = TYPES + (
        "Rule r define M() from Smoke() and first Temp(value > 45) within 1 min from Smoke "
        "Rule keeps define N() from Rain() and last Smoke() within 1 h from Rain"
    )
    told = _asked(rules, "Temp@1('A1', 50.0) Smoke@2('A1') Temp@200('A1', 50.0) Rain@201('A1')", "r", 2)
    assert told.cause is Cause.WINDOW
    assert not told.rules[0].attempts[0].certain
    assert "which are gone" in str(told)


def test_a_moment_that_has_not_come_yet() -> None:
    """Neither in general, nor while events wait for the watermark."""
    assert Engine(FIRE).why_not("Fire").cause is Cause.NOT_YET
    assert _asked(FIRE, "Smoke@2('A1')", "Fire", 3).cause is Cause.NOT_YET
    engine = Engine(FIRE, delay=10)
    engine.send("Smoke", timestamp=2, area="A1")
    told = engine.why_not("Fire", at=2)
    assert told.cause is Cause.NOT_YET
    assert "1 event waits for the watermark" in str(told)


def test_without_a_moment_it_is_the_last_one_and_moments_are_written_as_elsewhere() -> None:
    """Seconds, ISO 8601 or a datetime."""
    engine = Engine(FIRE)
    engine.send("Smoke", timestamp=20, area="A1")
    wanted = engine.why_not("Fire")
    assert wanted.at == 20_000_000
    for moment in (20, 20.0, Decimal(20), "1970-01-01T00:00:20Z", datetime.fromtimestamp(20, UTC)):
        assert engine.why_not("Fire", at=moment) == wanted


def test_late_events_are_mentioned_where_a_terminator_is_missing() -> None:
    """It may have been the one that came too late."""
    engine = Engine(FIRE)
    engine.send("Temp", timestamp=9, area="A1", value=1.0)
    engine.send("Smoke", timestamp=8, area="A1")
    engine.send("Temp", timestamp=9, area="A1", value=1.0)
    assert "1 event has come too late" in engine.why_not("Warm", at=9).rules[0].reason


# --- Timers -----------------------------------------------------------------------------------------------------

DEADLINE = (
    TYPES
    + "Rule r define M() from 10 s after Smoke(area = $a) as S and not Rain(area = $a) between S and Timer"
)


def test_a_deadline_is_asked_for_at_its_own_time() -> None:
    """The terminator is the timer; the filter speaks of the event that set it."""
    engine = Engine(DEADLINE)
    _send(engine, "Smoke@1('A1') Smoke@1('B2') Rain@5('A1') Rain@12('C3')")
    told = engine.why_not("M", at=11, area="A1")
    assert told.cause is Cause.NEGATION
    assert _parts(told)[-1].endswith('removed by Rain@5(area="A1")')
    assert engine.why_not("M", at=11, area="B2").fired
    assert engine.why_not("M", at=10.5).cause is Cause.NO_TERMINATOR


def test_a_deadline_that_has_not_passed_yet() -> None:
    """An event of its instant would come before it."""
    told = _asked(DEADLINE, "Smoke@1('A1') Rain@11('C3')", "M", 11)
    assert told.cause is Cause.NOT_YET


def test_what_set_a_deadline_may_have_been_consumed() -> None:
    """Then the timer does not fire."""
    rules = TYPES + (
        "Rule r define M() from 10 s after Smoke() as S and each Smoke() as T within 1 min from Timer consuming S, T"
    )
    told = _asked(rules, "Smoke@1('A1') Smoke@2('B2') Rain@20('C3')", "M", 12)
    assert told.cause in (Cause.CONSUMED, Cause.WINDOW)
    assert not told.fired or not told.rules[0].attempts[0].certain


def test_a_calendar_timer_is_only_at_its_instants() -> None:
    """In the time zone of the engine."""
    rules = TYPES + "Rule r define M() from Timer(M % 5 == 0) and last Smoke() within 1 min from Timer"
    engine = Engine(rules)
    _send(engine, "Smoke@10('A1') Temp@301('A1', 1.0)")
    told = engine.why_not("M", at=300)
    assert told.cause is Cause.WINDOW
    told = engine.why_not("M", at=240)
    assert told.cause is Cause.NO_TERMINATOR
    assert told.rules[0].reason == "there is no Timer(M % 5 = 0) at that time in UTC"


# --- Forms ------------------------------------------------------------------------------------------------------


def test_the_printed_tree() -> None:
    """One line for each part, down to the one that decided."""
    told = _asked(FIRE, "Temp@1('A1', 44.0) Smoke@2('A1')", "Fire", 2)
    assert str(told).splitlines() == [
        "Fire was not detected at 1970-01-01T00:00:02.000000Z",
        "└─ rule fire",
        '   └─ Smoke@2(area="A1"): a condition leaves no candidate',
        '      ├─ Smoke(area = $a): Smoke@2(area="A1")',
        f"      └─ {told.rules[0].attempts[0].parts[-1]}",
    ]


def test_the_tree_as_json() -> None:
    """The same for programs."""
    told = _asked(FIRE, "Temp@1('A1', 44.0) Smoke@2('A1')", "Fire", 2)
    record = json.loads(json.dumps(told.to_dict(), allow_nan=False))
    assert (record["name"], record["fired"]) == ("Fire", False)
    (attempt,) = record["rules"][0]["attempts"]
    assert attempt["cause"] == "condition"
    assert attempt["parts"][-1]["narrowings"][-1] == {
        "demand": "with value > 45",
        "left": 0,
        "detail": "it had 44.0",
    }


@given(st.integers(0, 2**32))
@example(314149)  # deadlines of forgotten events, among those of others
@settings(max_examples=150)
def test_it_says_that_a_rule_fired_exactly_where_the_reference_says_so(seed: int) -> None:
    """After every event, for this moment and the one before, unless it has a doubt or has forgotten."""
    random = Random(seed)
    while (rules := random_rules(random)) is None:
        pass
    engine, reference = Engine(rules), Reference(rules.checked)
    for event in random_history(random, most=20):
        engine.send_batch([event])
        reference.send(event)
        for rule in rules:
            for time in (event.timestamp, event.timestamp - 1_000_000):
                told = engine.why_not(rule.name, at=Decimal(time) / 1_000_000)
                (report,) = told.rules
                wanted = Counter(
                    str(composite)
                    for composite in reference.outcome.composites
                    if composite.rule == rule.name and composite.timestamp == time
                )
                found = Counter(str(m.event) for a in report.attempts for m in a.matches)
                if report.cause is not Cause.FORGOTTEN and all(a.certain for a in report.attempts):
                    assert report.cause not in (Cause.PAUSED, Cause.NOT_DEPLOYED)
                    assert found == wanted
