"""The greeting of a connection: both ends say who they are and prove that they know the secret of the network.

Three messages, before anything else is accepted: the one who opens greets, the one who accepts greets and proves, the
one who opens proves. A proof is an HMAC over both greetings, so that it is worth nothing in another conversation.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, TypeVar

import msgpack

from tyrex.network.sockets.frames import VERSION, WireError

T = TypeVar("T")
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,62}")
"""Names of brokers and clients; no `/`, which is in the ids of events."""


class Role(StrEnum):
    """What somebody who connects is."""

    BROKER = "broker"
    CLIENT = "client"


@dataclass(frozen=True, slots=True)
class Greeting:
    """Who somebody is, and what of the other's messages they have."""

    name: str
    role: Role
    run: str
    """Different each time that the process starts: what was sent to another run is of no use to this one."""
    received: int
    """The number of the last message that came from the other end, if it is still the same run."""
    known_run: str
    """The run of the other end that `received` is about; empty before the first connection."""
    nonce: bytes

    def content(self) -> dict[str, Any]:
        """The greeting as it is sent."""
        return {"tyrex": VERSION, **asdict(self), "role": str(self.role)}


@dataclass(frozen=True, slots=True)
class Identity:
    """Who we are, and the secret that all of our network know, if it has one."""

    name: str
    role: Role
    run: str
    secret: bytes | None = None

    def greeting(self, *, received: int = 0, known_run: str = "") -> Greeting:
        """A greeting that is good for one connection."""
        return Greeting(self.name, self.role, self.run, received, known_run, secrets.token_bytes(16))

    def proof(self, side: str, opened: Greeting, accepted: Greeting) -> bytes:
        """That we know the secret, in this conversation."""
        if self.secret is None:
            return b""
        said: bytes = msgpack.packb([side, opened.content(), accepted.content()])
        return hmac.new(self.secret, said, hashlib.sha256).digest()

    def check(self, proof: Any, side: str, opened: Greeting, accepted: Greeting) -> None:
        """Refuse whoever does not know the secret."""
        if not isinstance(proof, bytes) or not hmac.compare_digest(proof, self.proof(side, opened, accepted)):
            raise WireError("the other end does not know the secret of this network")


def new_run() -> str:
    """A name for one run of a process."""
    return secrets.token_hex(8)


def read_greeting(content: Any) -> Greeting:
    """The greeting that somebody sent."""
    if isinstance(content, Mapping) and content.get("refused"):
        raise WireError(f"the other end refused the connection: {str(content['refused'])[:300]}")
    if not isinstance(content, Mapping) or "tyrex" not in content:
        raise WireError("a greeting was expected, and something else came: is it a broker's port?")
    if type(content["tyrex"]) is not int or content["tyrex"] != VERSION:
        raise WireError(
            f"the other end speaks version {content['tyrex']!r} of the protocol, and this one {VERSION}: "
            "run the same version of tyrex on both"
        )
    try:
        greeting = Greeting(
            name=_typed(content["name"], str),
            role=Role(_typed(content["role"], str)),
            run=_typed(content["run"], str),
            received=_typed(content["received"], int),
            known_run=_typed(content["known_run"], str),
            nonce=_typed(content["nonce"], bytes),
        )
    except (KeyError, ValueError, TypeError):
        raise WireError("a greeting is not complete, or has values of the wrong type") from None
    if not NAME.fullmatch(greeting.name):
        raise WireError(f"{greeting.name[:80]!r} is no name: letters, digits, `_`, `-` and `.`, at most 63")
    if len(greeting.nonce) != 16:
        raise WireError("a greeting has no nonce of 16 bytes")
    return greeting


def _typed(value: object, kind: type[T]) -> T:
    if type(value) is not kind:
        raise TypeError
    return value
