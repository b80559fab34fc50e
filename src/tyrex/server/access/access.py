"""Who makes a request: by key, by JWT, or, where neither was set up, whoever is on the same machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tyrex.server.access.audit import Audit
from tyrex.server.access.keys import PREFIX, KeyFile
from tyrex.server.access.limits import RateLimit
from tyrex.server.access.roles import LOCAL, Forbidden, Principal, Role

_LOOPBACK = {"localhost", "127.0.0.1", "[::1]", "::1"}


class Unauthenticated(PermissionError):
    """It is not known who makes a request."""


@dataclass
class Access:
    """Finds out who somebody is, and counts what he asks."""

    keys: KeyFile | None = None
    may_be_open: bool = True
    """Whether the server listens on loopback only."""
    jwt_secret: str | None = None
    """A shared secret (HS256) or a public key in PEM (RS256, ES256)."""
    rate: RateLimit = field(default_factory=lambda: RateLimit(0))
    audit: Audit = field(default_factory=lambda: Audit(None))

    @property
    def is_open(self) -> bool:
        """Whether nobody has to say who he is, as neither keys nor a secret were set up."""
        return self.may_be_open and self.jwt_secret is None and not (self.keys is not None and self.keys.keys)

    def principal(self, headers: Mapping[str, str]) -> Principal:
        """Who makes a request with these headers (their names in lower case)."""
        if self.is_open:
            _check_local(headers)
            return LOCAL
        scheme, _, token = headers.get("authorization", "").partition(" ")
        token = token.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")
        if not token:
            raise Unauthenticated("a key is needed: send the header `Authorization: Bearer tyrex_...`")
        if token.startswith(PREFIX):
            key = self.keys.find(token) if self.keys is not None else None
            if key is None:
                raise Unauthenticated("this key is not known here, or was removed: ask for another one")
            return key.principal
        if self.jwt_secret is None:
            raise Unauthenticated(f"this is no key: keys begin with `{PREFIX}`")
        return _of_jwt(token, self.jwt_secret)


def _check_local(headers: Mapping[str, str]) -> None:
    """Keep the pages of other sites, which a browser on this machine may show, from using an open server."""
    host = headers.get("host", "")
    name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    if host and name not in _LOOPBACK:
        raise Forbidden(
            f"without keys the server answers only to localhost, found the host {name!r}: `tyrex keys add` makes one"
        )
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != host:
        raise Forbidden(f"without keys pages of other sites are not answered, found the origin {origin!r}")


def _of_jwt(token: str, secret: str) -> Principal:
    import jwt

    algorithms = ["RS256", "ES256"] if secret.lstrip().startswith("-----BEGIN") else ["HS256"]
    try:
        claims = jwt.decode(token, secret, algorithms=algorithms, options={"require": ["exp", "sub"]})
        return _of_claims(claims)
    except jwt.PyJWTError as error:
        raise Unauthenticated(f"the token is not valid: {error}") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise Unauthenticated(f"the claim `tyrex` of the token can't be read: {error}") from None


def _of_claims(claims: dict[str, Any]) -> Principal:
    claim = claims.get("tyrex")
    if not isinstance(claim, dict):
        raise ValueError('expected an object such as {"roles": ["sink"]}')
    roles = frozenset(map(Role, claim.get("roles", ())))
    types, filters = claim.get("types"), claim.get("filters")
    return Principal(
        str(claims["sub"]),
        roles,
        None if types is None else frozenset(map(str, types)),
        None if filters is None else tuple(map(str, filters)),
    )
