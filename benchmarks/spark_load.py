"""The load of the batch benchmarks: readings of many devices, and rules that are keyed by the device.

There are ten kinds of readings. Each kind has values and alarms, and ten rules: sequences with the last and with each
extreme value before an alarm, extreme values without an alarm before them, and averages at an alarm. The averages look
at all values, so every event travels. Chance is a hash of the event's number: all runs see the same events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

KINDS = 10
KEYS = 1_000
PERCENT_ALARMS = 10
STEP = 1_000
"""Microseconds between events."""
VALUES = 1_000

_LAST = "Alarm{k}(device = $d) and last Value{k}(device = $d and value > {n}) within 5 min from Alarm{k}"
_EACH = "Alarm{k}(device = $d) and each Value{k}(device = $d and value > {n}) within 1 min from Alarm{k}"
_NOT = "Value{k}(device = $d and value > {n}) and not Alarm{k}(device = $d) within 5 min from Value{k}"
_AVERAGE = (
    "Alarm{k}(device = $d) and $a = Avg(Value{k}(device = $d).value) within 5 min from Alarm{k} and $a > {n}"
)
PATTERNS = (
    *((_LAST, n) for n in (990, 993, 996, 998)),
    *((_EACH, n) for n in (995, 997)),
    *((_NOT, n) for n in (997, 998)),
    *((_AVERAGE, n) for n in (620, 650)),
)


def rules(count: int = KINDS * len(PATTERNS)) -> str:
    """So many keyed rules, with the declarations they need."""
    declarations = "".join(
        f"event Value{k}(device: int, value: int)\nevent Alarm{k}(device: int)\n" for k in range(KINDS)
    )
    made = []
    for number in range(count):
        pattern, n = PATTERNS[number // KINDS % len(PATTERNS)]
        k = number % KINDS
        made.append(
            f"""
Rule r{number}
define Found{k}(device: int, rule: int)
from   {pattern.format(k=k, n=n)}
where  device = $d, rule = {number}
"""
        )
    return declarations + "".join(made)


def events(spark: SparkSession, count: int, partitions: int) -> DataFrame:
    """So many events as one table with all types."""
    from pyspark.sql import functions as sf

    def drawn(what: str, below: int) -> Column:
        return sf.pmod(sf.xxhash64(sf.lit(what), "id"), sf.lit(below))

    alarm = drawn("alarm", 100) < PERCENT_ALARMS
    kind = drawn("kind", KINDS).cast("string")
    return spark.range(0, count, 1, partitions).select(
        sf.concat(sf.when(alarm, "Alarm").otherwise("Value"), kind).alias("type"),
        sf.timestamp_micros(sf.col("id") * STEP).alias("timestamp"),
        sf.col("id").alias("sequence"),
        drawn("device", KEYS).alias("device"),
        sf.when(~alarm, drawn("value", VALUES)).alias("value"),
    )
