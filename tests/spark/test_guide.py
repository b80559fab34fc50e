"""The guides to Spark: their programs run, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

GUIDES = [Path("docs/guide/spark.md"), Path("docs/guide/spark-streams.md")]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_the_programs_of_the_guide_run(spark: SparkSession, guide: Path) -> None:
    """With a session of the reader, as the text says."""
    programs = re.findall(
        r"^```python fragment\n(.*?)^```", guide.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert programs
    names: dict[str, object] = {"spark": spark}
    for program in programs:
        exec(program, names)
