"""`tyrex broker`: one processor of a broker network, as a process."""

from __future__ import annotations

import asyncio
import logging
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tyrex.cli.common import fail, load_rules, read_rules
from tyrex.tesla.durations import NotADuration, parse_duration

if TYPE_CHECKING:
    from tyrex.network.sockets.broker import Broker
    from tyrex.network.sockets.connection import Address, Tls

SecretFile = Annotated[
    Path | None, typer.Option("--secret-file", help="A file with the secret that all of the network know.")
]
TlsCert = Annotated[Path | None, typer.Option("--tls-cert", help="A certificate (PEM) of one's own.")]
TlsKey = Annotated[Path | None, typer.Option("--tls-key", help="The key of the certificate.")]
TlsCa = Annotated[
    Path | None, typer.Option("--tls-ca", help="The certificate that the others' must be signed with.")
]


def broker(
    name: Annotated[str, typer.Option(help="The broker's name, which no other has.")],
    listen: Annotated[str, typer.Option(help="Where neighbours and clients connect: HOST:PORT.")],
    connect: Annotated[
        list[str] | None, typer.Option(help="A neighbour to connect to, as `b2=HOST:PORT`; may be repeated.")
    ] = None,
    strategy: Annotated[
        str, typer.Option(help="Centr, ST, MT, STpp, MTpp, RACED or PADRES; the same in the whole network.")
    ] = "ST",
    mode: Annotated[
        str, typer.Option(help="`exact`, or `paper`: partial rules as in the paper, which may lose some.")
    ] = "exact",
    rules: Annotated[
        Path | None, typer.Option(help="A rule file, or a directory of them, to define at the start.")
    ] = None,
    weight: Annotated[int, typer.Option(help="The broker with the smallest leads a single tree.")] = 100,
    lateness: Annotated[str, typer.Option(help="How late an event may be by the broker's clock.")] = "0s",
    source_time: Annotated[
        bool, typer.Option("--source-time", help="Time is what sources tell, as for recorded events.")
    ] = False,
    silence: Annotated[
        float, typer.Option(help="Seconds without a word after which a neighbour counts as gone.")
    ] = 10.0,
    secret_file: SecretFile = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    tls_ca: TlsCa = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Listen to other machines without secret or certificates.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Say more.")] = False,
) -> None:
    """Be one processor of a broker network: detect near the sources, together with the neighbours.

    `tyrex publish`, `tyrex subscribe` and `tyrex define` are for its clients.
    """
    try:
        from tyrex.network.sockets.broker import Broker
        from tyrex.network.sockets.settings import BrokerSettings
    except ImportError as error:
        raise fail(f'brokers need more than is installed ({error}): pip install "tyrex[network]"') from None
    try:
        settings = BrokerSettings(
            name=name,
            listen=address_of(listen),
            connect=dict(_neighbour(word) for word in connect or ()),
            strategy=strategy,
            mode=mode,
            weight=weight,
            lateness=None if source_time else parse_duration(lateness),
            silence=silence,
            secret=secret_of(secret_file),
            tls=tls_of(tls_cert, tls_key, tls_ca),
            insecure=insecure,
        )
    except NotADuration as error:
        raise fail(f"--lateness: {error}") from None
    except ValueError as error:
        raise fail(str(error)) from None
    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    node = Broker(settings)
    if rules is not None:
        load_rules(rules)  # says what is wrong with them
        for source in read_rules(rules):
            raced = source.name.endswith(".raced")
            stem = Path(source.name).stem
            node.carry_out(node.processor.define(node.now(), "", stem, source.text, raced=raced))
    try:
        asyncio.run(_until_stopped(node))
    except OSError as error:
        raise fail(f"{name} can't listen at {listen}: {error.strerror or error}") from None


async def _until_stopped(node: Broker) -> None:
    task = asyncio.ensure_future(node.run())
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    with suppress(asyncio.CancelledError):
        await task


def address_of(text: str) -> Address:
    """An address on the command line."""
    from tyrex.network.sockets.connection import Address

    return Address.parse(text)


def _neighbour(word: str) -> tuple[str, Address]:
    name, equals, address = word.partition("=")
    if not equals:
        raise ValueError(f"`--connect {word}`: write a neighbour as NAME=HOST:PORT")
    return name, address_of(address)


def secret_of(file: Path | None) -> bytes | None:
    """The secret in a file, without the line's end."""
    if file is None:
        return None
    try:
        secret = file.read_bytes().strip()
    except OSError as error:
        raise ValueError(f"{file} can't be read: {error.strerror or error}") from None
    if len(secret) < 16:
        raise ValueError(
            f"{file} has {len(secret)} bytes: a secret has at least 16, for instance `openssl rand -hex 32`"
        )
    return secret


def tls_of(certificate: Path | None, key: Path | None, authority: Path | None) -> Tls | None:
    """The certificates that were given, if any."""
    from tyrex.network.sockets.connection import Tls

    for path in (certificate, key, authority):
        if path is not None and not path.is_file():
            raise ValueError(f"there is no file {path}")
    return None if certificate is None and authority is None else Tls(certificate, key, authority)
