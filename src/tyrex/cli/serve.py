"""`tyrex serve` and `tyrex keys`: a server, and who may use it."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tyrex.cli.common import fail

if TYPE_CHECKING:
    from tyrex.server.access import KeyFile

_EXTRA = "a server needs packages that are not installed: pip install 'tyrex[server]'"


def serve(
    rules: Annotated[
        Path | None, typer.Option(help="A folder of rules: new and changed ones are taken up at the start.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Where everything is kept; without it nothing outlives the server.")
    ] = None,
    listen: Annotated[str | None, typer.Option(help="Host and port. [default: 127.0.0.1:8642]")] = None,
    clock: Annotated[
        str | None,
        typer.Option(help="`events`: time is that of the events; `wall`: it passes by the clock, too."),
    ] = None,
    delay: Annotated[str | None, typer.Option(help='How late an event may come, as "5 s".')] = None,
    config: Annotated[
        Path | None, typer.Option(help="A TOML file with these and all other settings.")
    ] = None,
) -> None:
    """Run a server: sources publish to it, sinks subscribe, rule managers change its rules."""
    try:
        from pydantic import ValidationError

        from tyrex.server.access import KeyFileUnusable
        from tyrex.server.log import LogDamaged
        from tyrex.server.node import DataUnusable
        from tyrex.server.serve import CannotServe
        from tyrex.server.serve import serve as run
        from tyrex.server.settings import settings_from
        from tyrex.tesla import TeslaError
    except ModuleNotFoundError as error:
        raise fail(f"{_EXTRA} ({error.name} is missing)") from None
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    if config is not None and not config.is_file():
        raise fail(f"{config} is no file")
    options: dict[str, Any] = {"rules": rules, "data": data, "listen": listen, "clock": clock, "delay": delay}
    try:
        settings = settings_from(config, **options)
        run(settings, say=lambda line: typer.echo(line, err=True))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the settings"
        raise fail(f"{where}: {first['msg']}") from None
    except TeslaError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    except (CannotServe, DataUnusable, LogDamaged, KeyFileUnusable, ValueError) as error:
        raise fail(str(error)) from None


keys = typer.Typer(help="Make, list and remove the keys of a server.", no_args_is_help=True)
Data = Annotated[Path, typer.Option(help="The folder of the server's data, in which the keys are kept.")]


def _file(data: Path) -> KeyFile:
    try:
        from tyrex.server.access import KeyFile
    except ModuleNotFoundError as error:
        raise fail(f"{_EXTRA} ({error.name} is missing)") from None
    return KeyFile(data / "keys.json")


@keys.command("add")
def add(
    name: Annotated[str, typer.Argument(help="What it is called, in lists and in the audit log.")],
    data: Data,
    role: Annotated[list[str], typer.Option(help="source, sink, manager or admin; may be given again.")],
    type: Annotated[
        list[str] | None, typer.Option(help="A source may publish only events of these types.")
    ] = None,
    filter: Annotated[
        list[str] | None, typer.Option(help="A sink may see only what one of these filters lets through.")
    ] = None,
) -> None:
    """Make a key, and print it: it is shown this once."""
    file = _file(data)
    from tyrex.server.access import KeyFileUnusable, Role

    try:
        roles = [Role(one) for one in role]
    except ValueError as error:
        raise fail(f"{error}; the roles are source, sink, manager and admin") from None
    try:
        key = file.add(
            name, roles, types=type or None, filters=filter or None, created=f"{datetime.now(UTC):%Y-%m-%d}"
        )
    except (ValueError, KeyFileUnusable) as error:
        raise fail(str(error)) from None
    typer.echo(key)


@keys.command("list")
def list_keys(data: Data) -> None:
    """List the keys: never the keys themselves, which nobody knows."""
    for key in _file(data).keys:
        limits = [f"types {', '.join(key.types)}"] if key.types else []
        limits += [f"filters {'; '.join(key.filters)}"] if key.filters else []
        typer.echo("\t".join([key.name, ", ".join(key.roles), key.created, *limits]))


@keys.command("remove")
def remove(name: Annotated[str, typer.Argument(help="Of the key.")], data: Data) -> None:
    """Remove a key: a running server refuses it from then on."""
    from tyrex.server.access import UnknownKey

    try:
        _file(data).remove(name)
    except UnknownKey as error:
        raise fail(str(error)) from None
