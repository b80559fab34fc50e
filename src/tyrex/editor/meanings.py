"""One sentence for each construct of the language: what completion and hover say about it."""

from __future__ import annotations

from tyrex.tesla.aggregates import AGGREGATES
from tyrex.tesla.functions import FUNCTIONS
from tyrex.tesla.types import ValueType

KEYWORDS: dict[str, str] = {
    "event": "Declares an event type that comes from outside, with the types of its attributes.",
    "rule": "Gives the rule a name.",
    "define": "Names the composite event that the rule makes, and its attributes.",
    "from": "Begins the pattern; when its first event, the terminator, arrives, the rule is evaluated. "
    "In `within w from X` it names the anchor.",
    "where": "Gives every attribute of the defined event its value.",
    "consuming": "After the rule has fired, the named events can't be chosen by it again.",
    "after": "`14 days after X(..)` sets a timer for each X, which is the terminator, named `Timer`.",
    "within": "`within w from X`: at most `w` before X; with `not`, less than `w` before X.",
    "between": "`between X and Y`: in the time between the two; an aggregate includes both ends.",
    "as": "Gives the event a name of its own in this rule.",
    "and": "Joins the parts of the pattern, or conditions that must all hold.",
    "or": "Holds if one of two conditions does; it stands inside parentheses.",
    "not": "`not X(..)` with an interval: no such event in it; before a condition: it does not hold.",
    "in": "`x in (a, b)`: the value is one of those listed.",
    "true": "The truth value true.",
    "false": "The truth value false.",
    "null": "No value; a comparison with it is false.",
}

POLICIES: dict[str, str] = {
    "each": "Takes every candidate in the window: one match for each.",
    "first": "Takes the earliest candidate in the window.",
    "last": "Takes the latest candidate in the window.",
}

TIMER_FIELD_MEANINGS: dict[str, str] = {
    "S": "The second, 0 to 59.",
    "M": "The minute, 0 to 59.",
    "H": "The hour, 0 to 23.",
    "D": "The day of the week, `Monday` to `Sunday`.",
    "Day": "The day of the month, from 1.",
    "Month": "The month, 1 to 12.",
    "Year": "The year.",
}

VALUE_TYPES: dict[ValueType, str] = {
    ValueType.STRING: "A text.",
    ValueType.INT: "A whole number of 64 bits.",
    ValueType.FLOAT: "A floating-point number of 64 bits.",
    ValueType.BOOL: "`true` or `false`.",
}

UNITS: dict[str, str] = {
    "us": "microseconds",
    "ms": "milliseconds",
    "s": "seconds",
    "min": "minutes",
    "h": "hours",
    "days": "days",
    "weeks": "weeks",
}

TIMER_MEANING = "The built-in timer of the calendar: fields finer than the finest one mentioned are 0."
TIMESTAMP_MEANING = "When the event happened, in microseconds since the Unix epoch."


def policy_meaning(text: str) -> str:
    """What a policy takes, `3-last` too."""
    count, _, policy = text.lower().replace(" ", "").rpartition("-")
    if not count:
        return POLICIES.get(policy, "")
    end = "end" if policy == "last" else "beginning"
    return f"Takes candidate number {int(count)} from the {end} of the window; none if there are fewer."


def function_signature(name: str) -> str:
    """How a function is called, as in `round(x, [x])`."""
    function = FUNCTIONS[name]
    words = ["x"] * function.least
    if function.most is None:
        words.append("..")
    else:
        words += ["[x]"] * (function.most - function.least)
    return f"{name}({', '.join(words)})"


def sentence(text: str) -> str:
    """A meaning as a sentence."""
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def aggregate_signature(name: str) -> str:
    """How an aggregate is written."""
    attribute = ".attribute" if AGGREGATES[name].takes_attribute else ""
    return f"{name}(Type(..){attribute}) within w from X"
