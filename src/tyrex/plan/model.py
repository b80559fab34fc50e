"""The plan of a rule and of a rule set: the automaton model of T-Rex as immutable data.

The engine, the Spark planner, the brokers and the pictures all read the same plan. Events are meant by their
position in the pattern, lengths of time are in microseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tyrex.tesla.checked import CheckedRule
from tyrex.tesla.expressions import Aggregate, Expression, Interval, Within
from tyrex.tesla.syntax import Selection
from tyrex.tesla.types import EventType, ValueType


@dataclass(frozen=True, slots=True)
class Condition:
    """A dynamic condition, and the other events that must be known before it can be tested."""

    expression: Expression
    needs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Split:
    """Conditions on one event, by what is needed to test them (T-Rex paper, section 4)."""

    static: tuple[Expression, ...]
    """Speak of nothing but the event itself: can be tested where the event comes from."""
    dynamic: tuple[Condition, ...]
    """Speak of other events as well."""


class PlaceKind(StrEnum):
    """The parts of a rule that an expression can stand in."""

    EVENT = "event"
    NEGATION = "negation"
    AGGREGATE = "aggregate"
    GUARD = "guard"
    OUTPUT = "output"


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a rule: its kind and its position among the plan's parts of that kind."""

    kind: PlaceKind
    index: int


# --- The automaton ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class State:
    """A state of the automaton: entered with an event of this type that fulfils the conditions.

    `age` is how old its event can be when a match is complete, `reach` how long events must be kept for it;
    they differ only for `first`, see `tyrex.plan.horizon`. Extra time constraints stand in the plan, not
    among `dynamic`.
    """

    index: int
    name: str
    type: str
    selection: Selection | None
    anchor: int | None
    window: int | None
    static: tuple[Expression, ...]
    dynamic: tuple[Condition, ...]
    age: int
    reach: int


class TransitionKind(StrEnum):
    """Which clause of the rule makes one event follow another."""

    ANCHOR = "anchor"
    """`last B within 5 min from A`"""
    CONSTRAINT = "constraint"
    """`D within 5 min from C`, for a `D` that is anchored elsewhere"""
    DEADLINE = "deadline"
    """`14 days after Offer`"""


@dataclass(frozen=True, slots=True)
class Transition:
    """A step from an earlier event to a later one, towards the terminator, and the most time it can take.

    `selection` says which of the earlier event's candidates is taken; a constraint and a deadline have none.
    A deadline takes its window exactly.
    """

    source: int
    target: int
    kind: TransitionKind
    selection: Selection | None
    window: int


@dataclass(frozen=True, slots=True)
class SequenceModel:
    """A linear automaton: from an initiating event to the terminator, its accepting state."""

    name: str
    states: tuple[int, ...]
    transitions: tuple[Transition, ...]

    @property
    def initial(self) -> int:
        """The event that starts the sequence."""
        return self.states[0]

    @property
    def accepting(self) -> int:
        """The event that completes the sequence: the terminator of the rule."""
        return self.states[-1]


@dataclass(frozen=True, slots=True)
class JoinedState:
    """An event that several sequence models share; they must all have used the same one."""

    event: int
    models: tuple[int, ...]
    """Positions in the plan's `sequences`."""


@dataclass(frozen=True, slots=True)
class ParameterUse:
    """A condition that speaks of a parameter: `x operator $p`, or None where it is part of an expression."""

    place: Place
    operator: str | None
    condition: Expression


@dataclass(frozen=True, slots=True)
class ParameterLink:
    """A parameter: the event that binds it (None: the complete tuple) and the conditions that use it."""

    name: str
    expression: Expression
    event: int | None
    uses: tuple[ParameterUse, ...]

    @property
    def states(self) -> tuple[int, ...]:
        """The events that the parameter connects, in the order of declaration."""
        users = {use.place.index for use in self.uses if use.place.kind is PlaceKind.EVENT}
        return tuple(sorted(users | ({self.event} if self.event is not None else set())))


@dataclass(frozen=True, slots=True)
class NegationLink:
    """`not C(..)` in an interval, with conditions on the candidate; `reach` is how long those are kept."""

    index: int
    type: str
    static: tuple[Expression, ...]
    dynamic: tuple[Condition, ...]
    interval: Interval
    reach: int

    @property
    def time_based(self) -> bool:
        """Whether the interval is a length of time before one event, not the stretch between two."""
        return isinstance(self.interval, Within)


@dataclass(frozen=True, slots=True)
class AggregateLink:
    """An aggregate, once for each distinct one in the rule, and where its value is used."""

    index: int
    function: str
    type: str
    attribute: str | None
    static: tuple[Expression, ...]
    dynamic: tuple[Condition, ...]
    interval: Interval
    uses: tuple[Place, ...]
    reach: int
    expression: Aggregate

    @property
    def time_based(self) -> bool:
        """Whether the interval is a length of time before one event, not the stretch between two."""
        return isinstance(self.interval, Within)


@dataclass(frozen=True, slots=True)
class TimeConstraint:
    """`earlier within window from later`, beyond the anchors; it takes part in choosing `owner`.

    `orders` is whether it puts two events in an order that the other clauses leave open.
    """

    earlier: int
    later: int
    window: int
    owner: int
    orders: bool


# --- When a rule is evaluated, what it makes ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CalendarTimer:
    """The rule is evaluated when the calendar fulfils the conditions; fields finer than `finest` are 0."""

    conditions: tuple[Expression, ...]
    finest: str


@dataclass(frozen=True, slots=True)
class Deadline:
    """The rule is evaluated `after` microseconds have passed since the event that set the deadline."""

    event: int
    after: int


@dataclass(frozen=True, slots=True)
class Output:
    """An attribute of the defined event and its value."""

    attribute: str
    type: ValueType
    expression: Expression


# --- Join keys ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JoinKey:
    """Attributes that have one common value in every match of the rule: events can be split by that value.

    For each event, negation and aggregate, in the order of the plan, the attribute that holds the value, None
    where there is none. `outputs` are the attributes of the defined event that carry it on. Only a key that
    `covers` the rule lets every value be detected by itself; otherwise `reason` says what is in the way.

    Where a type plays several parts with different attributes, an event goes to each of its values, and is a
    terminator (with a deadline: sets one) only at the value that it has in that part. Null is a value too:
    an event whose attribute is null joins with nothing, but may be a match by itself.
    """

    name: str
    events: tuple[str | None, ...]
    negations: tuple[str | None, ...]
    aggregates: tuple[str | None, ...]
    outputs: tuple[str, ...]
    covers: bool
    reason: str


# --- Plans --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RulePlan:
    """Everything a runtime must know about one rule."""

    name: str
    position: int
    defines: EventType
    states: tuple[State, ...]
    order: tuple[Transition, ...]
    """The arrows of the ordering graph (TESLA paper, Fig. 4)."""
    sequences: tuple[SequenceModel, ...]
    joined: tuple[JoinedState, ...]
    parameters: tuple[ParameterLink, ...]
    negations: tuple[NegationLink, ...]
    aggregates: tuple[AggregateLink, ...]
    guards: tuple[Condition, ...]
    """Conditions with aggregates, tested on the complete tuple."""
    time_constraints: tuple[TimeConstraint, ...]
    selection_order: tuple[int, ...]
    """The events to be chosen, in the order of choice: the order of declaration."""
    consumed: tuple[int, ...]
    trigger: CalendarTimer | Deadline | None
    """What evaluates the rule where it is not the arrival of an event."""
    outputs: tuple[Output, ...]
    keys: tuple[JoinKey, ...]
    horizon: Mapping[str, int] = field(hash=False)
    """For each type of events, how long this rule needs them."""
    rule: CheckedRule = field(repr=False, compare=False)

    @property
    def terminator(self) -> State:
        """The accepting state, shared by all sequence models."""
        return self.states[0]

    @property
    def names(self) -> tuple[str, ...]:
        """What the events are called in the rule."""
        return tuple(state.name for state in self.states)

    @property
    def key(self) -> JoinKey | None:
        """The first key that covers the rule."""
        return next((key for key in self.keys if key.covers), None)

    @property
    def stateless(self) -> bool:
        """Whether the terminator alone decides: nothing of the past is looked at, so any split will do.

        A timer is no such terminator: each part of a split would have its own.
        """
        alone = len(self.states) == 1 and not self.negations and not self.aggregates
        return alone and self.trigger is None


@dataclass(frozen=True, slots=True)
class RuleSetPlan:
    """The plans of rules that run together, and how they depend on each other.

    Rules are meant by their position in `rules`, the order of deployment.
    """

    rules: tuple[RulePlan, ...]
    strata: tuple[tuple[int, ...], ...]
    """Levels: a rule uses only what rules of lower levels make, or of its own recursive group."""
    recursive_groups: tuple[tuple[int, ...], ...]
    """Rules that, directly or through each other, use what they make."""
    groups: tuple[tuple[int, ...], ...]
    """Rules that pass events to each other; different groups can run apart."""
    horizon: Mapping[str, int] = field(hash=False)
    """For each type of events, how long some rule needs them."""
    types_needed: tuple[str, ...]
    """The types that some rule looks at, in the order of their names; no `Timer`."""
    types_defined: tuple[str, ...]
    """The types that some rule defines, in the order of their names."""
