"""The guide to Spark: its programs run, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

from pyspark.sql import SparkSession

GUIDE = Path("docs/guide/spark.md")


def test_the_programs_of_the_guide_run(spark: SparkSession) -> None:
    """With a session of the reader, as the text says."""
    programs = re.findall(
        r"^```python fragment\n(.*?)^```", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert programs
    names: dict[str, object] = {"spark": spark}
    for program in programs:
        exec(program, names)
