"""The executable semantics: slow, obvious, and right by definition."""

from tyrex.reference.semantics import Outcome, Reference, run

__all__ = ["Outcome", "Reference", "run"]
