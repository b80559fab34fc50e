"""Types that are not written: of undeclared events, and of the attributes of `define`.

Every attribute starts with all types and loses those that its uses rule out; nothing needs this pass where
everything is declared.
"""

from __future__ import annotations

from collections.abc import Iterator

from tyrex.tesla import expressions as e
from tyrex.tesla.aggregates import AGGREGATES
from tyrex.tesla.checks.context import ANY_TYPE, Context, RuleDraft, Slot, TypeDraft
from tyrex.tesla.functions import FUNCTIONS
from tyrex.tesla.types import TIMESTAMP, Origin, ValueType

Types = frozenset[ValueType]
NUMBERS: Types = frozenset((ValueType.INT, ValueType.FLOAT))
INT: Types = frozenset((ValueType.INT,))
FLOAT: Types = frozenset((ValueType.FLOAT,))
STRING: Types = frozenset((ValueType.STRING,))
BOOL: Types = frozenset((ValueType.BOOL,))
ORDERED = NUMBERS | STRING


def inference(context: Context) -> None:
    """Settle the type of every attribute."""
    slots = [slot for draft in context.types.values() for slot in draft.attributes.values() if slot.open]
    if not slots:
        return
    _propagate(context)
    # The likely numbers first: what they are compared with follows from them.
    outputs = {
        id(slot)
        for draft in context.types.values()
        if draft.origin is Origin.DEFINED
        for slot in draft.attributes.values()
    }
    for slot in sorted(slots, key=lambda slot: (not slot.ordered, slot.allowed != NUMBERS)):
        if slot.open and not (id(slot) in outputs and slot.allowed == NUMBERS):
            slot.allowed = _default(slot)
            _propagate(context)
    _settle_outputs(context, [slot for slot in slots if slot.open])


def _default(slot: Slot) -> Types:
    if slot.allowed <= NUMBERS or (slot.ordered and slot.allowed & NUMBERS):
        return FLOAT if ValueType.FLOAT in slot.allowed else INT
    return STRING if ValueType.STRING in slot.allowed else BOOL


def _settle_outputs(context: Context, slots: list[Slot]) -> None:
    """An attribute of `define` is an int if all its values are, else a float."""
    for slot in slots:
        slot.allowed = INT
    changed = True
    while changed:
        changed = False
        for rule in context.sound_rules:
            for target, value in _assignments(rule):
                settled = target.allowed != INT or not any(target is slot for slot in slots)
                if not settled and _Inference(rule, context).possible(value) == FLOAT:
                    target.allowed = FLOAT
                    changed = True


def _propagate(context: Context) -> None:
    while True:
        before = _state(context)
        for rule in context.sound_rules:
            _Inference(rule, context).visit_rule()
        if _state(context) == before:
            return


def _state(context: Context) -> list[tuple[Types, bool]]:
    return [
        (slot.allowed, slot.ordered) for draft in context.types.values() for slot in draft.attributes.values()
    ]


def _assignments(rule: RuleDraft) -> Iterator[tuple[Slot, e.Expression]]:
    assert rule.defines is not None
    for assignment, value in rule.assignments:
        slot = rule.defines.attributes.get(assignment.attribute.text)
        if slot is not None:
            yield slot, value


def family(types: Types) -> Types:
    """The types that values of these types can be compared with."""
    return types | NUMBERS if types & NUMBERS else types


class _Inference:
    def __init__(self, rule: RuleDraft, context: Context) -> None:
        self.rule = rule
        self.context = context
        self.candidate: TypeDraft | None = None

    def visit_rule(self) -> None:
        for event in self.rule.events:
            for condition in event.conditions:
                self.visit(condition)
        for condition in self.rule.guards:
            self.visit(condition)
        for negation in self.rule.negations:
            self._visit_inside(negation.type, negation.conditions)
        for slot, value in _assignments(self.rule):
            self.visit(value, BOOL if slot.allowed == BOOL else ANY_TYPE)
            self.narrow(value, INT if slot.allowed == INT else family(slot.allowed))
            possible = self.possible(value)
            _restrict(slot, FLOAT if possible == FLOAT else family(possible))

    def _visit_inside(
        self, type_: TypeDraft | None, conditions: list[e.Expression] | tuple[e.Expression, ...]
    ) -> None:
        outer, self.candidate = self.candidate, type_
        for condition in conditions:
            self.visit(condition)
        self.candidate = outer

    def slot(self, node: e.Attribute) -> Slot | None:
        draft = self.candidate if node.event == e.CANDIDATE else self.rule.events[node.event].type
        return None if draft is None else draft.attributes.get(node.name)

    def visit(self, node: e.Expression, wanted: Types = BOOL) -> None:
        """Narrow what is inside an expression that stands where `wanted` types stand."""
        self.narrow(node, wanted)
        match node:
            case e.Compare(operator=symbol, left=left, right=right):
                self.visit(left, ANY_TYPE)
                self.visit(right, ANY_TYPE)
                self._same_kind([left, right])
                if symbol not in ("=", "!="):
                    self._order(left)
                    self._order(right)
            case e.OneOf(operand=operand, options=options):
                for part in (operand, *options):
                    self.visit(part, ANY_TYPE)
                self._same_kind([operand, *options])
            case e.Binary(operator="and" | "or", left=left, right=right):
                self.visit(left)
                self.visit(right)
            case e.Binary(left=left, right=right):
                self.visit(left, NUMBERS)
                self.visit(right, NUMBERS)
            case e.Unary(operator=symbol, operand=operand):
                self.visit(operand, BOOL if symbol == "not" else NUMBERS)
            case e.Call(function=name, arguments=arguments):
                function = FUNCTIONS[name]
                for position, argument in enumerate(arguments):
                    self.visit(argument, frozenset(function.takes(position)))
                if function.same is not None:
                    self._same_kind(list(arguments[function.same :]))
            case e.Present(operand=operand):
                self.visit(operand, ANY_TYPE)
            case e.Aggregate(function=name, type=type_, attribute=attribute, conditions=conditions):
                draft = self.context.types.get(type_)
                if draft is not None and attribute in draft.attributes:
                    _restrict(draft.attributes[attribute], frozenset(AGGREGATES[name].takes))
                self._visit_inside(draft, conditions)
            case _:
                pass

    def _same_kind(self, parts: list[e.Expression]) -> None:
        for part in parts:
            kind = family(self.possible(part))
            for other in parts:
                if other is not part:
                    self.narrow(other, kind)

    def _order(self, node: e.Expression) -> None:
        self.narrow(node, ORDERED)
        if isinstance(node, e.Attribute) and (slot := self.slot(node)) is not None:
            slot.ordered = True

    def narrow(self, node: e.Expression, allowed: Types) -> None:
        match node:
            case e.Attribute():
                slot = self.slot(node)
                if slot is not None:
                    _restrict(slot, allowed)
            case e.Unary(operator="-", operand=operand):
                self.narrow(operand, allowed)
            case e.Binary(operator="+" | "-" | "*" | "%", left=left, right=right) if allowed == INT:
                self.narrow(left, INT)
                self.narrow(right, INT)
            case e.Call(function=name, arguments=arguments) if (start := FUNCTIONS[name].same) is not None:
                for argument in arguments[start:]:
                    self.narrow(argument, allowed)
            case e.Aggregate(function=name, type=type_, attribute=attribute) if (
                AGGREGATES[name].gives is None
            ):
                draft = self.context.types.get(type_)
                if draft is not None and attribute in draft.attributes:
                    _restrict(draft.attributes[attribute], allowed)
            case _:
                pass

    def possible(self, node: e.Expression) -> Types:
        match node:
            case e.Literal(value=value):
                return ANY_TYPE if value is None else frozenset((type_of_value(value),))
            case e.Attribute(name=name):
                slot = self.slot(node)
                return slot.allowed if slot is not None else (INT if name == TIMESTAMP else ANY_TYPE)
            case e.Unary(operator="-", operand=operand):
                return self.possible(operand) & NUMBERS or NUMBERS
            case e.Binary(operator="/"):
                return FLOAT
            case e.Binary(operator="+" | "-" | "*" | "%", left=left, right=right):
                kinds = (self.possible(left), self.possible(right))
                return FLOAT if FLOAT in kinds else (INT if kinds == (INT, INT) else NUMBERS)
            case e.Call(function=name, arguments=arguments):
                return self._possible_result(name, arguments)
            case e.Aggregate(function=name, type=type_, attribute=attribute):
                gives = AGGREGATES[name].gives
                if gives is not None:
                    return frozenset((gives,))
                draft = self.context.types.get(type_)
                if draft is not None and attribute in draft.attributes:
                    return draft.attributes[attribute].allowed
                return INT if attribute == TIMESTAMP else NUMBERS
            case _:
                return BOOL

    def _possible_result(self, name: str, arguments: tuple[e.Expression, ...]) -> Types:
        function = FUNCTIONS[name]
        if function.same is not None:
            kinds = [self.possible(argument) for argument in arguments[function.same :]]
            if FLOAT in kinds:
                return FLOAT
            return frozenset().union(*kinds) if kinds else ANY_TYPE
        if name == "abs" or (name == "round" and len(arguments) == 2):
            return self.possible(arguments[0]) & NUMBERS or NUMBERS if arguments else NUMBERS
        return frozenset((function.gives([ValueType.INT] * max(len(arguments), 1)),))


def _restrict(slot: Slot, allowed: Types) -> None:
    """Keep what is allowed; a contradiction changes nothing here and is reported by the types pass."""
    kept = slot.allowed & allowed
    if kept:
        slot.allowed = kept


def type_of_value(value: str | int | float | bool) -> ValueType:
    """The type of a literal."""
    if isinstance(value, bool):
        return ValueType.BOOL
    if isinstance(value, int):
        return ValueType.INT
    return ValueType.FLOAT if isinstance(value, float) else ValueType.STRING
