"""The HTTP API on FastAPI: one module for each group of paths."""

from tyrex.server.http.app import create_app
from tyrex.server.http.context import Limits

__all__ = ["Limits", "create_app"]
