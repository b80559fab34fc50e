"""How long it takes to read and check a rule file, and how the cost grows with its length.

    .venv/bin/python benchmarks/parsing.py [--format json] [RULES...]

Every size is read `ROUNDS` times, the sizes in turn, and the quickest time of each counts: other work on the
machine only ever adds time. `growth` is the cost of a rule compared with the cost in the smallest file; 1.0 is linear.
"""

from __future__ import annotations

import argparse
import json
import time

import tyrex

SIZES = (1_000, 2_500, 5_000, 10_000)
ROUNDS = 3
TARGET_SECONDS = 10

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


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("rules", nargs="*", type=int, default=SIZES)
    arguments.add_argument("--format", choices=("text", "json"), default="text")
    options = arguments.parse_args()
    best = measure(tuple(options.rules))
    smallest = min(best)
    rows = [
        {
            "rules": size,
            "seconds": round(seconds, 3),
            "milliseconds_per_rule": round(1000 * seconds / size, 3),
            "growth": round((seconds / size) / (best[smallest] / smallest), 2),
        }
        for size, seconds in sorted(best.items())
    ]
    if options.format == "json":
        print(json.dumps(rows, indent=2))
        return
    print(f"{'rules':>8} {'seconds':>9} {'ms/rule':>9} {'growth':>7}")
    for row in rows:
        print(
            f"{row['rules']:>8} {row['seconds']:>9.2f} {row['milliseconds_per_rule']:>9.3f} {row['growth']:>7.2f}"
        )
    print(f"target: 10000 rules in under {TARGET_SECONDS} s, growth about 1")


if __name__ == "__main__":
    main()
