"""From checked expressions to programs for the kernel's stack machine (`src/kernel/program.hpp`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from struct import pack, unpack

from tyrex.tesla import expressions as e
from tyrex.tesla.types import TIMESTAMP, EventType, ValueType
from tyrex.tesla.typing import type_of

INT, FLOAT, STRING, BOOL = ValueType.INT, ValueType.FLOAT, ValueType.STRING, ValueType.BOOL

TYPE_CODES = {INT: 0, FLOAT: 1, STRING: 2, BOOL: 3}
CANDIDATE = 255

Program = list[int]
"""Four numbers for each instruction: operation, a, b, bits."""


class Op(IntEnum):
    """The operations, in the order of the kernel's."""

    CONSTANT = 0
    NULL = 1
    LOAD = 2
    NEGATE_INT = 3
    NEGATE_FLOAT = 4
    NOT = 5
    ADD_INT = 6
    SUBTRACT_INT = 7
    MULTIPLY_INT = 8
    MODULO_INT = 9
    ADD_FLOAT = 10
    SUBTRACT_FLOAT = 11
    MULTIPLY_FLOAT = 12
    DIVIDE_FLOAT = 13
    MODULO_FLOAT = 14
    TO_FLOAT = 15
    TO_FLOAT_BELOW = 16
    COMPARE_INT = 17
    COMPARE_FLOAT = 18
    COMPARE_INT_FLOAT = 19
    COMPARE_FLOAT_INT = 20
    COMPARE_STRING = 21
    TRUTH = 22
    JUMP_IF_FALSE = 23
    JUMP_IF_TRUE = 24
    PRESENT = 25
    PRECEDES = 26
    AGGREGATE = 27
    ABS_INT = 28
    ABS_FLOAT = 29
    FLOOR = 30
    CEIL = 31
    ROUND = 32
    ROUND_FLOAT_TO = 33
    ROUND_INT_TO = 34
    SQRT = 35
    POW = 36
    LEAST = 37
    GREATEST = 38
    LOWER = 39
    UPPER = 40
    LENGTH = 41
    CONCAT = 42
    COALESCE = 43
    IF = 44


COMPARISONS = {"=": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}
_INT_ARITHMETIC = {"+": Op.ADD_INT, "-": Op.SUBTRACT_INT, "*": Op.MULTIPLY_INT, "%": Op.MODULO_INT}
_FLOAT_ARITHMETIC = {
    "+": Op.ADD_FLOAT,
    "-": Op.SUBTRACT_FLOAT,
    "*": Op.MULTIPLY_FLOAT,
    "/": Op.DIVIDE_FLOAT,
    "%": Op.MODULO_FLOAT,
}


def int_bits(value: int) -> int:
    """The 64 bits of an int, as a number that is not negative."""
    return value & 0xFFFF_FFFF_FFFF_FFFF


def float_bits(value: float) -> int:
    """The 64 bits of a float, as a number that is not negative."""
    return int(unpack("<Q", pack("<d", value))[0])


class Assembler:
    """Writes programs for the events of one rule.

    `pin` gives the kernel's number of a text, `aggregate` that of an aggregate.
    """

    def __init__(
        self,
        events: Sequence[str],
        types: Mapping[str, EventType],
        pin: Callable[[str], int],
        aggregate: Callable[[e.Aggregate], int],
    ) -> None:
        self._events = events
        self._types = types
        self._pin = pin
        self._aggregate = aggregate

    def program(self, expression: e.Expression, candidate: str | None = None) -> Program:
        """The program that gives the value of an expression."""
        return _Writer(self, candidate).write(expression)

    def column(self, type_name: str, attribute: str) -> int:
        """The place of an attribute among those of its type; -1 is the timestamp."""
        if attribute == TIMESTAMP:
            return -1
        return [a.name for a in self._types[type_name].attributes].index(attribute)

    def type_of(self, expression: e.Expression, candidate: str | None) -> ValueType:
        """The type of an expression; a null counts as an int."""
        return type_of(expression, self._events, self._types, candidate) or INT

    def event_type(self, event: int, candidate: str | None) -> str:
        """The type of an event of the pattern, or of the candidate."""
        return candidate if event == e.CANDIDATE and candidate else self._events[event]

    def literal_bits(self, value: str | int | float | bool) -> int:
        """The 64 bits of a value that is not null."""
        if isinstance(value, str):
            return self._pin(value)
        if isinstance(value, float):
            return float_bits(value)
        return int_bits(int(value))

    def aggregate_number(self, node: e.Aggregate) -> int:
        """The kernel's number of an aggregate."""
        return self._aggregate(node)


class _Writer:
    def __init__(self, assembler: Assembler, candidate: str | None) -> None:
        self._assembler = assembler
        self._candidate = candidate
        self._code: Program = []

    def write(self, expression: e.Expression) -> Program:
        self._expression(expression)
        return self._code

    def _add(self, op: Op, a: int = 0, b: int = 0, bits: int = 0) -> int:
        self._code += (op, a, b, bits)
        return len(self._code) // 4 - 1

    def _type(self, expression: e.Expression) -> ValueType:
        return self._assembler.type_of(expression, self._candidate)

    def _expression(self, node: e.Expression) -> None:
        match node:
            case e.Literal(value=None):
                self._add(Op.NULL)
            case e.Literal(value=value) if value is not None:
                self._add(Op.CONSTANT, bits=self._assembler.literal_bits(value))
            case e.Attribute(event=event, name=name):
                type_name = self._assembler.event_type(event, self._candidate)
                number = CANDIDATE if event == e.CANDIDATE else event
                self._add(Op.LOAD, number, self._assembler.column(type_name, name))
            case e.Compare():
                self._compare(node.operator, node.left, node.right)
            case e.OneOf(operand=operand, options=options):
                self._any([e.Compare("=", operand, option) for option in options])
            case e.Binary(operator="and", left=left, right=right):
                self._both(left, right, Op.JUMP_IF_FALSE)
            case e.Binary(operator="or", left=left, right=right):
                self._both(left, right, Op.JUMP_IF_TRUE)
            case e.Binary():
                self._arithmetic(node)
            case e.Unary(operator="not", operand=operand):
                self._expression(operand)
                self._add(Op.NOT)
            case e.Unary(operand=operand):
                self._expression(operand)
                self._add(Op.NEGATE_INT if self._type(operand) is INT else Op.NEGATE_FLOAT)
            case e.Call():
                self._call(node)
            case e.Present(operand=operand):
                self._expression(operand)
                self._add(Op.PRESENT)
            case e.Precedes(earlier=earlier, later=later, window=window):
                self._add(Op.PRECEDES, earlier, later, window)
            case e.Aggregate():
                self._add(Op.AGGREGATE, bits=self._assembler.aggregate_number(node))
            case _:
                raise AssertionError(f"{node} should have been replaced by the checks")

    def _compare(self, operator: str, left: e.Expression, right: e.Expression) -> None:
        kinds = (self._type(left), self._type(right))
        self._expression(left)
        self._expression(right)
        if STRING in kinds:
            op = Op.COMPARE_STRING
        elif kinds == (FLOAT, FLOAT):
            op = Op.COMPARE_FLOAT
        elif FLOAT in kinds:
            op = Op.COMPARE_FLOAT_INT if kinds[0] is FLOAT else Op.COMPARE_INT_FLOAT
        else:
            op = Op.COMPARE_INT
        self._add(op, COMPARISONS[operator])

    def _both(self, left: e.Expression, right: e.Expression, jump: Op) -> None:
        self._expression(left)
        self._add(Op.TRUTH)
        place = self._add(jump)
        self._expression(right)
        self._add(Op.TRUTH)
        self._land(place)

    def _any(self, conditions: Sequence[e.Expression]) -> None:
        places = []
        for condition in conditions[:-1]:
            self._expression(condition)
            places.append(self._add(Op.JUMP_IF_TRUE))
        self._expression(conditions[-1])
        for place in places:
            self._land(place)

    def _land(self, jump: int) -> None:
        """Let a jump lead to what comes next."""
        self._code[4 * jump + 2] = len(self._code) // 4

    def _float(self, expression: e.Expression) -> None:
        self._expression(expression)
        if self._type(expression) is INT:
            self._add(Op.TO_FLOAT)

    def _arithmetic(self, node: e.Binary) -> None:
        if node.operator != "/" and self._type(node.left) is INT and self._type(node.right) is INT:
            self._expression(node.left)
            self._expression(node.right)
            self._add(_INT_ARITHMETIC[node.operator])
        else:
            self._float(node.left)
            self._float(node.right)
            self._add(_FLOAT_ARITHMETIC[node.operator])

    def _call(self, node: e.Call) -> None:
        arguments = node.arguments
        first = arguments[0]
        is_int = self._type(first) is INT
        count = len(arguments)
        match node.function:
            case "sqrt" | "pow":
                for argument in arguments:
                    self._float(argument)
                self._add(Op.SQRT if node.function == "sqrt" else Op.POW)
                return
            case "round" if count == 2:
                for argument in arguments:
                    self._expression(argument)
                self._add(Op.ROUND_INT_TO if is_int else Op.ROUND_FLOAT_TO)
                return
            case _:
                pass
        for argument in arguments:
            self._expression(argument)
        match node.function:
            case "abs":
                self._add(Op.ABS_INT if is_int else Op.ABS_FLOAT)
            case "float":
                if is_int:
                    self._add(Op.TO_FLOAT)
            case "floor" | "ceil" | "round":
                if not is_int:
                    self._add({"floor": Op.FLOOR, "ceil": Op.CEIL, "round": Op.ROUND}[node.function])
            case "least" | "greatest":
                kind = TYPE_CODES[self._type(node)]
                self._add(Op.LEAST if node.function == "least" else Op.GREATEST, kind, count)
            case "lower":
                self._add(Op.LOWER)
            case "upper":
                self._add(Op.UPPER)
            case "length":
                self._add(Op.LENGTH)
            case "concat":
                self._add(Op.CONCAT, b=count)
            case "coalesce":
                self._add(Op.COALESCE, b=count)
            case "if":
                self._add(Op.IF)
            case name:
                raise AssertionError(f"the kernel has no function {name}")
