"""Sweeps of simulated networks on Spark."""

from __future__ import annotations

from pyspark.sql import SparkSession

from tyrex.simulate.deployment import Deployment
from tyrex.simulate.scenario import Run
from tyrex.simulate.sweep import Case, measured_of, run_cases, sweep, sweep_frame
from tyrex.tesla.durations import SECOND


def test_a_sweep_on_spark_measures_what_it_measures_without(spark: SparkSession) -> None:
    """A DataFrame of scenarios becomes a DataFrame of measurements, row by row."""
    scenario = Deployment(processors=4, degree=2, types=6, rules=3, subscriptions=1, slowest=0.5, window=2)
    run = Run(10 * SECOND, 0, 5 * SECOND, samples=2, check=True)
    cases = [Case(scenario, strategy, "exact", run, "x 0") for strategy in ("ST", "MT")]
    frame = sweep(sweep_frame(spark, cases))
    found = measured_of(row.asDict() for row in frame.collect())
    assert sorted(found, key=lambda one: one.strategy, reverse=True) == run_cases(cases)
