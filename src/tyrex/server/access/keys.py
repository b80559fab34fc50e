"""Keys: made once, shown once, kept as hashes."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import string
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tyrex.server.access.roles import Principal, Role

_LETTERS = string.ascii_letters + string.digits
PREFIX = "tyrex_"


class KeyFileUnusable(ValueError):
    """The file of keys can't be read; the message says what is wrong with it."""


class UnknownKey(KeyError):
    """There is no key of this name."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, slots=True)
class Key:
    """A key as it is kept."""

    name: str
    hash: str
    roles: tuple[str, ...]
    types: tuple[str, ...] | None = None
    filters: tuple[str, ...] | None = None
    created: str = ""

    @property
    def principal(self) -> Principal:
        """Who it speaks for."""
        types = None if self.types is None else frozenset(self.types)
        return Principal(self.name, frozenset(map(Role, self.roles)), types, self.filters)


def hash_of(key: str) -> str:
    """What is kept of a key. It has 190 random bits, so no slow hash is needed to keep it from being guessed."""
    return hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()


class KeyFile:
    """The keys in a file, read again when it changes."""

    def __init__(self, path: Path) -> None:
        """A file that may not be there yet."""
        self.path = path
        self._stamp: tuple[int, int] | None = None
        self._keys: dict[str, Key] = {}

    @property
    def keys(self) -> list[Key]:
        """All keys, in the order in which they were made."""
        self._refresh()
        return list(self._keys.values())

    def find(self, key: str) -> Key | None:
        """The key that somebody shows."""
        self._refresh()
        return self._keys.get(hash_of(key))

    def add(
        self,
        name: str,
        roles: Iterable[Role],
        *,
        types: Iterable[str] | None = None,
        filters: Iterable[str] | None = None,
        created: str = "",
    ) -> str:
        """Make a key; it is given back this once, and only its hash is kept."""
        keys = self.keys
        if any(key.name == name for key in keys):
            raise ValueError(f"there is a key `{name}` already: remove it first, or take another name")
        text = PREFIX + "".join(secrets.choice(_LETTERS) for _ in range(32))
        new = Key(
            name,
            hash_of(text),
            tuple(role.value for role in roles),
            None if types is None else tuple(types),
            None if filters is None else tuple(filters),
            created,
        )
        self._write([*keys, new])
        return text

    def remove(self, name: str) -> None:
        """Take a key away: it counts no more from now on."""
        keys = self.keys
        left = [key for key in keys if key.name != name]
        if len(left) == len(keys):
            raise UnknownKey(f"there is no key `{name}`; `tyrex keys list` shows all")
        self._write(left)

    def _refresh(self) -> None:
        try:
            status = self.path.stat()
        except FileNotFoundError:
            self._stamp, self._keys = None, {}
            return
        stamp = (status.st_mtime_ns, status.st_ino)
        if stamp != self._stamp:
            try:
                found = [_key(record) for record in json.loads(self.path.read_text())]
            except (ValueError, TypeError, KeyError) as error:
                raise KeyFileUnusable(
                    f"{self.path} is no file of keys ({error}): restore it from a copy, or make the keys anew"
                ) from None
            self._keys = {key.hash: key for key in found}
            self._stamp = stamp

    def _write(self, keys: list[Key]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(file, "w") as stream:
            json.dump([asdict(key) for key in keys], stream, indent=2)
            stream.flush()
            os.fsync(stream.fileno())
        new.replace(self.path)


def _key(record: dict[str, Any]) -> Key:
    for name in ("roles", "types", "filters"):
        if record.get(name) is not None:
            record[name] = tuple(record[name])
    key = Key(**record)
    assert key.principal is not None  # the roles are roles
    return key
