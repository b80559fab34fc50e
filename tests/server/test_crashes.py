"""A server that is killed at random moments loses nothing and tells nothing twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.server.crashes import check, tell


def test_a_killed_server_loses_nothing_and_tells_nothing_twice(tmp_path: Path) -> None:
    """Ten times killed under load: producers, the subscriber and the reference agree."""
    story = tell(tmp_path, 10)
    assert story.kills == 10
    check(story, tmp_path)


@pytest.mark.nightly
def test_a_hundred_times_killed(tmp_path: Path) -> None:
    """The same, a hundred times."""
    story = tell(tmp_path, 100, seed=2)
    assert story.kills == 100
    check(story, tmp_path)
