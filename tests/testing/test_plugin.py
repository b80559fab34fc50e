"""The pytest plugin: a user's own `*.tesla.md` files are tests."""

from __future__ import annotations

import pytest

from tyrex.testing.runtimes import RUNTIMES

PAGE = """\
# Copies

```tesla
event A(v: int)
define B(v: int) from A(v > 1) where v = A.v
```

## A large value is copied

```events
A@1(1) A@2(2)
```
```expect
B@2({expected})
```

## A misspelt attribute is rejected

```tesla
event A(v: int)
define B() from A(w > 1)
```
```diagnostics
TSL013
```
"""


# Another plugin warns where this is not set.
QUIET = ["-p", "no:cacheprovider", "-o", "asyncio_default_fixture_loop_scope=function"]


ON_REFERENCE = ("--tyrex-on", "reference")


def run(pytester: pytest.Pytester, page: str, *arguments: str) -> pytest.RunResult:
    (pytester.path / "rules").mkdir()
    (pytester.path / "rules" / "copies.tesla.md").write_text(page, "utf-8")
    return pytester.runpytest_inprocess(*QUIET, *arguments)


def test_cases_that_hold_pass(pytester: pytest.Pytester) -> None:
    """Each has its heading and its runtime as a name; there is nothing to set up."""
    result = run(pytester, PAGE.format(expected=2), "-v", *ON_REFERENCE)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "*rules/copies.tesla.md::A large value is copied [[]reference[]] PASSED*",
            "*rules/copies.tesla.md::A misspelt attribute is rejected [[]check[]] PASSED*",
        ]
    )


def test_a_case_that_does_not_hold_fails_with_the_difference(pytester: pytest.Pytester) -> None:
    """The place in the page, what was expected and what was found; no traceback."""
    result = run(pytester, PAGE.format(expected=3), *ON_REFERENCE)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*copies.tesla.md:8: composite events differ",
            "  expected:",
            "    B@2(v=3)",
            "  found:",
            "    B@2(v=2)",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*fixtures.py*")
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_rules_that_are_wrong_fail_with_their_diagnostics(pytester: pytest.Pytester) -> None:
    """The place is one of the page, so that an editor can go there."""
    result = run(pytester, PAGE.format(expected=2).replace("A(v > 1)", "A(x > 1)"), *ON_REFERENCE)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["*copies.tesla.md:8: error[[]TSL013[]]: `A` has no attribute `x`", " --> copies.tesla.md:5:25"]
    )
    result.stdout.no_fnmatch_line("*fixtures.py*")


def test_events_that_are_wrong_fail_with_what_was_expected(pytester: pytest.Pytester) -> None:
    """A mistake in the history is no empty history."""
    result = run(pytester, PAGE.format(expected=2).replace("A@2(2)", "A@2(w=2)"), *ON_REFERENCE)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["*copies.tesla.md:8: line 1: expected an attribute of A(v: int), found `w=2)`"]
    )


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("```expect\n", "```expected\n", "*copies.tesla.md:8: `A large value is copied` has no block expect"),
        (
            "```diagnostics\nTSL013\n```",
            "```diagnostics\nTSL013",
            "*copies.tesla.md:23: this block is not closed*",
        ),
    ],
)
def test_a_malformed_page_is_an_error_with_its_line(
    pytester: pytest.Pytester, before: str, after: str, problem: str
) -> None:
    """Not a page without tests; and no traceback."""
    result = run(pytester, PAGE.format(expected=2).replace(before, after))
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([problem])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*fixtures.py*")


def test_a_runtime_can_be_chosen(pytester: pytest.Pytester) -> None:
    """Cases about diagnostics need none and run anyway; naming it twice is naming it once."""
    run(pytester, PAGE.format(expected=2), *ON_REFERENCE, *ON_REFERENCE).assert_outcomes(passed=2)


def test_a_case_runs_on_every_runtime_unless_one_is_chosen(pytester: pytest.Pytester) -> None:
    """One rule text, one meaning: it is to hold wherever it runs."""
    run(pytester, PAGE.format(expected=2)).assert_outcomes(passed=len(RUNTIMES) + 1)


def test_an_unknown_runtime_is_a_usage_error(pytester: pytest.Pytester) -> None:
    """It names those that are there, and nothing runs."""
    result = run(pytester, PAGE.format(expected=2), "--tyrex-on", "moon")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--tyrex-on: no runtime `moon`; there is reference, process, threads"])


def test_a_case_can_be_selected_by_its_name(pytester: pytest.Pytester) -> None:
    """As any test can."""
    run(pytester, PAGE.format(expected=3), "-k", "misspelt").assert_outcomes(passed=1, deselected=3)


def test_other_pages_are_not_collected(pytester: pytest.Pytester) -> None:
    """Only `*.tesla.md` is a fixture."""
    pytester.makefile(".md", notes=PAGE.format(expected=3))
    assert pytester.runpytest_inprocess(*QUIET).ret == pytest.ExitCode.NO_TESTS_COLLECTED
