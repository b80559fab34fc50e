"""`tyrex publish`, `tyrex subscribe`, `tyrex define` and `tyrex status`: clients of a broker network."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from tyrex.cli.broker import SecretFile, TlsCa, TlsCert, TlsKey, address_of, secret_of, tls_of
from tyrex.cli.common import OutputFormat, fail, load_rules, sources_of
from tyrex.cli.run_inputs import Intake, RejectedData
from tyrex.events import Event
from tyrex.io import Layout, find_input, write_json_event

if TYPE_CHECKING:
    from tyrex.network.sockets.client import AsyncClient

BrokerAddress = Annotated[str, typer.Argument(help="The broker: HOST:PORT.")]
_AT_ONCE = 1000


def publish(
    at: BrokerAddress,
    events: Annotated[list[str], typer.Argument(help="Files of events, or `-`: as for `tyrex run`.")],
    types: Annotated[Path, typer.Option(help="A rule file that declares the event types.")],
    rate: Annotated[
        float | None, typer.Option(help="Events in a second; as fast as possible if not given.")
    ] = None,
    now: Annotated[
        bool, typer.Option("--now", help="Events get the time of the broker's clock when they arrive.")
    ] = False,
    end: Annotated[
        bool,
        typer.Option(
            "--end", help="Then tell that time has passed the last event (`--source-time` brokers)."
        ),
    ] = False,
    name: Annotated[str | None, typer.Option(help="The client's name.")] = None,
    secret_file: SecretFile = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    tls_ca: TlsCa = None,
) -> None:
    """Publish events to a broker network."""
    declared = load_rules(types).types
    layout = Layout(declared, columns=False)
    bad = RejectedData(strict=False, keep=None)
    intake = Intake([find_input(word, layout) for word in events], layout, bad)

    async def work(client: AsyncClient) -> None:
        sent = accepted = 0
        last: int | None = None
        began = time.monotonic()
        advertised: set[str] = set()
        for batch in _batches(intake, 1 if rate is not None and rate < _AT_ONCE else _AT_ONCE):
            for type_ in {event.type for event in batch} - advertised:
                if type_ not in declared:
                    raise fail(f"{types} declares no event type `{type_}`")
                await client.advertise(declared[type_])
                advertised.add(type_)
            if rate is not None:
                await asyncio.sleep(max(0.0, began + sent / rate - time.monotonic()))
            accepted += await client.publish(batch, stamp=now)
            sent += len(batch)
            last = max(event.timestamp for event in batch)
        if end and last is not None:
            await client.advance((last + 1) / 1_000_000)
        late = f", {sent - accepted:,} were late" if accepted < sent else ""
        rejected = f", {bad.count:,} lines were no events" if bad.count else ""
        typer.echo(f"{accepted:,} events published{late}{rejected}", err=True)

    _with_client(work, at, name, secret_file, tls_cert, tls_key, tls_ca)


def _batches(intake: Intake, size: int) -> Iterator[list[Event]]:
    waiting: list[Event] = []
    for batch in intake:
        for event in cast(Sequence[Event], batch):  # without columns, batches are of events
            waiting.append(event)
            if len(waiting) >= size:
                yield waiting
                waiting = []
    if waiting:
        yield waiting


def subscribe(
    at: BrokerAddress,
    filter: Annotated[list[str], typer.Argument(help='What to get, as `Fire(area = "A1")` or `Fire`.')],
    count: Annotated[int | None, typer.Option(help="Stop after so many events.")] = None,
    name: Annotated[str | None, typer.Option(help="The client's name.")] = None,
    secret_file: SecretFile = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    tls_ca: TlsCa = None,
) -> None:
    """Print the events of a broker network that fit, as JSON lines, until Ctrl-C."""

    async def work(client: AsyncClient) -> None:
        left = count
        every: asyncio.Queue[Event | None] = asyncio.Queue()
        for text in filter:
            found = await client.subscribe(text)
            found.queue = every
        while left != 0 and (event := await every.get()) is not None:
            typer.echo(write_json_event(event))
            left = None if left is None else left - 1
        if client.missed:
            typer.echo(f"{client.missed:,} events were missed: this client was too slow", err=True)
        if left != 0:
            raise fail(client.ended or "the broker is gone")

    with suppress(KeyboardInterrupt):
        _with_client(work, at, name, secret_file, tls_cert, tls_key, tls_ca)


def define(
    at: BrokerAddress,
    rules: Annotated[Path, typer.Argument(help="A rule file, or a directory of them; TESLA or RACED.")],
    remove: Annotated[bool, typer.Option("--remove", help="Take rules of these names away instead.")] = False,
    secret_file: SecretFile = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    tls_ca: TlsCa = None,
) -> None:
    """Give rules to a broker network: a set for each file, under the file's name, in place of an earlier one."""
    sources = sources_of(rules)

    async def work(client: AsyncClient) -> None:
        for source in sources:
            stem = Path(source.name).stem
            if remove:
                await client.undefine(stem)
            else:
                await client.define(stem, source.text, raced=source.name.endswith(".raced"))
            typer.echo(f"{stem}: {'removed' if remove else 'defined'}", err=True)

    _with_client(work, at, None, secret_file, tls_cert, tls_key, tls_ca)


def status(
    at: BrokerAddress,
    format: Annotated[OutputFormat, typer.Option(help="For a person or for a program.")] = OutputFormat.TEXT,
    secret_file: SecretFile = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    tls_ca: TlsCa = None,
) -> None:
    """Show what a broker is, whom it talks to, and what it has counted."""

    async def work(client: AsyncClient) -> None:
        found = await client.status()
        if format is OutputFormat.JSON:
            typer.echo(json.dumps(found, indent=2))
        else:
            typer.echo(status_text(found))

    _with_client(work, at, None, secret_file, tls_cert, tls_key, tls_ca)


def status_text(found: dict[str, Any]) -> str:
    """The answer of a broker, for a person."""
    lines = [f"{found['name']}: strategy {found['strategy']}, {found['mode']}"]
    if found["sources_wait"]:
        lines.append("sources wait: somebody in the network can't keep up")
    for name, link in found["links"].items():
        state = "connected" if link["connected"] else "broken, kept" if link["up"] else "gone"
        lines.append(
            f"link {name}: {state}; {link['messages_in']:,} messages in, {link['messages_out']:,} out, "
            f"{link['waiting_messages']:,} waiting, {link['resent']:,} sent again, {link['lost']:,} lost"
        )
    for root, tree in found["trees"].items():
        place = "root" if tree["parent"] is None else f"parent {tree['parent']}"
        children = ", ".join(tree["children"]) or "none"
        lines.append(f"tree of {root}, epoch {tree['epoch']}: {place}; children: {children}")
    for name, client in found["clients"].items():
        missed = f", missed {client['missed']:,} events" if client["missed"] else ""
        lines.append(f"client {name}{missed}")
    lines += [f"{number:>12,}  {name}" for name, number in sorted(found["counts"].items())]
    return "\n".join(lines)


def _with_client(
    work: Any,
    at: str,
    name: str | None,
    secret_file: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    tls_ca: Path | None,
) -> None:
    try:
        from tyrex.network.sockets.client import AsyncClient, BrokerError, NotConnected
        from tyrex.network.sockets.frames import WireError
    except ImportError as error:
        raise fail(f'brokers need more than is installed ({error}): pip install "tyrex[network]"') from None

    async def run() -> None:
        tls = tls_of(tls_cert, tls_key, tls_ca)
        async with AsyncClient(address_of(at), name=name, secret=secret_of(secret_file), tls=tls) as client:
            await work(client)

    coroutine: Coroutine[Any, Any, None] = run()
    try:
        asyncio.run(coroutine)
    except (BrokerError, NotConnected, WireError, ValueError) as error:
        raise fail(str(error)) from None
