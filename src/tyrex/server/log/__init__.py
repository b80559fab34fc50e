"""An append-only log of records: what was accepted, in order, kept through crashes."""

from tyrex.server.log.journal import Journal, Recovery
from tyrex.server.log.segment import DiskFull, LogDamaged, LogFailed, Record

__all__ = ["DiskFull", "Journal", "LogDamaged", "LogFailed", "Record", "Recovery"]
