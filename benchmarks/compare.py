"""Tyrex beside Esper and Flink, on the same streams in the same run.

    .venv/bin/python -m benchmarks.compare [--quick] [--workload fire-last] [--threads 2] [--agree]

Prints a table, and writes `compare.json` and pictures into `build/benchmarks`. `us/event` is the time for an
input event, `ratio` how many times the peer's events per second Tyrex reaches. `--agree` measures nothing: it runs
small streams of the same kinds through the reference semantics and every engine and compares what they found.
`pip install -r benchmarks/requirements.txt` brings what the plots need.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.figures import HEADER, Comparison, Figure, draw, report, table
from benchmarks.report import BUILD, Machine, arguments, publish
from benchmarks.workloads import Workload, chosen

from benchmarks import ours, peers

AGREE: dict[str, dict[str, Any]] = {
    "fire": {"events": 400, "window_events": 10},
    "filter": {"events": 2_000},
    "synthetic": {"events": 600, "step": 40},
    "keyed": {"events": 3_000},
}
"""How each family is made small enough for the reference, and still long enough for events to leave the windows."""


def compare(workload: Workload, *, with_peers: bool = True, threads: int = 1) -> Comparison:
    """Every engine on one workload."""
    stream = workload.stream()
    notes = []
    own: Figure | None = None
    found: list[Figure] = []
    try:
        own = ours.run(workload, stream, threads=threads)
    except ours.NotBuilt as error:
        notes.append(str(error))
    if with_peers:
        try:
            found = peers.run(workload, stream)
        except peers.PeerMissing as error:
            notes.append(f"{workload.peer}: {error}")
    return Comparison(workload.name, workload.target, own, tuple(found), tuple(notes))


def shortened(workloads: list[Workload]) -> list[Workload]:
    """The workloads as the reference can run them, each once."""
    return list(dict.fromkeys(replace(each, warm=0, **AGREE[each.family]) for each in workloads))


def agreement(workload: Workload) -> tuple[bool, str]:
    """Whether all engines find what the reference finds, and a line about it."""
    # Nothing is left out of the count: what fills the windows makes composites of the synthetic rules, too.
    whole = replace(workload.stream(), fill=0)
    right = ours.run_by_definition(workload, whole)
    others: list[Figure] = []
    notes = []
    try:
        others.append(ours.run(workload, whole, add=True))
    except ours.NotBuilt as error:
        notes.append(str(error))
    try:
        others += peers.run(workload, whole, add=True)
    except peers.PeerMissing as error:
        notes.append(str(error))
    wrong = [figure for figure in others if not _same(figure, right)]
    verdicts = [f"{each.engine} {'differs' if each in wrong else 'agrees'}" for each in others]
    line = f"{workload.name:<22} {right.composites:>9,} composites, {', '.join([*verdicts, *notes])}"
    details = [f"\n    {each.engine}: {each.composites:,}, sum {each.sum} not {right.sum}" for each in wrong]
    return not wrong, line + "".join(details)


def _same(figure: Figure, right: Figure) -> bool:
    if figure.composites != right.composites:
        return False
    return (
        figure.sum is None
        or right.sum is None
        or math.isclose(figure.sum, right.sum, rel_tol=1e-9, abs_tol=1e-6)
    )


def main() -> None:
    """Measure and show, or compare what is found."""
    parser = arguments(__doc__)
    parser.add_argument("--workload", action="append", default=[], help="only those whose names contain this")
    parser.add_argument("--threads", type=int, default=1, help="of Tyrex")
    parser.add_argument("--no-peers", action="store_true", help="only Tyrex")
    parser.add_argument(
        "--keep", action="store_true", help="keep what an earlier run measured of the other workloads"
    )
    parser.add_argument("--agree", action="store_true", help="compare what is found, not how fast")
    parser.add_argument("--list", action="store_true", help="the names of the workloads")
    options = parser.parse_args()
    workloads = chosen(options.workload)
    if options.list:
        print("\n".join(workload.name for workload in workloads))
        return
    if options.agree:
        verdicts = []
        for workload in shortened(workloads):
            agreed, line = agreement(workload)
            print(line, flush=True)
            verdicts.append(agreed)
        sys.exit(not all(verdicts))
    measure(workloads, options)


def measure(workloads: list[Workload], options: argparse.Namespace) -> None:
    """Run all, showing each as soon as it is there, and write the files."""
    machine = Machine()
    as_text = options.format == "text"
    if as_text:
        print(HEADER)
    comparisons = []
    for workload in workloads:
        chosen_size = workload.quick() if options.quick else workload
        comparison = compare(chosen_size, with_peers=not options.no_peers, threads=options.threads)
        comparisons.append(comparison)
        if as_text:
            print(table(comparison), flush=True)
    if options.keep:
        comparisons = together(comparisons, options)
    publish(
        report(comparisons, options.threads),
        lambda plt: draw(plt, comparisons),
        options,
        machine,
        tables=False,
    )


def together(
    comparisons: list[Comparison], options: argparse.Namespace, build: Path = BUILD
) -> list[Comparison]:
    """These and those of the last report that was made with the same options, in the order of the workloads."""
    path = build / "compare.json"
    last = json.loads(path.read_text()) if path.exists() else {"quick": options.quick, "data": []}
    if last["quick"] != options.quick:
        sys.exit(
            f"{path} is of a run {'with' if last['quick'] else 'without'} --quick: remove it, or run as it was"
        )
    found = {each["workload"]: Comparison.from_record(each) for each in last["data"]}
    found |= {each.workload: each for each in comparisons}
    return [found[name] for name in (each.name for each in chosen([])) if name in found]


if __name__ == "__main__":
    main()
