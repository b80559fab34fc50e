"""A Kafka broker's jars from a Maven repository, of the version of the client that Spark's connector brings."""

from __future__ import annotations

import re
from pathlib import Path

from tyrex.spark.jars import Wanted, connector_jars, first_resolved
from tyrex.spark.session import SCALA


def broker_jars() -> list[Path]:
    """The broker, with all that it needs."""
    (version,) = (
        found[1] for jar in connector_jars() if (found := re.fullmatch(r"kafka-clients-(.+)\.jar", jar.name))
    )
    return first_resolved(
        [Wanted((f"org.apache.kafka:kafka_{SCALA}:{version}", "org.slf4j:slf4j-simple:1.7.36"))]
    )
