"""Who changed what: a line for each attempt to change the rules."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_log = logging.getLogger("tyrex.audit")


class Audit:
    """Appends lines of JSON to a file, and to the log of the program."""

    def __init__(self, path: Path | None) -> None:
        """Without a file only the log of the program has them."""
        self._path = path

    def note(
        self, at: str, by: str, address: str, action: str, names: Sequence[str], outcome: str, **more: Any
    ) -> None:
        """Write down an attempt and what became of it."""
        record = {
            "at": at,
            "by": by,
            "address": address,
            "action": action,
            "names": list(names),
            "outcome": outcome,
            **more,
        }
        _log.info("%s %s by %s: %s", action, ", ".join(names) or "rules", by, outcome)
        if self._path is None:
            return
        try:
            with self._path.open("a") as file:
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
        except OSError as error:  # the change itself stands in the log of the node
            _log.error("the audit log can't be written: %s", error)
