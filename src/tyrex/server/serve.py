"""A server from its start to its end: node, rules of a folder, HTTP, and a shutdown that loses nothing."""

from __future__ import annotations

import ipaddress
import logging
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

import uvicorn

from tyrex.server.access import Access, Audit, KeyFile, RateLimit
from tyrex.server.http import create_app
from tyrex.server.node import Node
from tyrex.server.rules_folder import take_up_rules
from tyrex.server.settings import ServerSettings

_log = logging.getLogger(__name__)


class CannotServe(ValueError):
    """The server can't be started as it is set up; the message says what to change."""


def clock() -> int:
    """The time in microseconds since the epoch."""
    return time.time_ns() // 1000


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """Such as `127.0.0.1:8642` or `[::]:80`."""
        host, colon, port = text.rpartition(":")
        if not colon or not port.isdecimal() or int(port) > 65535:
            raise CannotServe(f"listen: expected a host and a port, as 127.0.0.1:8642, found {text!r}")
        return cls(host.strip("[]") or "0.0.0.0", int(port))

    @property
    def is_loopback(self) -> bool:
        """Whether only the same machine reaches it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def access_of(settings: ServerSettings, address: Address) -> Access:
    """Who may ask; `CannotServe` if that would be anybody on the network."""
    keys = None if settings.key_file is None else KeyFile(settings.key_file)
    secret = None if settings.jwt_secret is None else settings.jwt_secret.get_secret_value()
    if settings.jwt_key is not None:
        secret = settings.jwt_key.read_text()
    if secret is not None and not secret.startswith("-----BEGIN") and len(secret) < 32:
        raise CannotServe("jwt_secret has fewer than 32 letters, and could be guessed: make it longer")
    audit = Audit(None if settings.data is None else settings.data / "audit.jsonl")
    if settings.data is not None:
        settings.data.mkdir(parents=True, exist_ok=True)
    access = Access(keys, address.is_loopback, secret, RateLimit(settings.rate), audit)
    if not address.is_loopback and secret is None and not (keys is not None and keys.keys):
        raise CannotServe(
            f"without keys the server listens on this machine only, and {address} is open to others: make a key with "
            "`tyrex keys add NAME --role admin --data DIR`, or listen on 127.0.0.1"
        )
    return access


class _Server(uvicorn.Server):
    """Ends subscriptions when it is told to end, so that it has not to wait for them."""

    def __init__(self, config: uvicorn.Config, on_exit: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_exit = on_exit

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End in good order at a signal. (uvicorn would raise it once more, before the node is closed.)"""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {sig: signal.signal(sig, self.handle_exit) for sig in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for sig, handler in before.items():
                signal.signal(sig, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal has come."""
        self._on_exit()
        super().handle_exit(sig, frame)


def serve(settings: ServerSettings, *, say: Callable[[str], None]) -> None:
    """Run a server until it is told to end; `say` gets what a person should know."""
    address = Address.parse(settings.listen)
    if (settings.tls_certificate is None) != (settings.tls_key is None):
        raise CannotServe("TLS needs both `tls_certificate` and `tls_key`")
    access = access_of(settings, address)
    node = Node(settings.data, settings.node, clock=clock)
    try:
        for trouble in node.recovered.trouble:
            say(f"recovery: {trouble}")
        if node.recovered.records:
            say(f"recovery: {node.recovered.records:,} records were replayed")
        if settings.rules is not None:
            for line in take_up_rules(node, settings.rules):
                say(f"rule {line}")
        app = create_app(node, access, settings.limits)
        config = uvicorn.Config(
            app,
            host=address.host,
            port=address.port,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=10,
            timeout_keep_alive=75,
            limit_concurrency=None,
            ssl_certfile=None if settings.tls_certificate is None else str(settings.tls_certificate),
            ssl_keyfile=None if settings.tls_key is None else str(settings.tls_key),
            backlog=2048,
        )
        listener = _listen(address)
        real = Address(address.host, listener.getsockname()[1])
        scheme = "http" if settings.tls_certificate is None else "https"
        say(f"listening on {scheme}://{real}, {len(node.rules)} rules, {_kept(settings)}")
        if access.is_open:
            say("no keys: whoever is on this machine may do everything, and nobody else may reach it")
        _Server(config, app.state.context.shut).run(sockets=[listener])
        say("shutting down: what was accepted is finished")
    finally:
        node.close()


def _kept(settings: ServerSettings) -> str:
    if settings.data is None:
        return "nothing is kept: --data DIR keeps it"
    return f"data in {settings.data}" + ("" if settings.sync else ", without waiting for the disk")


def _listen(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address.host, address.port))
    except OSError as error:
        listener.close()
        raise CannotServe(
            f"{address} can't be listened on: {error.strerror}; take another port with --listen"
        ) from None
    listener.listen(2048)
    return listener
