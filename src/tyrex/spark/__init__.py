"""Rules on Spark: over tables and over streams, through PySpark. Loading this does not load PySpark."""

from typing import TYPE_CHECKING, Any

from tyrex.spark.detect import changes, composites, detect, finish, of, rejected
from tyrex.spark.rule_stream import RuleStream
from tyrex.spark.sources import History, Source, SourceError
from tyrex.spark.state import RuleState, ShardState, shard_states

if TYPE_CHECKING:
    from tyrex.spark.replay import TyrexReplay

__all__ = [
    "History",
    "RuleState",
    "RuleStream",
    "ShardState",
    "Source",
    "SourceError",
    "TyrexReplay",
    "changes",
    "composites",
    "detect",
    "finish",
    "of",
    "rejected",
    "shard_states",
]


def __getattr__(name: str) -> Any:
    """The data source, which is a class of PySpark's, is loaded when it is asked for."""
    if name == "TyrexReplay":
        from tyrex.spark.replay import TyrexReplay

        return TyrexReplay
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
