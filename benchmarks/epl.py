"""The rules of the workloads in EPL, the language of Esper.

Every rule is one statement that needs no other, as every TESLA rule is: `esper` is the quickest form of it that
we found among joins, subqueries, patterns and contexts. `esper-shared` is what a person can make of all the
rules together, by hand: one window for each type of event that all statements read.

Where Esper's meaning is not TESLA's:
- `#time` leaves the bound of the window out, TESLA takes it in: windows are a millisecond longer here, which is the
  same as the streams count in whole milliseconds.
- `#unique` and `#lastevent` keep the last event for as long as no other comes, so its age is compared. They also keep
  one event for each area forever, which a time window would not; there is one area.
- Esper has no order among events of the same timestamp, but that of arrival, which is TESLA's, too.
- A composite is not sent back into the engine, as no rule asks for it.
"""

from __future__ import annotations

from benchmarks.workloads import FIRE_PAIRS, Workload, average_threshold, synthetic_parameters

from benchmarks import streams

WINDOW = f"{streams.WINDOW + 1} msec"
MEASURED = "select s.area as area, t.value as measured"

SHARED = ("each", "avg")
"""The policies for which sharing windows by hand is another way of saying the rules."""


def statements(workload: Workload, *, shared: bool = False) -> str:
    """The EPL module for a workload: the statements whose names begin with `rule` are the rules."""
    if workload.family == "fire":
        lines = _fire_shared(workload.policy) if shared else _fire(workload.policy)
    elif workload.family == "filter":
        lines = _filters()
    else:
        lines = _synthetic(workload.policy)
    return "".join(f"{line};\n" for line in lines)


def _fire(policy: str) -> list[str]:
    forms = {
        "each": "{measured} from Smoke{pair} as s unidirectional, Temp{pair}(value > {k})#time({window}) as t "
        "where t.area = s.area",
        "last": "{measured} from Smoke{pair} as s unidirectional, Temp{pair}(value > {k})#unique(area) as t "
        "where t.area = s.area and t.ts >= s.ts - {age}",
        "first": "select s.area as area, first(t.value) as measured "
        "from Smoke{pair} as s unidirectional, Temp{pair}(value > {k})#time({window}) as t "
        "where t.area = s.area group by s.area",
        "avg": "select s.area as area, avg(t.value) as measured "
        "from Smoke{pair} as s unidirectional, Temp{pair}#time({window}) as t "
        "where t.area = s.area group by s.area having avg(t.value) > {threshold}",
    }
    return [
        f"@name('rule{pair}_{k}') "
        + forms[policy].format(
            measured=MEASURED,
            pair=pair,
            k=k,
            window=WINDOW,
            age=streams.WINDOW,
            threshold=average_threshold(k),
        )
        for pair, k in FIRE_PAIRS
    ]


def _fire_shared(policy: str) -> list[str]:
    pairs = range(1, streams.PAIRS + 1)
    if policy == "each":
        common = [
            line
            for pair in pairs
            for line in (
                f"create window Temps{pair}#time({WINDOW}) as Temp{pair}",
                f"insert into Temps{pair} select * from Temp{pair}",
                f"create index ByValue{pair} on Temps{pair}(area hash, value btree)",
            )
        ]
        return common + [
            f"@name('rule{pair}_{k}') on Smoke{pair} as s {MEASURED} from Temps{pair} as t "
            f"where t.area = s.area and t.value > {k}"
            for pair, k in FIRE_PAIRS
        ]
    common = [
        line
        for pair in pairs
        for line in (
            f"create table Mean{pair}(area string primary key, mean avg(int))",
            f"into table Mean{pair} select avg(value) as mean from Temp{pair}#time({WINDOW}) group by area",
        )
    ]
    return common + [
        f"@name('rule{pair}_{k}') select area, Mean{pair}[area].mean as measured from Smoke{pair} "
        f"where Mean{pair}[area].mean > {average_threshold(k)}"
        for pair, k in FIRE_PAIRS
    ]


def _filters() -> list[str]:
    return [
        f"@name('rule{i}') select value as measured from Reading(value = {i})"
        for i in range(1, streams.FILTERS + 1)
    ]


def _synthetic(policy: str) -> list[str]:
    lines = []
    for i, (kind, window) in enumerate(synthetic_parameters()):
        if policy == "last":
            view, condition = "#lastevent", f" where t.ts >= s.ts - {window}"
        else:
            view, condition = f"#time({window + 1} msec)", ""
        lines.append(
            f"@name('rule{i}') select t.kind as measured from Step(kind = {kind}, state = 0) as s unidirectional, "
            f"Step(kind = {kind}, state = 1){view} as t{condition}"
        )
    return lines
