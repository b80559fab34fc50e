"""One Spark session for all tests of this folder; under pytest-xdist one worker runs them, so that one JVM starts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.spark.jobs import QUICK_START

from tyrex.spark.session import close, session

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session that all tests share: none of them may stop it or leave its settings changed."""
    running = session("local[2]", config=QUICK_START)
    yield running
    close(running)
