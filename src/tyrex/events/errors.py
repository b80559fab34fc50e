"""What is raised where data is no event."""

from __future__ import annotations


class EventError(ValueError):
    """The data is no event of its type: the message says what was expected, found, and what to do."""
