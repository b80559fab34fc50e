"""Events in files and streams: what can be read, and what is written."""

from tyrex.io.cloudevents import read_cloud_event
from tyrex.io.formats import open_events
from tyrex.io.jsonarray import JsonArrayReader
from tyrex.io.jsonevent import json_record, parse_json_event, read_json_event, write_json_event
from tyrex.io.jsonlines import JsonLinesReader
from tyrex.io.reader import EventReader, OnRejected, Rejected

__all__ = [
    "EventReader",
    "JsonArrayReader",
    "JsonLinesReader",
    "OnRejected",
    "Rejected",
    "json_record",
    "open_events",
    "parse_json_event",
    "read_cloud_event",
    "read_json_event",
    "write_json_event",
]
