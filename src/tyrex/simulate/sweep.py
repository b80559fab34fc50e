"""Many runs: a case for each, in line, in several processes, or as a DataFrame on Spark."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tyrex.simulate.deployment import Deployment, Model, Rates
from tyrex.simulate.measure import mean, measure
from tyrex.simulate.raced_scenario import Raced
from tyrex.simulate.scenario import Run
from tyrex.simulate.topology import Topology
from tyrex.simulate.workload import Arrivals, Workload

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Case:
    """One run of one strategy on one scenario of a paper."""

    parameters: Deployment | Raced
    strategy: str
    mode: str = "exact"
    run: Run = Run()
    label: str = ""
    """For whom it is: a figure and a value."""

    def text(self) -> str:
        """The case as JSON: what a row of a DataFrame holds."""
        paper = "deployment" if isinstance(self.parameters, Deployment) else "raced"
        return json.dumps(
            {
                "paper": paper,
                "parameters": asdict(self.parameters),
                "strategy": self.strategy,
                "mode": self.mode,
                "run": asdict(self.run),
                "label": self.label,
            }
        )


def case_of(text: str) -> Case:
    """The case in such a text."""
    read = json.loads(text)
    values = read["parameters"]
    values["arrivals"] = Arrivals(values["arrivals"])
    parameters: Deployment | Raced
    if read["paper"] == "deployment":
        values["rates"], values["model"] = Rates(values["rates"]), Model(values["model"])
        parameters = Deployment(**values)
    else:
        parameters = Raced(**values)
    return Case(parameters, read["strategy"], read["mode"], Run(**read["run"]), read["label"])


@dataclass(frozen=True, slots=True)
class Measured:
    """What came of a case."""

    label: str
    strategy: str
    mode: str
    seed: int
    events_per_second: float
    """Over links: events, composites and questions for events."""
    bytes_per_second: float
    primitive_per_second: float
    composite_per_second: float
    asked_per_second: float
    delay: float | None
    """Milliseconds, with the order of events made certain."""
    assumed: float | None
    """The same if events come in order by themselves."""
    published: int
    delivered: int
    expected: int | None
    missing: int | None
    extra: int | None
    problems: str = field(default="")


SCHEMA = (
    "label string, strategy string, mode string, seed int, events_per_second double, bytes_per_second double, "
    "primitive_per_second double, composite_per_second double, asked_per_second double, delay double, "
    "assumed double, published long, delivered long, expected long, missing long, extra long, problems string"
)
"""The columns of `Measured`, as Spark writes them."""


@lru_cache(maxsize=2)
def _made(parameters: Deployment | Raced) -> tuple[Topology, Workload]:
    """The scenario, once for the strategies that are compared on it."""
    topology = parameters.topology()
    return topology, parameters.workload(topology)


def run_case(case: Case) -> Measured:
    """Run one case."""
    topology, workload = _made(case.parameters)
    outcome = measure(topology, workload, case.strategy, case.mode, case.run)
    difference = outcome.difference

    def rate(kind: str) -> float:
        count = outcome.traffic.get(kind)
        return 0.0 if count is None else count.events / outcome.seconds

    return Measured(
        case.label,
        case.strategy,
        case.mode,
        case.parameters.seed,
        outcome.events_per_second,
        outcome.bytes_per_second,
        rate("Events"),
        rate("Composites"),
        rate("Awaken"),
        mean(outcome.delays),
        mean(outcome.assumed),
        outcome.published,
        outcome.delivered,
        None if difference is None else difference.expected,
        None if difference is None else difference.missing,
        None if difference is None else difference.extra,
        "; ".join(outcome.problems),
    )


def run_cases(
    cases: Sequence[Case], *, processes: int = 1, progress: Callable[[Measured], None] | None = None
) -> list[Measured]:
    """Run cases, in this process or in several; the order is that of the cases."""
    found = []
    for one in _run_all(cases, processes):
        found.append(one)
        if progress is not None:
            progress(one)
    return found


def _run_all(cases: Sequence[Case], processes: int) -> Iterator[Measured]:
    if processes == 1:
        yield from map(run_case, cases)
        return
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        yield from pool.imap(run_case, cases)


# --- On Spark ---------------------------------------------------------------------------------------------


def sweep_frame(spark: Any, cases: Sequence[Case]) -> Any:
    """A DataFrame of cases, one row and one partition for each: what `sweep` takes."""
    rows = [(number, case.text()) for number, case in enumerate(cases)]
    return spark.createDataFrame(rows, "number int, case string").repartitionByRange(len(rows), "number")


def sweep(frame: Any) -> Any:
    """A DataFrame of measurements from a DataFrame of cases; each row is run where it is."""
    return frame.select("case").mapInArrow(_run_batches, SCHEMA)


def measured_of(rows: Iterable[Mapping[str, Any]]) -> list[Measured]:
    """The rows of such a DataFrame as objects."""
    return [Measured(**dict(row)) for row in rows]


def _run_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    types: dict[str, Any] = {
        "string": pa.string(),
        "int": pa.int32(),
        "long": pa.int64(),
        "double": pa.float64(),
    }
    columns = (column.split() for column in SCHEMA.split(", "))
    schema = pa.schema([(name, types[type_]) for name, type_ in columns])
    for batch in batches:
        for text in batch.column(0).to_pylist():
            yield pa.RecordBatch.from_pylist([asdict(run_case(case_of(str(text))))], schema)
