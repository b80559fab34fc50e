"""How long it takes to read and check a rule file, and how the cost grows with its length.

    .venv/bin/python -m benchmarks.parsing [--quick] [--format json] [RULES...]

Every size is read `ROUNDS` times, the sizes in turn, and the quickest time of each counts: other work on the
machine only ever adds time. `growth` is the cost of a rule compared with the cost in the smallest file; 1.0 is linear.
"""

from __future__ import annotations

import time
from typing import Any

from benchmarks.report import Machine, Report, Table, Verdict, arguments, publish

import tyrex
from benchmarks import plots

SIZES = (1_000, 2_500, 5_000, 10_000)
QUICK_SIZES = (500, 1_000, 2_000)
ROUNDS = 3
TARGET_RULES = 10_000
TARGET_SECONDS = 10.0

DECLARATIONS = """\
event Temp(area: string, value: float)
event Smoke(area: string)
event Rain(area: string)
"""
RULE = """
Rule fire{n}
define Fire{n}(area: string, measuredTemp: float)
from   Smoke(area = $a) and
       last Temp(area = $a and value > {threshold}) within {minutes} min from Smoke and
       not Rain(area = $a) between Temp and Smoke
where  area = $a, measuredTemp = Temp.value
"""


def rule_file(rules: int) -> str:
    """A file of so many rules like R2 of the T-Rex paper, no two alike."""
    return DECLARATIONS + "".join(
        RULE.format(n=n, threshold=n % 100, minutes=n % 60 + 1) for n in range(rules)
    )


def measure(sizes: tuple[int, ...]) -> dict[int, float]:
    """The quickest of the rounds, in seconds, for each size."""
    texts = {size: rule_file(size) for size in sizes}
    tyrex.parse(texts[sizes[0]])  # the parser is built once
    best: dict[int, float] = {}
    for _ in range(ROUNDS):
        for size, text in texts.items():
            start = time.perf_counter()
            assert len(tyrex.parse(text)) == size
            best[size] = min(best.get(size, float("inf")), time.perf_counter() - start)
    return best


def report(best: dict[int, float]) -> Report:
    """The report of what was measured."""
    smallest = min(best)
    each = {
        size: (seconds, 1000 * seconds / size, (seconds / size) / (best[smallest] / smallest))
        for size, seconds in sorted(best.items())
    }
    verdicts = tuple(
        Verdict(f"{TARGET_RULES:,} rules", best[size], TARGET_SECONDS, "s")
        for size in best
        if size == TARGET_RULES
    )
    return Report(
        "parsing",
        "Reading and checking rule files",
        (
            Table(
                ("rules", "seconds", "ms/rule", "growth"),
                tuple((f"{size:,}", *figures) for size, figures in each.items()),
            ),
        ),
        verdicts,
        (f"growth: the cost of a rule compared with a file of {smallest:,}; 1 is linear.",),
        [
            {"rules": size, "seconds": seconds, "milliseconds_per_rule": per_rule, "growth": growth}
            for size, (seconds, per_rule, growth) in each.items()
        ],
    )


def draw(plt: Any, best: dict[int, float]) -> dict[str, Any]:
    """Seconds by the number of rules."""
    figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
    axes.plot(list(best), list(best.values()), "o-")
    axes.axhline(TARGET_SECONDS, **plots.TARGET)
    said = f"target for {TARGET_RULES:,} rules"
    axes.text(min(best), TARGET_SECONDS, said, color=plots.TARGET["color"], va="bottom")
    axes.set(
        xlabel="rules in a file", ylabel="seconds", title="Reading and checking a rule file", ylim=(0, None)
    )
    plots.thousands(axes.xaxis)
    return {"parsing": figure}


def main() -> None:
    """Measure and show."""
    parser = arguments(__doc__)
    parser.add_argument("rules", nargs="*", type=int, help="how many; several sizes if none is given")
    options = parser.parse_args()
    machine = Machine()
    best = measure(tuple(options.rules) or (QUICK_SIZES if options.quick else SIZES))
    publish(report(best), lambda plt: draw(plt, best), options, machine)


if __name__ == "__main__":
    main()
