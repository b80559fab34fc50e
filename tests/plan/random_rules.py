"""Random rule sets with every construct, and histories for them: the plan's promises are tested on these."""

from collections.abc import Sequence
from random import Random

from tyrex.events import Event
from tyrex.tesla import CheckedRules, TeslaError, check_text
from tyrex.tesla.durations import SECOND

PRIMITIVE = ("A", "B", "C")
MOST_RULES = 3
DECLARATIONS = "".join(f"event {name}(id: int, k: int) " for name in PRIMITIVE)


def random_rules(random: Random) -> CheckedRules | None:
    """Some rules that may use each other's events and their own; None if they contradict themselves."""
    count = random.randint(1, MOST_RULES)
    defined = [f"X{number}" for number in range(count)]
    try:
        return check_text(DECLARATIONS + "\n".join(_rule(random, number, defined) for number in range(count)))
    except TeslaError:
        return None


def random_history(random: Random, *, most: int = 14, until: int = 12) -> list[Event]:
    """Primitive events at whole seconds, several of them at the same one."""
    times = sorted(random.choices(range(until), k=random.randint(3, most)))
    return [
        Event(random.choice(PRIMITIVE), time * SECOND, {"id": number, "k": random.randint(0, 1)})
        for number, time in enumerate(times)
    ]


def _rule(random: Random, number: int, defined: Sequence[str]) -> str:
    types = [*PRIMITIVE, *PRIMITIVE, *defined]
    names = ["E0"]
    kind = random.choice(["event"] * 6 + ["deadline"] * 2 + ["timer"])
    if kind == "timer":
        names = ["Timer"]
        conjuncts = [f"Timer(S % {random.randint(2, 4)} == 0)"]
    elif kind == "deadline":
        names = ["Timer", "E0"]
        conjuncts = [f"{random.randint(1, 4)} s after {random.choice(types)}({_condition(random, [])}) as E0"]
    else:
        lower = [*PRIMITIVE, *PRIMITIVE, *defined[:number]]  # no event makes itself again at once
        conjuncts = [f"{random.choice(lower)}({_condition(random, [])}) as E0"]
    for _ in range(random.choice([0, 1, 1, 2, 2])):
        name = f"E{len(names)}x"
        policy = random.choice(["each", "last", "last", "first", "2-last", "2-first"])
        event = f"{random.choice(types)}({_condition(random, names)}) as {name}"
        conjuncts.append(f"{policy} {event} within {random.randint(1, 4)} s from {random.choice(names)}")
        names.append(name)
    events = [name for name in names if name != "Timer"]
    if len(events) > 2 and random.random() < 0.4:
        earlier, later = random.sample(events, 2)
        conjuncts.append(f"{earlier} within {random.randint(1, 4)} s from {later}")
    for _ in range(random.choice([0, 0, 1, 2])):
        absent = f"not {random.choice(types)}({_condition(random, names)})"
        conjuncts.append(f"{absent} {_interval(random, names)}")
    for _ in range(random.choice([0, 0, 1])):
        counted = f"Count({random.choice(types)}({_condition(random, names)}))"
        conjuncts.append(f"{counted} {_interval(random, names)} {random.choice(['>', '<'])} 1")
    carried = random.choice([f"{name}.k" for name in events] or ["1"])
    latest = f"Sum({random.choice(types)}().id) {_interval(random, names)}"
    consumed = [name for name in events if random.random() < 0.2]
    return f"""
        define {defined[number]}(id: int, k: int)
        from {" and ".join(conjuncts)}
        where id = {latest}, k = {carried}
        {f"consuming {', '.join(consumed)}" if consumed else ""}
    """


def _condition(random: Random, names: Sequence[str]) -> str:
    known = [f"k = {name}.k" for name in names if name != "Timer"]
    return random.choice(["", "", "k = 0", "id % 2 = 0", *known])


def _interval(random: Random, names: Sequence[str]) -> str:
    if len(names) > 1 and random.random() < 0.4:
        return f"between {random.choice(names[1:])} and {names[0]}"
    return f"within {random.randint(1, 4)} s from {random.choice(names)}"
