"""What is written is read back as the same."""

import json
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.events.strategies import ints, numbers, texts, timestamps, values

from tyrex.events import Event, conform, content_id
from tyrex.io import json_record, open_events, parse_json_event, read_json_event, write_json_event
from tyrex.tesla.types import AttributeType, EventType, ValueType

RESERVED = st.sampled_from(
    ["type", "timestamp", "id", "rule", "lineage", "attributes", "specversion", "data"]
)
EVENTS = st.builds(
    Event,
    texts.filter(bool),
    timestamps,
    st.dictionaries(RESERVED | texts, values, max_size=4),
    st.none() | texts,
    st.none() | texts,
)
SAMPLE = EventType(
    "Sample",
    (
        AttributeType("id", ValueType.STRING),
        AttributeType("i", ValueType.INT),
        AttributeType("f", ValueType.FLOAT),
        AttributeType("b", ValueType.BOOL),
    ),
)
TYPES = {"Sample": SAMPLE}
SAMPLES = st.builds(
    Event,
    st.just("Sample"),
    timestamps,
    st.fixed_dictionaries(
        {}, optional={"id": texts, "i": ints, "f": numbers | st.just(float("nan")), "b": st.booleans()}
    ),
    st.none() | texts,
    st.none() | texts,
).map(lambda event: conform(event, SAMPLE))


@given(EVENTS, st.none() | st.lists(texts))
def test_an_event_of_any_names_and_values_is_read_back(event: Event, lineage: list[str] | None) -> None:
    """Any type, attribute name, value, id and rule survives, attributes called like keys among them."""
    again = parse_json_event(write_json_event(event, lineage=lineage))
    assert again == event
    assert list(map(repr, again.attributes.values())) == list(map(repr, event.attributes.values()))


@given(EVENTS)
def test_the_record_is_what_is_written(event: Event) -> None:
    """`json_record` is the object of which `write_json_event` is the text."""
    assert json.loads(write_json_event(event)) == json_record(event)
    assert read_json_event(json_record(event)) == event


@given(SAMPLES)
def test_a_conformed_event_is_read_back_with_its_id(event: Event) -> None:
    """With the types known, infinities survive, too, and what was written has the same content and id."""
    again = conform(parse_json_event(write_json_event(event), TYPES), SAMPLE)
    assert again == event
    assert content_id(again) == content_id(event)


@given(st.lists(SAMPLES, max_size=5), st.sampled_from(["e.jsonl", "e.json"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_a_file_of_events_is_read_back(tmp_path: Path, history: list[Event], name: str) -> None:
    """Lines in a `.jsonl` file and an array in a `.json` file hold the same events in the same order."""
    records = [write_json_event(event) for event in history]
    text = "".join(f"{record}\n" for record in records) if name == "e.jsonl" else f"[{','.join(records)}]"
    path = tmp_path / name
    path.write_text(text, "utf-8")
    reader = open_events(path, types=TYPES, strict=True)
    assert [conform(event, SAMPLE) for event in reader] == history
