"""What you need to test rules: histories in the papers' notation, a clock to turn, assertions, fixture files.

>>> from tyrex.testing import assert_fires, history
>>> rules = "define Hot(value: float) from Temp(value > 45) where value = Temp.value"
>>> assert_fires(rules, history("Temp@10(value=50.0)"), "Hot@10(value=50.0)")
"""

from tyrex.testing.assertions import assert_fires, assert_silent, detect
from tyrex.testing.fixtures import Case, FixtureError, read_fixture
from tyrex.testing.histories import Clock, history
from tyrex.testing.runtimes import RUNTIMES, Result, Runtime, Setting

__all__ = [
    "RUNTIMES",
    "Case",
    "Clock",
    "FixtureError",
    "Result",
    "Runtime",
    "Setting",
    "assert_fires",
    "assert_silent",
    "detect",
    "history",
    "read_fixture",
]
