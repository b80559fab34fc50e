"""Types: comparisons between like kinds, arithmetic on numbers, conditions that are true or false."""

from __future__ import annotations

from dataclasses import replace

from tyrex.tesla import expressions as e
from tyrex.tesla.aggregates import AGGREGATES
from tyrex.tesla.checks.context import Context, RuleDraft, Slot, TypeDraft
from tyrex.tesla.functions import FUNCTIONS
from tyrex.tesla.source import Span
from tyrex.tesla.types import TIMESTAMP, ValueType
from tyrex.tesla.typing import arithmetic_type, literal_type
from tyrex.tesla.values import INT_MAX

INT, FLOAT, BOOL, STRING = ValueType.INT, ValueType.FLOAT, ValueType.BOOL, ValueType.STRING


def types(context: Context) -> None:
    """Check the types in every condition and every assigned value."""
    for rule in context.sound_rules:
        checker = _Checker(context, rule)
        for event in rule.events:
            event.conditions = [checker.condition(c) for c in event.conditions]
        rule.guards = [checker.condition(c) for c in rule.guards]
        for negation in rule.negations:
            negation.conditions = checker.inside(negation.type, negation.conditions)
        rule.assignments = [(a, checker.complete(value)) for a, value in rule.assignments]
        for assignment, value in rule.assignments:
            found = checker.type(value)
            slot = rule.defines.attributes.get(assignment.attribute.text) if rule.defines else None
            if slot is None or found is None:
                continue
            wanted = next(iter(slot.allowed))
            if not fits(found, wanted):
                checker.report(
                    "TSL044",
                    f"`{assignment.attribute.text}` is {wanted.with_article}, this value is {found.with_article}",
                    assignment.value.span,
                    expected=f"{wanted.with_article}",
                    found=f"{found.with_article}",
                    suggestion="use `round`, `floor` or `ceil`"
                    if (found, wanted) == (FLOAT, INT)
                    else f"declare `{assignment.attribute.text}: {found.value}`, or assign another value",
                )


def check_conditions(context: Context, rule: RuleDraft, conditions: list[e.Expression]) -> list[e.Expression]:
    """Check conditions that stand alone, as those of a subscription."""
    checker = _Checker(context, rule)
    return [checker.condition(condition) for condition in conditions]


def fits(found: ValueType, wanted: ValueType) -> bool:
    """Whether a value of one type can be given to an attribute of another: an int widens to a float."""
    return found is wanted or (found is INT and wanted is FLOAT)


def comparable(left: ValueType, right: ValueType) -> bool:
    """Whether values of two types can be compared."""
    return left is right or (left.numeric and right.numeric)


class _Checker:
    def __init__(self, context: Context, rule: RuleDraft) -> None:
        self.context = context
        self.rule = rule
        self.candidate: TypeDraft | None = None
        self.reported: set[Span] = set()

    def report(
        self,
        code: str,
        message: str,
        span: Span,
        *,
        expected: str | None = None,
        found: str | None = None,
        suggestion: str,
    ) -> None:
        if span not in self.reported:  # a replaced parameter is met wherever it is used
            self.reported.add(span)
            self.context.report(
                code, message, self.rule.source, span, expected=expected, found=found, suggestion=suggestion
            )

    def condition(self, node: e.Expression) -> e.Expression:
        node = self.complete(node)
        self._expect(node, BOOL, "a condition is true or false")
        return node

    def inside(self, type_: TypeDraft, conditions: list[e.Expression]) -> list[e.Expression]:
        outer, self.candidate = self.candidate, type_
        checked = [self.condition(c) for c in conditions]
        self.candidate = outer
        return checked

    def complete(self, node: e.Expression) -> e.Expression:
        """The expression with the attribute filled in where an aggregate leaves it out: the only numeric one."""
        if any(isinstance(n, e.Aggregate) and n.attribute is None for n in e.walk(node)):
            return e.rebuild(node, self._complete_aggregate)
        return node

    def _complete_aggregate(self, node: e.Expression) -> e.Expression:
        if not isinstance(node, e.Aggregate) or node.attribute is not None:
            return node
        if not AGGREGATES[node.function].takes_attribute:
            return node
        draft = self.context.types.get(node.type)
        numeric = [name for name, slot in draft.attributes.items() if _only(slot).numeric] if draft else []
        if len(numeric) == 1:
            return replace(node, attribute=numeric[0])
        self.report(
            "TSL029",
            f"`{node.function}` of which attribute?",
            node.span,
            expected=" or ".join(f"`.{name}`" for name in numeric) or None,
            suggestion=f"write `{node.function}({node.type}(..).{numeric[0] if numeric else 'attribute'})`",
        )
        return node

    def _expect(self, node: e.Expression, wanted: ValueType, why: str) -> None:
        found = self.type(node)
        if found is not None and found is not wanted:
            self.report(
                "TSL042",
                f"{why}; this is {found.with_article}",
                node.span,
                expected=f"{wanted.with_article}",
                found=f"{found.with_article}",
                suggestion="compare it with something, as in `value > 45`",
            )

    def type(self, node: e.Expression) -> ValueType | None:
        """The type of an expression; None for null and for what has been reported."""
        match node:
            case e.Literal(value=value, span=span):
                if isinstance(value, int) and value > INT_MAX:
                    self.report(
                        "TSL004",
                        "this number does not fit into 64 bits",
                        span,
                        suggestion="write it as a float",
                    )
                return literal_type(value)
            case e.Attribute():
                return self._attribute(node)
            case e.Compare(left=left, right=right, operator=symbol):
                self._compare(node, left, right, ordering=symbol not in ("=", "!="))
            case e.OneOf(operand=operand, options=options):
                for option in options:
                    self._compare(option, operand, option, ordering=False)
            case e.Binary(operator="and" | "or", left=left, right=right):
                self._expect(left, BOOL, "`and` and `or` join conditions")
                self._expect(right, BOOL, "`and` and `or` join conditions")
            case e.Binary(operator=symbol, left=left, right=right):
                kinds = [self._number(left, symbol), self._number(right, symbol)]
                return arithmetic_type(symbol, kinds[0] or INT, kinds[1] or INT)
            case e.Unary(operator="-", operand=operand):
                return self._number(operand, "-")
            case e.Unary(operand=operand):
                self._expect(operand, BOOL, "`not` turns a condition around")
            case e.Call():
                return self._call(node)
            case e.Present(operand=operand):
                self.type(operand)
            case e.Aggregate():
                return self._aggregate(node)
            case _:
                pass
        return BOOL

    def _attribute(self, node: e.Attribute) -> ValueType | None:
        draft = self.candidate if node.event == e.CANDIDATE else self.rule.events[node.event].type
        if node.name == TIMESTAMP:
            return INT
        slot = draft.attributes.get(node.name) if draft else None
        return None if slot is None or slot.open else _only(slot)

    def _compare(
        self, node: e.Expression, left: e.Expression, right: e.Expression, *, ordering: bool
    ) -> None:
        kinds = (self.type(left), self.type(right))
        if kinds[0] is None or kinds[1] is None:
            return
        if not comparable(kinds[0], kinds[1]):
            self.report(
                "TSL040",
                f"{kinds[0].with_article} can't be compared with {kinds[1].with_article}",
                node.span,
                expected=f"two {kinds[0].value}s" if not kinds[0].numeric else "two numbers",
                found=f"{kinds[0].with_article} and {kinds[1].with_article}",
                suggestion='write a text in quotes, as in `area = "A1"`, a number without'
                if STRING in kinds and (kinds[0].numeric or kinds[1].numeric)
                else "compare values of one kind",
            )
        elif ordering and kinds[0] is BOOL:
            self.report(
                "TSL040",
                "a bool has no order",
                node.span,
                expected="`=` or `!=`",
                suggestion="compare it with `= true` or `= false`",
            )

    def _number(self, node: e.Expression, symbol: str) -> ValueType | None:
        found = self.type(node)
        if found is not None and not found.numeric:
            self.report(
                "TSL041",
                f"`{symbol}` takes numbers; this is {found.with_article}",
                node.span,
                expected="an int or a float",
                found=f"{found.with_article}",
                suggestion="use `concat` to join texts"
                if found is STRING and symbol == "+"
                else "use a number here",
            )
            return None
        return found

    def _call(self, node: e.Call) -> ValueType | None:
        function = FUNCTIONS[node.function]
        count = len(node.arguments)
        if count < function.least or (function.most is not None and count > function.most):
            some = str(function.least) if function.least == function.most else f"{function.least} or more"
            if function.most is not None and function.least != function.most:
                some = f"{function.least} or {function.most}"
            self.report(
                "TSL043",
                f"`{node.function}` takes {some} argument{'s' if some != '1' else ''}, not {count}",
                node.span,
                expected=some,
                found=str(count),
                suggestion=f"`{node.function}` gives {function.meaning}",
            )
            return None
        kinds = [self.type(argument) for argument in node.arguments]
        for position, (argument, kind) in enumerate(zip(node.arguments, kinds, strict=True)):
            allowed = function.takes(position)
            if kind is not None and kind not in allowed:
                words = " or ".join(t.with_article for t in allowed)
                self.report(
                    "TSL043",
                    f"`{node.function}` takes {words} here; this is {kind.with_article}",
                    argument.span,
                    expected=words,
                    found=f"{kind.with_article}",
                    suggestion=f"`{node.function}` gives {function.meaning}",
                )
                return None
        start = function.same or 0
        some_kind = next((kind for kind in kinds[start:] if kind is not None), None)
        if function.same is not None:
            for argument, kind in zip(node.arguments[start:], kinds[start:], strict=True):
                if kind is not None and some_kind is not None and not comparable(kind, some_kind):
                    self.report(
                        "TSL043",
                        f"`{node.function}` takes values of one kind; "
                        f"this is {kind.with_article}, another is {some_kind.with_article}",
                        argument.span,
                        expected=f"{some_kind.with_article}",
                        found=f"{kind.with_article}",
                        suggestion="use values of one kind",
                    )
                    return None
            if some_kind is None:
                return None
        return function.gives([kind or some_kind or INT for kind in kinds])

    def _aggregate(self, node: e.Aggregate) -> ValueType | None:
        draft = self.context.types.get(node.type)
        if draft is None:
            return None
        self.inside(draft, list(node.conditions))
        function = AGGREGATES[node.function]
        if not function.takes_attribute:
            return function.gives
        if node.attribute == TIMESTAMP:
            return function.gives or INT
        slot = draft.attributes.get(node.attribute or "")
        if slot is None:
            return None
        found = _only(slot)
        if found not in function.takes:
            words = " or ".join(t.with_article for t in sorted(function.takes))
            self.report(
                "TSL045",
                f"`{node.function}` can't be taken of `{node.attribute}`, which is {found.with_article}",
                node.span,
                expected=f"an attribute that is {words}",
                found=f"{found.with_article}",
                suggestion="use CountDistinct, First or Last, or another attribute",
            )
            return None
        return function.gives or found


def _only(slot: Slot) -> ValueType:
    return next(iter(sorted(slot.allowed)))
