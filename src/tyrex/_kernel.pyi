from collections.abc import Iterable

def version() -> str:
    """The version of Tyrex this kernel was built for."""

def exact_sum(values: Iterable[float]) -> float:
    """Sum floats with a single rounding, so that their order does not matter.

    Any NaN, or +inf together with -inf, gives NaN; a sum beyond the range of float gives the
    infinity of its sign, and partial sums may lie beyond it.
    """
