"""Tyrex beside Esper and Flink, on the same streams in the same run.

    .venv/bin/python -m benchmarks.compare [--quick] [--workload fire-last] [--format json] [--agree]

Prints a table, and writes `figures.json` and `figures.svg` into `build/benchmarks`. `us/event` is the time for an
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
from typing import Any

from benchmarks import ours, peers
from benchmarks.figures import HEADER, Comparison, Figure, plot, table, write_json
from benchmarks.workloads import Workload, chosen

AGREE: dict[str, dict[str, Any]] = {
    "fire": {"events": 400, "window_events": 10},
    "filter": {"events": 2_000},
    "synthetic": {"events": 600, "step": 40},
    "keyed": {"events": 3_000},
}
"""How each family is made small enough for the reference, and still long enough for events to leave the windows."""


def compare(workload: Workload, *, with_peers: bool = True) -> Comparison:
    """Every engine on one workload."""
    stream = workload.stream()
    notes = []
    own: Figure | None = None
    found: list[Figure] = []
    try:
        own = ours.run(workload, stream)
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
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument(
        "--workload", action="append", default=[], help="only those whose names contain this"
    )
    arguments.add_argument("--quick", action="store_true", help="an eighth of the events: a first look")
    arguments.add_argument("--no-peers", action="store_true", help="only Tyrex")
    arguments.add_argument("--agree", action="store_true", help="compare what is found, not how fast")
    arguments.add_argument("--list", action="store_true", help="the names of the workloads")
    arguments.add_argument("--format", choices=("text", "json"), default="text")
    options = arguments.parse_args()
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
    measure(workloads, quick=options.quick, with_peers=not options.no_peers, as_json=options.format == "json")


def measure(workloads: list[Workload], *, quick: bool, with_peers: bool, as_json: bool) -> None:
    """Run all, showing each as soon as it is there, and write the files."""
    if not as_json:
        print(HEADER)
    comparisons = []
    for workload in workloads:
        comparison = compare(workload.quick() if quick else workload, with_peers=with_peers)
        comparisons.append(comparison)
        if not as_json:
            print(table(comparison), flush=True)
    peers.BUILD.mkdir(parents=True, exist_ok=True)
    write_json(comparisons, peers.BUILD / "figures.json")
    drawn = plot(comparisons, peers.BUILD / "figures.svg")
    if as_json:
        print(json.dumps([each.record() for each in comparisons], indent=2))
    else:
        print(f"figures.json{' and figures.svg are' if drawn else ' is'} in build/benchmarks")
        if not drawn:
            print("no plot: pip install -r benchmarks/requirements.txt")


if __name__ == "__main__":
    main()
