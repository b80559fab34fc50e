"""What a broker is told when it starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tyrex.network.control.settings import STRATEGIES, Mode, Settings
from tyrex.network.sockets.connection import Address, Tls
from tyrex.network.sockets.handshake import NAME


class SettingsError(ValueError):
    """The settings do not go together; the message says what to do."""


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """Who a broker is, where it listens, whom it connects to, and its limits."""

    name: str
    listen: Address
    connect: Mapping[str, Address] = field(default_factory=dict, hash=False)
    strategy: str = "ST"
    mode: str = "exact"
    weight: int = 100
    """The broker with the smallest weight leads where there is one tree."""
    secret: bytes | None = field(default=None, repr=False)
    tls: Tls | None = None
    insecure: bool = False
    """Listen to other machines though there is neither a secret nor a certificate that is checked."""
    lateness: int | None = 0
    """How late, in microseconds, a source's event may be by the clock of its broker; None if sources tell the time
    themselves (`advance`), as they do when recorded events are published."""
    heartbeat: float = 0.02
    """Seconds between two ticks: time goes on, neighbours hear that we are here."""
    silence: float = 10.0
    """Seconds without a word after which a neighbour counts as gone."""
    frame_limit: int = 16 << 20
    """Bytes of one frame."""
    queue_limit: int = 64 << 20
    """Bytes that may wait for a neighbour; from a quarter of it on sources are asked to wait."""
    client_limit: int = 16 << 20
    """Bytes that may wait for a client; then it misses events, which is counted and told."""
    most_clients: int = 10_000

    def processor(self) -> Settings:
        """What the processor has to know."""
        return Settings(
            strategy=STRATEGIES[self.strategy],
            mode=Mode(self.mode),
            weight=self.weight,
            lateness=self.lateness,
            heartbeat=int(self.heartbeat * 1e6),
        )

    def __post_init__(self) -> None:
        """Refuse settings that can't work, or that open a door by accident."""
        for name in (self.name, *self.connect):
            if not NAME.fullmatch(name):
                raise SettingsError(
                    f"`{name}` is no name of a broker: letters, digits, `_`, `-` and `.`, at most 63"
                )
        if self.strategy not in STRATEGIES:
            raise SettingsError(
                f"there is no strategy `{self.strategy}`: choose one of {', '.join(STRATEGIES)}"
            )
        if self.name in self.connect:
            raise SettingsError(f"`{self.name}` can't connect to itself: leave it out of `--connect`")
        checked = self.secret is not None or (self.tls is not None and self.tls.authority is not None)
        if not checked and not self.insecure and not self.listen.is_local:
            raise SettingsError(
                f"anybody who reaches {self.listen} could use this broker: give it a secret (--secret-file) or "
                "certificates (--tls-cert, --tls-ca), or listen on 127.0.0.1"
            )
