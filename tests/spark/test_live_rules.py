"""Rules that change while a stream runs: the answers of an engine whose rules change at the same moments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from tests.engine.random_rules import PRIMITIVE, random_history, random_text
from tests.spark.micro_batches import Query
from tests.spark.streams import Files
from tests.spark.test_shards import SECOND, cut, history

from tyrex import Engine, Event, TeslaError, parse
from tyrex.engine.engine import RuleInUse
from tyrex.spark import RuleStream, SourceError, changes, composites, detect, finish, of
from tyrex.spark.live import Change

KEYED = """
event A(k: int, v: int)
event B(k: int, v: int)
event C(k: int, j: int)
event D(j: int)
Rule pair define Pair(k: int, v: int)
from B(k = $k) and each A(k = $k and v < B.v) within 20 s from B where k = $k, v = A.v
"""


class Twin:
    """An engine that has the same events and changes as a query, at the same moments."""

    def __init__(self, text: str) -> None:
        self.engine = Engine(text)
        self.waiting: list[tuple[int, Event]] = []
        self.found: list[Any] = []

    def batch(self, events: Sequence[tuple[int, Event]], watermark: int, changes: Sequence[Change]) -> None:
        """A micro-batch."""
        if watermark > 0:
            self._send([(n, e) for n, e in self.waiting if e.timestamp < watermark * 1000])
            self.waiting = [(n, e) for n, e in self.waiting if e.timestamp >= watermark * 1000]
            self.found.extend(self.engine.advance(watermark / 1000))
        for change in changes:
            change_engine(self.engine, change.text)
        self.waiting += events

    def finish(self) -> list[tuple[str, ...]]:
        """The answer."""
        self._send(self.waiting)
        self.found.extend(self.engine.flush())
        return sorted((e.type, e.id, e.rule, _content(dict(e.attributes))) for e in self.found)

    def _send(self, events: Sequence[tuple[int, Event]]) -> None:
        in_order = sorted(events, key=lambda one: (one[1].timestamp, one[0]))
        self.found.extend(self.engine.send_batch([event for _, event in in_order]))


def change_engine(engine: Engine, text: str) -> None:
    """What a file asks for, done with the engine's own methods."""
    asked = [(verb, names.replace(",", " ").split()) for verb, names in re.findall(r"--! (\w+) (.*)", text)]
    gone = [name for verb, names in asked for name in names if verb in ("remove", "replace")]
    while gone:
        for name in gone:
            with suppress(RuleInUse):
                engine.undeploy(name)
                gone.remove(name)
                break
    for verb, names in asked:
        for name in names if verb in ("pause", "resume") else ():
            getattr(engine, verb)(name)
    engine.deploy(text)


def _content(attributes: dict[str, Any]) -> str:
    texts = {
        name: None if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in attributes.items()
    }
    return repr(sorted(texts.items()))


def answers(rows: Sequence[Any]) -> list[tuple[str, ...]]:
    """Composite events, whether the result has a column of their type or not."""
    found = []
    for row in rows:
        if row["rejected"] is None and row["change"] is None:
            attributes = row[row["type"]] if row.get(row["type"]) else dict(row["attributes"])
            found.append((row["type"], row["id"], row["rule"], _content(attributes)))
    return sorted(found)


def outcomes(rows: Sequence[Any]) -> list[Any]:
    """What became of the changes."""
    return [row["change"] for row in rows if row["change"] is not None]


def change(number: int, text: str) -> Change:
    """A file."""
    return Change(number, f"{number:04}.tesla", text)


def _random_change(random: Random, number: int, names: list[str]) -> Change:
    """A file of directives about rules that may or may not be there, or of new rules, or both."""
    lines = []
    kind = random.choice(("add", "add", "replace", "remove", "pause", "resume", "mixed"))
    if kind in ("remove", "pause", "resume", "mixed") and names:
        verb = kind if kind != "mixed" else random.choice(("remove", "pause", "resume"))
        lines.append(f"--! {verb} {', '.join(random.sample(names, min(len(names), random.randint(1, 2))))}")
    if kind in ("add", "replace", "mixed"):
        rules = random_text(random, most=2, joined=random.random() < 0.5).split("\n", len(PRIMITIVE))[-1]
        rules = re.sub(r"^define X(\d)", rf"Rule c{number}_\1\ndefine X\1", rules, flags=re.MULTILINE)
        if kind == "replace" and names:
            name = random.choice(names)
            rules = re.sub(r"Rule \w+", f"Rule {name}", rules, count=1)
            lines.append(f"--! replace {name}")
        lines.append(rules)
        names += [name for name in re.findall(r"Rule (\w+)", rules) if name not in names]
    return change(number, "\n".join(lines))


@given(st.integers(0, 2**32))
@settings(suppress_health_check=list(HealthCheck), deadline=None)
def test_random_changes_have_the_answer_of_an_engine_that_changes_at_the_same_moments(seed: int) -> None:
    """Every construct, keyed or not, through restarts and workers that lose what they have."""
    random = Random(seed)
    while True:
        text = random_text(random, joined=random.random() < 0.7)
        with suppress(TeslaError):
            rules = parse(text)
            break
    live = RuleStream(
        "", keys=random.choice([(), ("k",), ({"A": "k", "B": "v"},)]), anything=random.random() < 0.7
    )
    events = sorted(random_history(random, most=40), key=lambda event: event.timestamp)
    query = Query(
        rules,
        delay=random.choice([0, 1, 5]) * SECOND,
        shards=random.choice([1, 3]),
        has_ids=any(event.id is not None for event in events),
        live=live,
        brought=PRIMITIVE,
    )
    query.start(str(seed), smallest_log=random.choice([0, 500, 10_000]))
    twin = Twin(text)
    names = [rule.name for rule in rules]
    number = 0
    for batch in cut(random, events):
        if random.random() < 0.3:
            query.start(f"{seed} {number}")
        changes = []
        for _ in range(random.choice([0, 0, 1, 2])):
            number += 1
            changes.append(_random_change(random, number, names))
        if changes and random.random() < 0.3:
            before, rows = query.copy_state(), list(query.rows)
            query.batch(batch, changes=changes)  # fails, and is tried again
            query.state, query.rows = before, rows
            query.rows.extend(found := query.attempt(batch, changes=changes))
        else:
            found = query.batch(
                batch, partitions=random.choice([1, 2]), changes=random.sample(changes, len(changes))
            )
        told = outcomes(found)
        assert [outcome["file"] for outcome in told] == [one.file for one in changes]
        accepted = [one for one, outcome in zip(changes, told, strict=True) if outcome["accepted"]]
        twin.batch(batch, query.watermark, accepted)
    assert answers(query.finish()) == twin.finish()


def _outcome(live: RuleStream, *texts: str, brought: Sequence[str] = "ABCD") -> Any:
    """What becomes of the last of some changes."""
    query = Query(parse(KEYED), delay=0, live=live, brought=brought)
    found = [query.batch([], changes=[change(number, text)]) for number, text in enumerate(texts)]
    (outcome,) = outcomes(found[-1])
    return outcome


BY_J = "Rule other define Other(j: int) from D(j = $j) and last C(j = $j) within 1 min from D where j = $j"
BY_K = "Rule more define More(k: int) from B(k = $k) and last C(k = $k) within 1 min from B where k = $k"
LOOSE = "Rule loose define Loose(k: int) from B() and last A() within 1 min from B where k = B.k"


@pytest.mark.parametrize(
    ("live", "text", "problem"),
    [
        (RuleStream(""), BY_K, None),
        (
            RuleStream(""),
            BY_J,
            "does not fit how this query divides its events .*it is not sent `D`.*: restart",
        ),
        (RuleStream("", keys=["j"]), BY_J, None),
        (RuleStream("", keys=[{"C": "j", "D": "j"}]), BY_J, None),
        (RuleStream(""), LOOSE, "rule `loose` does not join its events by `=`"),
        (RuleStream("", anything=True), LOOSE, None),
        (RuleStream(""), "Rule c define X(k: int) from C() where k = C.k", None),
        (RuleStream(""), "event E(k: int)", None),
        (
            RuleStream(""),
            "event E(k: int)\nRule e define X(k: int) from E() where k = E.k",
            "no source of this query",
        ),
        (
            RuleStream(""),
            "Rule e define X(k: int) from E() where k = E.k",
            r"error\[TSL010\].*0000.tesla:1:30",
        ),
        (RuleStream(""), "--! remove par", "there is no rule `par`; did you mean `pair`?"),
        (RuleStream(""), "--! replace pair", "the file has no rule of that name"),
        (RuleStream(""), "--! drop pair", "is no directive: write `--! remove RULE`"),
        (RuleStream(""), "--! pause pair\n--! resume pair", "contradict each other"),
    ],
)
def test_a_change_is_accepted_or_rejected_with_the_reason(
    live: RuleStream, text: str, problem: str | None
) -> None:
    """A rule must fit how events are divided since the query began, and must find its types."""
    outcome = _outcome(live, text)
    assert outcome["accepted"] == (problem is None)
    if problem is None:
        assert outcome["problem"] is None
    else:
        assert re.search(problem, outcome["problem"], re.DOTALL), outcome["problem"]


def test_a_rule_that_others_look_at_goes_only_with_them() -> None:
    """Rules of one file go together, those that are fed before those that feed."""
    above = "Rule above define Above(k: int) from Pair(k = $k) where k = $k"
    alone = _outcome(RuleStream(""), above, "--! remove pair")
    assert alone["problem"] == (
        "rule `pair` defines `Pair`, which `above` looks at: remove or replace them in the same file"
    )
    assert _outcome(RuleStream(""), above, "--! remove pair, above")["removed"] == ["pair", "above"]


def test_a_query_may_begin_without_rules() -> None:
    """Then one shard has everything, if no keys are given."""
    types = "event A(k: int, v: int)\nevent B(k: int, v: int)"
    query = Query(parse(types), delay=0, live=RuleStream(""))
    assert query.layout.count == 1
    twin = Twin(types)
    numbered = list(enumerate(history(40)))
    given = [change(1, KEYED), change(2, "--! pause pair"), change(3, "--! resume pair")]
    for number, start in enumerate((0, 10, 20, 30)):
        own = given[number - 1 : number] if number else []
        query.batch(numbered[start : start + 10], changes=own)
        twin.batch(numbered[start : start + 10], query.watermark, own)
    assert answers(query.finish()) == twin.finish()
    assert len(twin.found) > 0


def test_rules_change_on_a_running_stream_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Files that appear between micro-batches, through restarts; what becomes of each is told once."""
    rules = tmp_path / "rules"
    with pytest.raises(SourceError, match=r"there is no file .*initial\.tesla"):
        RuleStream(rules).read_initial()
    rules.mkdir()
    (rules / "initial.tesla").write_text(KEYED)
    live = RuleStream(rules)
    files = Files(tmp_path, live.read_initial(), [Event(name, 0) for name in "ABC"])
    events = sorted(history(80, spread=2), key=lambda event: event.timestamp)
    numbered = list(enumerate(events))
    more = "define More(k: int, t: int) from B(k = $k) and last A(k = $k) within 9 s from B where k = $k, t = A.v"
    seven = "define More(k: int, t: int) from A() where k = A.k, t = 7"
    given = [
        {"more.tesla": f"Rule more {more}", "wrong.tesla": BY_J},
        {"z.tesla": f"--! pause pair\n--! replace more\nRule more {seven}"},
    ]
    twin = Twin(KEYED)
    greatest = 0

    def keep(frame: DataFrame, batch: int) -> None:
        frame.write.mode("overwrite").parquet(str(tmp_path / f"out/batch={batch}"))

    for number, start in enumerate((0, 27, 54)):
        watermark = max(0, greatest // 1000 - 5000)
        own = given[number - 1] if number else {}
        for name, text in own.items():
            (rules / name).write_text(text)
        batch = numbered[start : start + 27]
        twin.batch(batch, watermark, [change(0, text) for name, text in own.items() if name != "wrong.tesla"])
        greatest = max(greatest, *(event.timestamp for _, event in batch))
        files.write(batch)
        found = detect(files.sources(spark), live, delay="5 s", shards=2)
        query = (
            found.writeStream.foreachBatch(keep)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    result = spark.read.parquet(str(tmp_path / "out")).drop("batch")
    told = {row["file"]: row for row in changes(result).collect()}
    assert changes(result).count() == len(told) == 3
    assert {name: row["accepted"] for name, row in told.items()} == {
        "more.tesla": True,
        "wrong.tesla": False,
        "z.tesla": True,
    }
    assert (told["z.tesla"]["replaced"], told["z.tesla"]["paused"]) == (["more"], ["pair"])
    rest = finish(files.sources(spark), live, tmp_path / "checkpoint", shards=2)
    rows = [row.asDict(recursive=True) for row in [*result.collect(), *rest.collect()]]
    assert answers(rows) == twin.finish()
    typed = of(result, "More", "k long, t int").collect()
    assert {row["t"] for row in typed} > {7}
    assert of(result, "More").where("attributes['t'] = '7'").count() == sum(row["t"] == 7 for row in typed)
    assert of(result, "Pair").columns == ["timestamp", "id", "rule", "k", "v"]
    assert composites(result).count() == result.count() - 3
    with pytest.raises(SourceError, match="rules can change over streams only"):
        detect(spark.createDataFrame([], "type string, timestamp double"), live)
