import pytest
from tests.plan.support import DEADLINE, EVERY_TEXT, JOURNEY, PERIODIC, R6, R7, plan_all, plan_one
from tests.plan.support import R as RULE_R

from tyrex.plan import describe
from tyrex.plan.describe import describe_rule, describe_rule_set, describe_sequence

R7_TEXT = """\
R7 defines Fire(area: string, measuredTemp: float)

  Evaluated   on Smoke
  Automaton   M1  (Temp) value > 45 --each, 5 min--> ((Smoke))
              M2  (Wind) speed > 20 --each, 5 min--> ((Smoke))
              Smoke is shared by M1 and M2
  Parameters  $a  = Smoke.area, used by Temp, Wind, not Rain
  Negations   not Rain(area = $a) between Wind and Smoke
  Selection   1.  each Temp  within 5 min from Smoke
              2.  each Wind  within 5 min from Smoke
  Conditions  Smoke  static   area is not null
              Temp   static   value > 45
              Temp   dynamic  area = Smoke.area
              Wind   static   speed > 20
              Wind   dynamic  area = Smoke.area
  Output      area          = Smoke.area
              measuredTemp  = Temp.value
  Horizon     Rain   5 min
              Smoke  0 s
              Temp   5 min
              Wind   5 min
  Key         $a: Smoke.area, Temp.area, Wind.area, not Rain.area
"""


def test_a_rule_is_described_part_by_part() -> None:
    """The text of `tyrex explain` for R7."""
    assert describe(plan_one(R7)) == R7_TEXT


def test_a_single_rule_needs_no_summary() -> None:
    """A set of one rule is described as that rule."""
    assert describe(plan_all(R7)) == R7_TEXT


def test_a_rule_set_is_summed_up_after_its_rules() -> None:
    """Strata, recursion, groups and horizons of all rules together."""
    plan = plan_all(R6)
    text = describe(plan)
    assert text.endswith(describe_rule_set(plan))
    assert (
        describe_rule_set(plan)
        == """\
3 rules

  Strata      0  R6a
              1  R6b, R6c
  Recursive   none
  Groups      R6a, R6b, R6c
  Horizon     NotIncrTemp  5 min
              Smoke        0 s
              Temp         5 min
"""
    )


def test_a_sequence_is_a_line_from_the_initial_to_the_accepting_state() -> None:
    """A constraint's arrow has a window and no selection."""
    plan = plan_one(RULE_R)
    line = "(D) Vd = 5 --5 min--> (C) Vc < 3 --each, 4 min--> ((A)) Va > 1"
    assert describe_sequence(plan, plan.sequences[2]) == line


def test_a_long_sequence_has_a_line_for_each_step() -> None:
    """So that it can be read."""
    lines = describe(plan_one(JOURNEY)).splitlines()
    assert any(line.strip().startswith("--each, 12 h--> (Check: Security)") for line in lines)


def test_timers_and_deadlines_say_when_the_rule_is_evaluated() -> None:
    """By the calendar, or some time after an event."""
    assert "  Evaluated   by the calendar: H = 9 and M = 0 and D = Friday\n" in describe(plan_one(PERIODIC))
    assert " after O\n" in describe(plan_one(DEADLINE)).splitlines(keepends=True)[2]


def test_a_key_that_does_not_cover_the_rule_says_why() -> None:
    """Then the reader knows what would help."""
    text = describe(plan_one(JOURNEY))
    assert "not of the whole rule: `Max(Security(..))` has no attribute that must be equal to `$p`" in text


@pytest.mark.parametrize("name", EVERY_TEXT)
def test_every_description_is_neat(name: str) -> None:
    """Plain text, no trailing blanks, no control characters."""
    for rule in plan_all(EVERY_TEXT[name]).rules:
        text = describe_rule(rule)
        assert text.endswith("\n")
        assert all(line == line.rstrip() for line in text.splitlines())
        assert all(character >= " " or character == "\n" for character in text)
