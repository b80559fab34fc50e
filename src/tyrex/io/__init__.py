"""Events in files and streams: what can be read, and what is written."""

from tyrex.io.cloudevents import read_cloud_event
from tyrex.io.form import Form
from tyrex.io.formats import open_events
from tyrex.io.inputs import Input, find_input, open_input
from tyrex.io.jsonarray import JsonArrayReader
from tyrex.io.jsonevent import json_record, parse_json_event, read_json_event, write_json_event
from tyrex.io.jsonlines import JsonLinesReader
from tyrex.io.layout import Batch, Layout
from tyrex.io.merge import merged
from tyrex.io.reader import EventReader, OnRejected, Rejected
from tyrex.io.reading import BatchReader
from tyrex.io.writers import EventWriter, Found, open_writer

__all__ = [
    "Batch",
    "BatchReader",
    "EventReader",
    "EventWriter",
    "Form",
    "Found",
    "Input",
    "JsonArrayReader",
    "JsonLinesReader",
    "Layout",
    "OnRejected",
    "Rejected",
    "find_input",
    "json_record",
    "merged",
    "open_events",
    "open_input",
    "open_writer",
    "parse_json_event",
    "read_cloud_event",
    "read_json_event",
    "write_json_event",
]
