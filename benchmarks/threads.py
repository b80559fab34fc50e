"""The engine with several threads beside the engine with one, on the same streams in the same run.

    .venv/bin/python -m benchmarks.threads [--threads 2] [--quick] [--format json]

Rules about fires in a thousand areas, which are divided by the area. `ratio` is how many times the events per second
of one thread several threads reach; `cpu us` is the time on all processors, so what dividing the work costs. Prints a
table, and writes `threads.json` into `build/benchmarks`. Other work on the machine spoils the ratio: with two threads
it takes two free processors.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from typing import Any

from benchmarks.figures import HEADER, Comparison, Figure, table
from benchmarks.streams import Stream

import tyrex
from benchmarks import peers, streams

ROUNDS = 5
"""Each on new engines, in turn; the one with the median time counts."""
BATCH = 16_384
KEYS = 1_000
TARGET = 1.6

DECLARATIONS = "event Temp(area: string, value: int)\nevent Smoke(area: string)\n"
PATTERNS = {
    "last": "last Temp(area = $a and value > {n}) within {window} ms from Smoke",
    "each": "each Temp(area = $a and value > {n}) within {window} ms from Smoke",
    "avg": "{n} < $t = Avg(Temp(area = $a).value) within {window} ms from Smoke",
}


@dataclass(frozen=True, slots=True)
class Workload:
    """Some rules of one kind over a stream of fires."""

    policy: str
    rules: int
    percent_smoke: int
    events: int

    @property
    def name(self) -> str:
        """Tells it from the others: `last-100-p10`."""
        return f"{self.policy}-{self.rules}-p{self.percent_smoke}"

    def text(self) -> str:
        """The rules; each has its threshold."""
        measured = "$t" if self.policy == "avg" else "Temp.value"
        kind = "float" if self.policy == "avg" else "int"
        return DECLARATIONS + "".join(
            f"""
Rule fire{n}
define Fire{n % 10}(area: string, measured: {kind})
from   Smoke(area = $a) and {PATTERNS[self.policy].format(n=n % 100, window=streams.WINDOW)}
where  area = $a, measured = {measured}
"""
            for n in range(self.rules)
        )


WORKLOADS = (
    Workload("last", 1, 10, 1_500_000),
    Workload("last", 100, 10, 400_000),
    Workload("last", 1_000, 10, 60_000),
    Workload("each", 100, 10, 150_000),
    Workload("avg", 100, 50, 150_000),
)


def compare(workload: Workload, threads: int) -> Comparison:
    """One and several threads on one workload."""
    stream = streams.keyed(KEYS, workload.percent_smoke, workload.events)
    rules = tyrex.parse(workload.text())
    source = stream.to_arrow()
    counts = (1, threads)
    rounds: dict[int, list[Figure]] = {count: [] for count in counts}
    for _ in range(ROUNDS):
        for count in counts:
            rounds[count].append(_round(workload, rules, stream, source, count))
    one, several = (sorted(rounds[count], key=lambda f: f.seconds)[ROUNDS // 2] for count in counts)
    return Comparison(workload.name, TARGET, several, (one,))


def _round(workload: Workload, rules: tyrex.RuleSet, stream: Stream, source: Any, threads: int) -> Figure:
    engine = tyrex.Engine(rules, threads=threads)
    cpu = time.process_time()
    before = time.perf_counter()
    composites = sum(len(engine.send_batch(source.slice(at, BATCH))) for at in range(0, len(stream), BATCH))
    return Figure(
        workload=workload.name,
        engine=f"threads={threads}",
        rules=workload.rules,
        events=len(stream),
        composites=composites,
        seconds=time.perf_counter() - before,
        cpu_seconds=time.process_time() - cpu,
    )


def main() -> None:
    """Measure, show each workload as soon as it is there, and write the file."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--quick", action="store_true", help="an eighth of the events: a first look")
    arguments.add_argument("--format", choices=("text", "json"), default="text")
    options = arguments.parse_args()
    comparisons = []
    if options.format == "text":
        print(HEADER)
    for workload in WORKLOADS:
        events = workload.events // 8 if options.quick else workload.events
        shortened = Workload(workload.policy, workload.rules, workload.percent_smoke, events)
        comparisons.append(compare(shortened, options.threads))
        if options.format == "text":
            print(table(comparisons[-1]), flush=True)
    peers.BUILD.mkdir(parents=True, exist_ok=True)
    text = json.dumps([each.record() for each in comparisons], indent=2)
    (peers.BUILD / "threads.json").write_text(text, "utf-8")
    if options.format == "json":
        print(text)
    else:
        print("threads.json is in build/benchmarks")


if __name__ == "__main__":
    main()
