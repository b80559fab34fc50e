"""How many requests a client may make."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

_CLIENTS = 10_000


@dataclass
class _Bucket:
    tokens: float
    at: float


class RateLimit:
    """So many requests in a second for each client, and a burst of twice as many.

    >>> limit = RateLimit(1.0)
    >>> [limit.wait_for("a", now=0.0) for _ in range(3)]
    [0.0, 0.0, 1.0]
    """

    def __init__(self, rate: float) -> None:
        """0 is without limit."""
        self.rate = rate
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def wait_for(self, client: str, *, now: float) -> float:
        """0 if a client may go on, else the seconds it is to wait."""
        if self.rate <= 0:
            return 0.0
        bucket = self._buckets.pop(client, None) or _Bucket(2 * self.rate, now)
        bucket.tokens = min(2 * self.rate, bucket.tokens + max(0.0, now - bucket.at) * self.rate)
        bucket.at = now
        self._buckets[client] = bucket
        if len(self._buckets) > _CLIENTS:
            self._buckets.popitem(last=False)
        if bucket.tokens < 1:
            return (1 - bucket.tokens) / self.rate
        bucket.tokens -= 1
        return 0.0
