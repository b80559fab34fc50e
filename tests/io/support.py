"""Types and short ways that the tests of reading and writing share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tyrex.io import EventReader, open_events
from tyrex.tesla.types import AttributeType, EventType, ValueType

TEMP = EventType("Temp", (AttributeType("area", ValueType.STRING), AttributeType("value", ValueType.FLOAT)))
ORDER = EventType(
    "Order",
    (
        AttributeType("id", ValueType.INT),
        AttributeType("rule", ValueType.STRING),
        AttributeType("lineage", ValueType.STRING),
    ),
)
TYPES: Mapping[str, EventType] = {"Temp": TEMP, "Order": ORDER}

TEMP_LINE = '{"type": "Temp", "timestamp": 10, "area": "A1", "value": 24.5}'
TEMP_SHOWN = 'Temp@10(area="A1", value=24.5)'


def reader_of(folder: Path, name: str, data: bytes | str, *, strict: bool = False) -> EventReader:
    """A reader of a new file with this name and content."""
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return open_events(path, types=TYPES, strict=strict)


def shown(reader: EventReader) -> list[str]:
    """The events of a reader in the papers' notation."""
    return [str(event) for event in reader]


def reasons(reader: EventReader) -> list[str]:
    """What a reader has rejected, with the line and the reason."""
    return [str(one) for one in reader.rejected]
