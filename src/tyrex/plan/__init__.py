"""Plans: from checked rules to the automata that every runtime executes.

>>> from tyrex.tesla import check_text
>>> plan = plan_rules(check_text('''
... define Fire(area: string)
... from Smoke(area = $a) and each Temp(area = $a and value > 45) within 5 min from Smoke
... where area = $a
... '''))
>>> dict(plan.horizon)
{'Smoke': 0, 'Temp': 300000000}
"""

from tyrex.plan.automaton import plan_rule
from tyrex.plan.describe import describe
from tyrex.plan.graph import combine, feeds, plan_rules
from tyrex.plan.keys import join_keys
from tyrex.plan.model import (
    AggregateLink,
    CalendarTimer,
    Condition,
    Deadline,
    JoinedState,
    JoinKey,
    NegationLink,
    Output,
    ParameterLink,
    ParameterUse,
    Place,
    PlaceKind,
    RulePlan,
    RuleSetPlan,
    SequenceModel,
    Split,
    State,
    TimeConstraint,
    Transition,
    TransitionKind,
)
from tyrex.plan.pictures import Format, draw
from tyrex.plan.sharding import KeyAttribute, Sharding, Unit, shard

__all__ = [
    "AggregateLink",
    "CalendarTimer",
    "Condition",
    "Deadline",
    "Format",
    "JoinKey",
    "JoinedState",
    "KeyAttribute",
    "NegationLink",
    "Output",
    "ParameterLink",
    "ParameterUse",
    "Place",
    "PlaceKind",
    "RulePlan",
    "RuleSetPlan",
    "SequenceModel",
    "Sharding",
    "Split",
    "State",
    "TimeConstraint",
    "Transition",
    "TransitionKind",
    "Unit",
    "combine",
    "describe",
    "draw",
    "feeds",
    "join_keys",
    "plan_rule",
    "plan_rules",
    "shard",
]
