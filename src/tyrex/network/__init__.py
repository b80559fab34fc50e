"""Distributed detection: processors that detect near the sources, and what they say to each other."""
