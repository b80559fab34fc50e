"""Random rule sets with every construct of the language, and histories for them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tyrex.events import Event
from tyrex.rules import RuleSet, parse
from tyrex.tesla import TeslaError
from tyrex.tesla.durations import SECOND

PRIMITIVE = ("A", "B", "C")
DECLARATIONS = "".join(f"event {name}(k: int, v: float, s: string, b: bool)\n" for name in PRIMITIVE)
ATTRIBUTES = "(k: int, v: float, s: string, b: bool)"
COMPARISONS = ("=", "=", "!=", "<", "<=", ">", ">=")
TEXTS = ("", "a", "A", "ab", "ß", "İ", "ΑΣ", "😀")
FLOATS = (0.0, -0.0, 1.0, 2.0, 0.1, 0.2, 1e16, -1e16, 1e308, float("inf"), float("-inf"), 0.5, 2.5)
INTS = (0, 1, 2, 3, -1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63))


def random_rules(random: Random, *, most: int = 3, joined: bool = False) -> RuleSet | None:
    """Some rules that may use each other's events and their own; None if they contradict themselves."""
    text = random_text(random, most=most, joined=joined)
    try:
        return parse(text)
    except TeslaError:
        return None


def random_text(random: Random, *, most: int = 3, joined: bool = False) -> str:
    """The text of some rules; those that are `joined` can mostly be split by a key, and hand it on."""
    count = random.randint(1, most)
    defined = [f"X{number}" for number in range(count)]
    rules = []
    for number in range(count):
        join = random.choice("kkkkksv") if joined and random.random() < 0.9 else None
        rules.append(_Rule(random, number, defined, join).text())
    return DECLARATIONS + "\n".join(rules)


def random_history(random: Random, *, most: int = 30, until: int = 12) -> list[Event]:
    """Events in order of time, at whole seconds, several of them at the same one; some of unknown types."""
    times = sorted(random.choices(range(until), k=random.randint(3, most)))
    return [_event(random, time * SECOND) for time in times]


def out_of_order(random: Random, events: Sequence[Event]) -> list[Event]:
    """The events as they might arrive."""
    shuffled = list(events)
    for _ in range(random.randint(0, 4)):
        i, j = random.randrange(len(shuffled)), random.randrange(len(shuffled))
        shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
    return shuffled


def _event(random: Random, time: int) -> Event:
    attributes: dict[str, int | float | str | bool | None] = {
        "k": random.choice((0, 0, 1, 1, 2, None, random.choice(INTS))),
        "v": random.choice((0.0, 1.0, 1.5, 2.0, None, random.choice(FLOATS))),
        "s": random.choice(("a", "a", "b", None, random.choice(TEXTS))),
        "b": random.choice((True, False, None)),
    }
    for name in list(attributes):
        if random.random() < 0.03:
            del attributes[name]
    id_ = f"given-{random.randint(0, 10**9)}" if random.random() < 0.1 else None
    return Event(random.choice((*PRIMITIVE * 5, "Unknown")), time, attributes, id_)


class _Rule:
    """Writes one rule."""

    def __init__(self, random: Random, number: int, defined: Sequence[str], join: str | None) -> None:
        self._random = random
        self._join = join
        self._number = number
        self._defined = defined
        self._types = [*PRIMITIVE, *PRIMITIVE, *defined]
        self._names: list[str] = []
        self._parameters: list[tuple[str, str]] = []

    def text(self) -> str:
        """The rule."""
        random = self._random
        conjuncts = [self._terminator()]
        conjuncts += [self._chosen() for _ in range(random.choice((0, 1, 1, 2, 2, 3)))]
        events = [name for name in self._names if name != "Timer"]
        if len(events) > 2 and random.random() < 0.3:
            earlier, later = random.sample(events, 2)
            conjuncts.append(f"{earlier} within {random.randint(0, 4)} s from {later}")
        if random.random() < 0.3:
            conjuncts.append(f"({self._comparison(None)})")
        conjuncts += [
            f"not {self._event(random.choice(self._types))} {self._interval()}"
            for _ in range(random.choice((0, 0, 0, 1, 2)))
        ]
        conjuncts += [
            f"({self._aggregate('number')} {random.choice(COMPARISONS)} {self._number_of(None)})"
            for _ in range(random.choice((0, 0, 0, 1)))
        ]
        consumed = [name for name in events if random.random() < 0.2]
        values = {"k": self._int(), "v": self._float(), "s": self._text(), "b": self._bool()}
        if self._join is not None and "E0" in self._names and random.random() < 0.9:
            values[self._join] = f"E0.{self._join}"
        where = ", ".join(f"{name} = {value}" for name, value in values.items())
        return (
            f"define {self._defined[self._number]}{ATTRIBUTES}\n"
            f"from {' and '.join(conjuncts)}\n"
            f"where {where}\n" + (f"consuming {', '.join(consumed)}\n" if consumed else "")
        )

    def _terminator(self) -> str:
        random = self._random
        kind = random.choice(("event",) * 7 + ("deadline",) * 2 + ("timer",))
        if kind == "timer":
            self._names.append("Timer")
            return f"Timer(S % {random.randint(2, 4)} == {random.randint(0, 1)})"
        if kind == "deadline":
            event = self._event(random.choice(self._types))
            self._names += ["Timer", "E0"]
            return f"{random.randint(1, 4)} s after {event} as E0"
        lower = [*PRIMITIVE, *PRIMITIVE, *self._defined[: self._number]]  # no event makes itself at once
        event = self._event(random.choice(lower))
        self._names.append("E0")
        return f"{event} as E0"

    def _chosen(self) -> str:
        random = self._random
        name = f"E{len(self._names)}x"
        policy = random.choice(("each", "each", "last", "last", "first", "2-last", "2-first", "3-last"))
        event = self._event(random.choice(self._types))
        anchor = random.choice(self._names)
        self._names.append(name)
        return f"{policy} {event} as {name} within {random.randint(0, 5)} s from {anchor}"

    def _event(self, type_: str) -> str:
        conditions = [self._condition() for _ in range(self._random.choice((0, 0, 0, 1, 1)))]
        if self._join is not None and "E0" in self._names and self._random.random() < 0.97:
            conditions.append(f"{self._join} = E0.{self._join}")
        return f"{type_}({', '.join(c for c in conditions if c)})"

    def _condition(self) -> str:
        """A condition inside an event's parentheses."""
        random = self._random
        known = [name for name in self._names if name != "Timer"]
        choice = random.random()
        if choice < 0.35 and known:
            attribute = random.choice("kkvsb")
            operator = random.choice(("=", "=", "=", "!=") if attribute in "sb" else COMPARISONS)
            other = random.choice("kv") if attribute in "kv" else attribute
            return f"{attribute} {operator} {random.choice(known)}.{other}"
        if choice < 0.75:
            return random.choice(
                (
                    f"k {random.choice(COMPARISONS)} {random.choice((0, 1, 2, 0.5, 1.0))}",
                    f"v {random.choice(COMPARISONS)} {random.choice((0, 1, 1.5, 2))}",
                    f's {random.choice(COMPARISONS)} "{random.choice(("a", "b", "ß"))}"',
                    "b = true",
                    "b",
                    "not b",
                    "k in (0, 2)",
                    "k % 2 = 0",
                    "v > k or b",
                    "k + v < 2",
                    'lower(s) = "a"',
                    "length(s) < 2",
                    "timestamp > 4000000",
                )
            )
        return ""

    def _interval(self) -> str:
        random = self._random
        if len(self._names) > 1 and random.random() < 0.4:
            return f"between {random.choice(self._names[1:])} and {self._names[0]}"
        return f"within {random.randint(1, 5)} s from {random.choice(self._names)}"

    def _aggregate(self, kind: str) -> str:
        random = self._random
        event = self._event(random.choice(self._types))
        if kind == "int":
            function, attribute = random.choice(
                (
                    ("Count", ""),
                    ("Sum", ".k"),
                    ("Min", ".k"),
                    ("Max", ".k"),
                    ("First", ".k"),
                    ("Last", ".k"),
                    ("CountDistinct", random.choice((".k", ".v", ".s", ".b"))),
                    ("Max", ".timestamp"),
                )
            )
        elif kind == "string":
            function, attribute = random.choice(("Min", "Max", "First", "Last")), ".s"
        else:
            functions = ("Avg", "Sum", "Min", "Max", "StdDev", "Var", "First", "Last")
            function, attribute = random.choice(functions), random.choice((".v", ".v", ".k"))
        return f"({function}({event}{attribute}) {self._interval()})"

    def _comparison(self, _: object) -> str:
        left, right = self._number_of(None), self._number_of(None)
        return f"{left} {self._random.choice(COMPARISONS)} {right}"

    def _number_of(self, _: object) -> str:
        return self._random.choice((self._reference("k"), self._reference("v"), "1", "0.5"))

    def _reference(self, attribute: str) -> str:
        known = [name for name in self._names if name != "Timer"]
        if not known:
            return {"k": "1", "v": "1.5", "s": '"x"', "b": "true"}[attribute]
        return f"{self._random.choice(known)}.{attribute}"

    def _int(self) -> str:
        k = self._reference("k")
        return self._random.choice(
            (
                k,
                k,
                f"{k} + 1",
                f"{k} * {self._reference('k')}",
                f"-{k}",
                f"abs({k})",
                f"{k} % 3",
                f"floor({self._reference('v')})",
                f"round({self._reference('v')})",
                f"ceil({self._reference('v')})",
                f"if({self._reference('b')}, {k}, 7)",
                f"coalesce({k}, 5)",
                f"least({k}, 2)",
                f"round({k}, -1)",
                f"length({self._reference('s')})",
                self._aggregate("int"),
                self._aggregate("int"),
                "Timer.S" if "Timer" in self._names else k,
            )
        )

    def _float(self) -> str:
        v = self._reference("v")
        return self._random.choice(
            (
                v,
                v,
                self._reference("k"),
                f"{v} / {self._reference('k')}",
                f"{v} - {self._reference('v')}",
                f"{v} % {self._reference('v')}",
                f"sqrt({v})",
                f"pow({v}, {self._reference('k')})",
                f"round({v}, {self._random.choice((1, 0, -1, 2))})",
                f"greatest({v}, {self._reference('k')})",
                f"{self._aggregate('float')} + 0.5",
                self._aggregate("float"),
                self._aggregate("float"),
            )
        )

    def _text(self) -> str:
        s = self._reference("s")
        return self._random.choice(
            (
                s,
                s,
                f"upper({s})",
                f'concat({s}, "-", {self._reference("s")})',
                "null",
                self._aggregate("string"),
            )
        )

    def _bool(self) -> str:
        return self._random.choice((self._reference("b"), f"({self._comparison(None)})", "null", "true"))
