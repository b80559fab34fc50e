"""The streams of the benchmarks are exactly those that they are said to be."""

from __future__ import annotations

from benchmarks.sequences import Scenario
from benchmarks.streams import Numbers, Stream

from benchmarks import streams


def _events(stream: Stream, start: int, count: int) -> list[tuple[str, int, object]]:
    """Type, milliseconds and value of some events."""
    chosen = list(stream.events())[start : start + count]
    return [(event["type"], event["timestamp"] // 1000, event.get("value")) for event in chosen]


def test_the_numbers_are_those_of_seed_42() -> None:
    """The generator's first numbers, worked out apart from it."""
    random = Numbers()
    assert [random(1000) for _ in range(6)] == [334, 26, 538, 503, 294, 156]


def test_the_fire_stream_begins_with_temperatures_that_fill_the_windows() -> None:
    """W = 50 has 500 of them, 600 ms apart; then the steps get shorter by the share of Smoke."""
    stream = streams.fire(50, 10, 6)
    assert stream.fill == 500
    assert len(stream) == 506
    assert _events(stream, 0, 4) == [
        ("Temp5", 1_000_000, 27),
        ("Temp9", 1_000_600, 4),
        ("Temp5", 1_001_200, 57),
        ("Temp10", 1_001_800, 11),
    ]
    assert _events(stream, 500, 3) == [
        ("Temp4", 1_299_940, 88),
        ("Temp4", 1_300_480, 20),
        ("Temp1", 1_301_020, 13),
    ]


def test_smoke_draws_no_value() -> None:
    """With half of the events Smoke, the numbers are drawn in the order type, kind, value."""
    assert _events(streams.fire(50, 50, 5), 500, 5) == SMOKE_EVENTS


def test_the_filter_stream_has_values_from_1_to_1000() -> None:
    """One number for each event, a millisecond apart."""
    found = _events(streams.filters(5), 0, 5)
    assert [value for _, _, value in found] == [335, 27, 539, 504, 295]
    assert [time for _, time, _ in found] == [1_000_000, 1_000_001, 1_000_002, 1_000_003, 1_000_004]


def test_the_synthetic_stream_draws_the_windows_first() -> None:
    """A thousand windows, then kind and state of each event."""
    assert streams.synthetic_windows()[:4] == [15_334, 15_026, 15_538, 15_503]
    stream = streams.synthetic(5, 3)
    kinds, states = stream.attributes
    assert list(zip(kinds.values, states.values, strict=True))[:5] == [
        (24, 1),
        (88, 1),
        (38, 1),
        (21, 0),
        (13, 1),
    ]
    assert stream.fill == 3_200


def test_the_default_scenario_is_the_synthetic_stream() -> None:
    """The load that the paper's figures vary begins where the comparison's stream is."""
    scenario = Scenario()
    steps, stream = scenario.events(1_000, 50), streams.synthetic(1, 0)
    assert [windows[0] for windows in scenario.windows()] == streams.synthetic_windows()
    assert list(steps.kinds) == list(stream.attributes[0].values)[:50]
    assert list(steps.states) == list(stream.attributes[1].values)[:50]
    assert list(steps.times())[:3] == [1_000_000_000, 1_000_001_000, 1_000_002_000]


SMOKE_EVENTS: list[tuple[str, int, object]] = [
    ("Smoke4", 1299700, None),
    ("Smoke8", 1300000, None),
    ("Smoke8", 1300300, None),
    ("Smoke1", 1300600, None),
    ("Smoke3", 1300900, None),
]
