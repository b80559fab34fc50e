"""RACED, the small language of conjunctions, as a second front end: it becomes TESLA rules."""

from tyrex.raced.translate import DEFAULT_WINDOW, examine_raced, translate

__all__ = ["DEFAULT_WINDOW", "examine_raced", "translate"]
