"""A pytest plugin: collects `*.tesla.md` fixture files and runs every case on every runtime.

`pytest --tyrex-on reference` runs them on one runtime only.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--tyrex-on`."""
    parser.getgroup("tyrex").addoption(
        "--tyrex-on",
        action="append",
        default=None,
        metavar="RUNTIME",
        help="run *.tesla.md fixtures on this runtime only (may be given several times)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a runtime that is not there."""
    if chosen := config.getoption("--tyrex-on"):
        from tyrex.testing.runtimes import RUNTIMES

        for name in chosen:
            if name not in RUNTIMES:
                raise pytest.UsageError(f"--tyrex-on: no runtime `{name}`; there is {', '.join(RUNTIMES)}")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect fixture files."""
    if file_path.name.endswith(".tesla.md"):
        return FixtureFile.from_parent(parent, path=file_path)
    return None


class FixtureFile(pytest.File):
    """A fixture file."""

    def collect(self) -> Iterator[pytest.Item]:
        """An item for each case and runtime; a case about diagnostics needs no runtime."""
        # Imported late, so that a test run without fixture files does not pay for it.
        from tyrex.testing.fixtures import read_fixture
        from tyrex.testing.runtimes import RUNTIMES

        chosen = dict.fromkeys(self.config.getoption("--tyrex-on") or RUNTIMES)
        for case in read_fixture(self.path):
            for name in ["check"] if case.is_about_diagnostics else chosen:
                yield FixtureItem.from_parent(self, name=f"{case.name} [{name}]", case=case, runtime=name)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What can't be read in the file, without a traceback."""
        from tyrex.testing.fixtures import FixtureError

        return (
            str(excinfo.value) if isinstance(excinfo.value, FixtureError) else super().repr_failure(excinfo)
        )


class FixtureItem(pytest.Item):
    """A case of a fixture file on one runtime."""

    def __init__(self, *, case: Any, runtime: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.case = case
        self.runtime = runtime
        self.funcargs: dict[str, Any] = {}  # plugins such as pytest-lsp 1.0 fail on items without it

    def runtest(self) -> None:
        """Run the case."""
        from tyrex.testing.runtimes import RUNTIMES, on_reference

        self.case.check(RUNTIMES.get(self.runtime, on_reference))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        """The difference, without a traceback where the case itself is what failed."""
        from tyrex.testing.fixtures import FixtureError

        if isinstance(excinfo.value, FixtureError | ValueError):
            return f"{self.case.path}:{self.case.line}: {excinfo.value}"
        return str(super().repr_failure(excinfo, style))

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the case stands."""
        return self.path, self.case.line - 1, self.name
