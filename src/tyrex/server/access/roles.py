"""Who may do what: sources publish, sinks subscribe, rule managers change rules, admins do everything."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """As in the papers, and one more."""

    SOURCE = "source"
    SINK = "sink"
    MANAGER = "manager"
    ADMIN = "admin"


class Right(StrEnum):
    """What a request asks for."""

    PUBLISH = "publish events"
    SUBSCRIBE = "read detections"
    LOOK = "look at events and counts"
    READ_RULES = "read rules"
    CHANGE_RULES = "change rules"
    BACKTEST = "run backtests"


_RIGHTS = {
    Role.SOURCE: {Right.PUBLISH, Right.READ_RULES},
    Role.SINK: {Right.SUBSCRIBE, Right.READ_RULES},
    Role.MANAGER: {Right.SUBSCRIBE, Right.LOOK, Right.READ_RULES, Right.CHANGE_RULES, Right.BACKTEST},
    Role.ADMIN: set(Right),
}


class Forbidden(PermissionError):
    """Somebody asks for what he may not do."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Who makes a request."""

    name: str
    roles: frozenset[Role]
    types: frozenset[str] | None = None
    """The types that a source may publish; None: all."""
    filters: tuple[str, ...] | None = None
    """What a sink may see: events that one of these lets through; None: all."""

    def require(self, right: Right) -> None:
        """`Forbidden` if none of its roles has this right."""
        if not any(right in _RIGHTS[role] for role in self.roles):
            allowed = sorted(role.value for role in Role if right in _RIGHTS[role])
            raise Forbidden(f"{self.name} may not {right}: that takes the role {' or '.join(allowed)}")

    def require_types(self, types: set[str]) -> None:
        """`Forbidden` if it may not publish events of one of these types."""
        beyond = sorted(types - self.types) if self.types is not None and Role.ADMIN not in self.roles else []
        if beyond:
            shown = ", ".join(f"`{name}`" for name in sorted(self.types or ()))
            raise Forbidden(f"{self.name} may not publish `{beyond[0]}`, only {shown}")

    @property
    def limits(self) -> tuple[str, ...] | None:
        """The filters that hold for all it reads, unless another role lets it see everything."""
        return None if self.roles & {Role.MANAGER, Role.ADMIN} else self.filters


LOCAL = Principal("local", frozenset({Role.ADMIN}))
"""Whoever is on the same machine, where no key was made."""
