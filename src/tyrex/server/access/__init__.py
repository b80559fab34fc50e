"""Who may do what: keys, tokens, roles, limits, and what is written down of it."""

from tyrex.server.access.access import Access, Unauthenticated
from tyrex.server.access.audit import Audit
from tyrex.server.access.keys import Key, KeyFile, KeyFileUnusable, UnknownKey
from tyrex.server.access.limits import RateLimit
from tyrex.server.access.roles import LOCAL, Forbidden, Principal, Right, Role

__all__ = [
    "LOCAL",
    "Access",
    "Audit",
    "Forbidden",
    "Key",
    "KeyFile",
    "KeyFileUnusable",
    "Principal",
    "RateLimit",
    "Right",
    "Role",
    "Unauthenticated",
    "UnknownKey",
]
