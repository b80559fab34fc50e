"""Measures Flink CEP on one stream: `MATCH_RECOGNIZE`, keyed by area, through PyFlink.

    benchmarks/flink/.venv/bin/python benchmarks/flink/match.py STREAM.csv POLICY SHORT [--parallelism 2]

It runs in an environment of its own, as PyFlink needs its own versions of almost everything. The job runs twice in one
JVM: first over a file with the first SHORT events of the stream, then over the whole. The difference of the two is
the steady state: the start of the job and the first warming up of the JVM are in both. Prints one line of JSON.

`each` is `each Temp .. consuming Temp` in TESLA: a row begins at most one match, so a temperature is used by the
first smoke after it. `last` is `last Temp ..` and no other smoke in between. No rule without one of the two can be said
with MATCH_RECOGNIZE: whatever smoke comes second would be a second match from the same row.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from pathlib import Path
from typing import Any

PATTERNS = {
    "each": "PATTERN (T X*? S) WITHIN INTERVAL '{window}' MINUTE TO SECOND DEFINE "
    "T AS T.`type` = 'Temp' AND T.`value` > 45, X AS X.`type` = 'Temp', S AS S.`type` = 'Smoke'",
    "last": "PATTERN (T X*? S) WITHIN INTERVAL '{window}' MINUTE TO SECOND DEFINE "
    "T AS T.`type` = 'Temp' AND T.`value` > 45, X AS X.`type` = 'Temp' AND X.`value` <= 45, "
    "S AS S.`type` = 'Smoke'",
}
WINDOW = "5:00.001"
"""Minutes and seconds: Flink leaves the bound of a window out, TESLA takes it in."""

SOURCE = """
CREATE TEMPORARY TABLE {name} (
    `type` STRING,
    `timestamp` BIGINT,
    area STRING,
    `value` INT,
    moment AS TO_TIMESTAMP_LTZ(`timestamp`, 3),
    WATERMARK FOR moment AS moment
) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv', 'csv.ignore-parse-errors' = 'false',
        'csv.null-literal' = '')
"""
QUERY = """
SELECT COUNT(*) FROM {name} MATCH_RECOGNIZE (
    PARTITION BY area ORDER BY moment
    MEASURES S.moment AS found, T.`value` AS measured
    ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW
    {pattern}
)
"""


def environment(parallelism: int) -> Any:
    """Set for speed: no checkpoints, objects reused, the final count in large batches."""
    from pyflink.table import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        EnvironmentSettings,
        TableEnvironment,
    )

    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in {
        "parallelism.default": str(parallelism),
        "pipeline.object-reuse": "true",
        "table.local-time-zone": "UTC",
        "table.exec.mini-batch.enabled": "true",
        "table.exec.mini-batch.allow-latency": "5 s",
        "table.exec.mini-batch.size": "100000",
        "taskmanager.memory.network.max": "128mb",
    }.items():
        tables.get_config().set(key, value)
    return tables


def run(tables: Any, name: str, pattern: str) -> tuple[float, int]:
    """Seconds and matches of one job."""
    start = time.perf_counter()
    count = 0
    with tables.execute_sql(QUERY.format(name=name, pattern=pattern)).collect() as rows:
        for row in rows:  # a changelog: the last count is the one that stays
            count = int(row[0])
    return time.perf_counter() - start, count


def prepare(stream: Path, short: int) -> tuple[Path, Path]:
    """The stream without its header, whole and its first events only, as Flink's CSV knows no header."""
    whole, part = stream.with_suffix(".whole.csv"), stream.with_suffix(".part.csv")
    with stream.open() as source:
        next(source)
        whole.write_text(source.read())
    with whole.open() as source:
        part.write_text("".join(itertools.islice(source, short)))
    return whole, part


def main() -> None:
    """Run both jobs and print."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("stream", type=Path)
    arguments.add_argument("policy", choices=sorted(PATTERNS))
    arguments.add_argument("short", type=int)
    arguments.add_argument("--parallelism", type=int, default=2)
    options = arguments.parse_args()

    whole, part = prepare(options.stream, options.short)
    pattern = PATTERNS[options.policy].format(window=WINDOW)
    tables = environment(options.parallelism)
    for name, path in {"whole": whole, "part": part}.items():
        tables.execute_sql(SOURCE.format(name=name, path=path.resolve()))
    with whole.open() as file:
        total = sum(1 for _ in file)
    run(tables, "part", pattern)  # the first job of a JVM loads and compiles what all of them use
    short_seconds, short_matches = run(tables, "part", pattern)
    seconds, matches = run(tables, "whole", pattern)
    print(
        json.dumps(
            {
                "rules": 1,
                "events": total - options.short,
                "composites": matches - short_matches,
                "all_events": total,
                "all_composites": matches,
                "seconds": seconds - short_seconds,
                "all_seconds": seconds,
            }
        )
    )


if __name__ == "__main__":
    main()
