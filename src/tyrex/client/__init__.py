"""Clients of a server: publish with retries that count once, follow detections through restarts, change rules."""

from tyrex.client.aio import AsyncClient
from tyrex.client.client import Client
from tyrex.client.wire import Detected, Missed, Receipt, ServerError

__all__ = ["AsyncClient", "Client", "Detected", "Missed", "Receipt", "ServerError"]
