"""Why a figure of ours differs from the paper's: written down, and never tuned away."""

from __future__ import annotations

NOTES: dict[str, str] = {}
"""By the name of the figure."""
