"""A real Kafka broker for tests: a single node without ZooKeeper, on a free port, gone after the test."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.spark.kafka_jars import broker_jars

from tyrex.spark.java import Java, find_java

CLUSTER = "tyrex-tests-tyrex-test"
"""Any 16 bytes in base64 will do."""

LONGEST = 60
"""Seconds that a broker may take to be ready."""

JAVA_OPTIONS = (
    "-Xmx512m",
    "-XX:TieredStopAtLevel=1",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)

PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={data}
num.partitions={partitions}
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""


class BrokerError(RuntimeError):
    """The broker did not start; the message has the end of its log."""


@contextmanager
def kafka_broker(folder: Path, partitions: int = 2) -> Iterator[str]:
    """Run a broker that keeps its data in `folder`, and give its address, as `kafka.bootstrap.servers` takes it.

    Topics come into being when they are first written to, with so many `partitions`.
    """
    java = find_java()
    port, controller = _free_ports(2)
    data, settings, log = folder / "data", folder / "server.properties", folder / "log"
    settings.write_text(PROPERTIES.format(port=port, controller=controller, data=data, partitions=partitions))
    with log.open("wb") as output:
        formatted = _command(java, "kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", settings)
        if subprocess.run(formatted, stdout=output, stderr=output, check=False).returncode != 0:
            raise BrokerError(f"Kafka could not make its folder:\n{_tail(log)}")
        process = subprocess.Popen(_command(java, "kafka.Kafka", settings), stdout=output, stderr=output)
    try:
        _await(process, port, log)
        yield f"127.0.0.1:{port}"
    finally:
        # Nobody reads the data again, so there is nothing to shut down in good order.
        process.kill()
        process.wait()


def _command(java: Java, main: str, *arguments: str | Path) -> list[str | Path]:
    classpath = os.pathsep.join(map(str, broker_jars()))
    return [java.binary, *JAVA_OPTIONS, "-cp", classpath, main, *arguments]


def _free_ports(count: int) -> list[int]:
    """Ports that nobody uses, all taken at once so that they differ."""
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [int(server.getsockname()[1]) for server in taken]
    finally:
        for server in taken:
            server.close()


def _await(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        if process.poll() is not None:
            raise BrokerError(f"Kafka ended with status {process.returncode}:\n{_tail(log)}")
        if _brokers(port) > 0:
            return
        time.sleep(0.1)
    raise BrokerError(f"Kafka was not ready in {LONGEST} s:\n{_tail(log)}")


def _brokers(port: int) -> int:
    """How many brokers the cluster has, by its own word: an open port alone does not take messages yet.

    The request is Kafka's Metadata (key 3) in its first version, about every topic.
    """
    request = struct.pack(">hhihi", 3, 0, 1, -1, 0)
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            answer = connection.makefile("rb").read(12)
    except OSError:
        return 0
    if len(answer) < 12:
        return 0
    _, _, brokers = struct.unpack(">iii", answer)
    return int(brokers)


def _tail(log: Path, lines: int = 20) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
