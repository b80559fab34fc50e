"""A conjunction in any order, said once more and in another way: every set of messages that fits."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from tyrex import Event
from tyrex.reference import run
from tyrex.rules import parse

WINDOW = 4
SECOND = 1_000_000


@dataclass(frozen=True)
class Part:
    """A filter on `v`: of a type, with a bound from below, and perhaps the common parameter."""

    type: str
    above: int
    joined: bool
    negated: bool = False

    def __str__(self) -> str:
        constraints = f"v > {self.above}" + (" AND v = $X" if self.joined else "")
        return f"{'NOT ' if self.negated else ''}{self.type}[{constraints}]"

    def fits(self, message: Event, value: int) -> bool:
        v = message["v"]
        assert isinstance(v, int)
        return message.type == self.type and v > self.above and (not self.joined or v == value)


parts = st.builds(Part, st.sampled_from("ABC"), st.integers(0, 1), st.booleans())
joined = st.builds(Part, st.sampled_from("ABC"), st.integers(0, 1), st.just(True))
negated = st.builds(Part, st.sampled_from("ABC"), st.integers(0, 1), st.booleans(), st.just(True))
patterns = st.tuples(joined, st.lists(parts, max_size=2), st.lists(negated, max_size=1)).map(
    lambda found: [found[0], *found[1], *found[2]]
)
histories = st.lists(
    st.tuples(st.sampled_from("ABC"), st.integers(0, 8), st.integers(0, 3)), min_size=4, max_size=12
).map(lambda rows: [Event(t, at * SECOND, {"v": v}) for t, at, v in sorted(rows, key=lambda row: row[1])])


def expected(pattern: list[Part], messages: list[Event]) -> Counter[tuple[int, int]]:
    """How often the event occurs at each time with each value of the parameter."""
    positive = [part for part in pattern if not part.negated]
    absent = [part for part in pattern if part.negated]
    found: Counter[tuple[int, int]] = Counter()
    for chosen in permutations(range(len(messages)), len(positive)):
        value = messages[chosen[0]]["v"]
        assert isinstance(value, int)
        last = max(chosen)
        end = messages[last].timestamp
        if (
            all(part.fits(messages[i], value) for part, i in zip(positive, chosen, strict=True))
            and all(end - messages[i].timestamp <= WINDOW * SECOND for i in chosen)
            and not any(
                part.fits(message, value) and end - message.timestamp < WINDOW * SECOND
                for part in absent
                for message in messages[:last]
            )
        ):
            found[end, value] += 1
    return found


@given(patterns, histories)
def test_the_rules_of_a_definition_find_every_set_of_messages_once(
    pattern: list[Part], messages: list[Event]
) -> None:
    """Each choice of distinct messages is an event when its last one comes, if nothing negated came before it."""
    text = " AND ".join(map(str, pattern))
    types = "".join(f"Advertise({name}[v: int])" for name in "ABC")
    rules = parse(f"{types} DefineEvent(E[x: $X], {text} WITHIN {WINDOW} s)", "rules.raced")
    composites = run(rules.checked, messages).composites
    assert Counter((event.timestamp, event["x"]) for event in composites) == expected(pattern, messages)
