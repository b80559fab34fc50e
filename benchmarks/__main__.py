"""Run every benchmark, one after the other, and write one page about all of them.

    .venv/bin/python -m benchmarks [--quick] [--only latency] [--no-peers]

The page is `build/benchmarks/index.html`, and `README.md` beside it. Each benchmark is a process of its own. All of
them take about an hour, most of it for the peers; `--quick` takes some minutes and leaves the peers out.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from benchmarks.report import BUILD

from benchmarks import index

COMMANDS = (
    "latency",
    "throughput",
    "threads",
    "beginnings",
    "many_rules",
    "network_data",
    "network_simulation",
    "tesla_load",
    "memory",
    "paper",
    "parsing",
    "server",
    "spark_batch",
    "spark_sql",
    "spark_flink",
    "spark_streaming",
    "compare",
)
WITH_PEERS = ("paper", "spark_flink", "compare")


def command_line(name: str, *, quick: bool, peers: bool) -> list[str]:
    """How a benchmark is run."""
    line = [sys.executable, "-m", f"benchmarks.{name}"]
    if quick:
        line.append("--quick")
    if name in WITH_PEERS and (quick or not peers):
        line.append("--no-peers")
    return line


def main() -> None:
    """Run all that are asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="less of everything, and no peers: a first look")
    parser.add_argument("--no-peers", action="store_true", help="only Tyrex")
    parser.add_argument("--only", action="append", choices=COMMANDS, help="only this one; may be repeated")
    parser.add_argument(
        "--page", action="store_true", help="run nothing: the page, from what was written before"
    )
    options = parser.parse_args()
    failed = []
    for name in () if options.page else options.only or COMMANDS:
        print(f"\n--- {name} ---", flush=True)
        line = command_line(name, quick=options.quick, peers=not options.no_peers)
        if subprocess.run(line, cwd=Path(__file__).parent.parent, check=False).returncode:
            failed.append(name)
    for path in index.write(BUILD, COMMANDS):
        print(path)
    if failed:
        sys.exit(f"these failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
