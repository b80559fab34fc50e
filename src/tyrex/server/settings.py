"""What can be set about a server: in a TOML file, in the environment, and as options of the command."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from tyrex.server.http import Limits
from tyrex.server.node import NodeSettings


class ServerSettings(BaseSettings):
    """Each of these is a key of the TOML file, and `TYREX_` and its name in the environment."""

    model_config = SettingsConfigDict(env_prefix="TYREX_", extra="forbid")

    listen: str = "127.0.0.1:8642"
    data: Path | None = None
    rules: Path | None = None

    delay: str = "0 s"
    time_zone: str = "UTC"
    threads: int = Field(1, ge=1)
    clock: Literal["events", "wall"] = "events"
    tick: float = Field(0.5, gt=0)

    capacity: int = Field(200_000, ge=1)
    ids: int = Field(500_000, ge=1)
    snapshot_bytes: int = Field(256 << 20, ge=1)
    snapshot_seconds: float = Field(300, gt=0)
    keep_bytes: int = Field(8 << 30, ge=0)
    keep_seconds: float = Field(7 * 86400, ge=0)
    sync: bool = True

    max_body: int = Field(16 << 20, ge=1)
    max_rules: int = Field(10_000, ge=1)
    max_rule_text: int = Field(1 << 20, ge=1)
    max_matches: int = Field(10_000, ge=1)
    max_subscriptions: int = Field(1_000, ge=1)
    rate: float = Field(0, ge=0)

    keys: Path | None = None
    jwt_secret: SecretStr | None = None
    jwt_key: Path | None = None
    tls_certificate: Path | None = None
    tls_key: Path | None = None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Options come before the environment, and that before the file."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)

    @property
    def node(self) -> NodeSettings:
        """Those of the node."""
        return NodeSettings(
            delay=self.delay,
            time_zone=self.time_zone,
            threads=self.threads,
            clock=self.clock,
            tick=self.tick,
            capacity=self.capacity,
            ids=self.ids,
            snapshot_bytes=self.snapshot_bytes,
            snapshot_seconds=self.snapshot_seconds,
            keep_bytes=self.keep_bytes,
            keep_seconds=self.keep_seconds,
            matches=self.max_matches,
            rules=self.max_rules,
            sync=self.sync,
        )

    @property
    def limits(self) -> Limits:
        """Those of clients."""
        return Limits(
            body=self.max_body,
            rule_text=self.max_rule_text,
            subscriptions=self.max_subscriptions,
            rate=self.rate,
        )

    @property
    def key_file(self) -> Path | None:
        """Where keys are kept."""
        return self.keys or (None if self.data is None else self.data / "keys.json")


def settings_from(config: Path | None, **options: Any) -> ServerSettings:
    """The settings of a file, of the environment, and of options that were given."""
    given = {name: value for name, value in options.items() if value is not None}

    class Here(ServerSettings):
        model_config = SettingsConfigDict(env_prefix="TYREX_", extra="forbid", toml_file=config)

    return Here(**given)
