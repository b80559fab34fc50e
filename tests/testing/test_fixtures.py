"""Fixture files: which cases a page holds, when they hold, and what is said when they do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tyrex.testing import RUNTIMES, Case, FixtureError, read_fixture

RULES = """\
```tesla
event A(v: int)
define B(v: int) from A(v > 1) where v = A.v
```
"""
EVENTS = "```events\nA@1(1) A@2(2)\n```\n"
EXPECT = "```expect\nB@2(2)\n```\n"


def cases(tmp_path: Path, text: str) -> list[Case]:
    path = tmp_path / "page.tesla.md"
    path.write_text(text, "utf-8")
    return read_fixture(path)


def check(tmp_path: Path, text: str) -> None:
    for case in cases(tmp_path, text):
        case.check(RUNTIMES["reference"])


def complaint(tmp_path: Path, text: str) -> str:
    with pytest.raises(FixtureError) as caught:
        check(tmp_path, text)
    return str(caught.value)


def test_each_second_heading_is_a_case(tmp_path: Path) -> None:
    """Blocks before the first one serve all cases that have none of their kind."""
    text = f"# Title\n{RULES}\n{EVENTS}\n## One\n{EXPECT}\n## Two\n```events\nA@5(7)\n```\n```expect\nB@5(7)\n```\n"
    one, two = cases(tmp_path, text)
    assert (one.name, one.line, two.name, two.line) == ("One", 11, "Two", 16)
    assert one.blocks["tesla"] == two.blocks["tesla"]
    assert one.blocks["events"] != two.blocks["events"]
    check(tmp_path, text)


@pytest.mark.parametrize(("title", "name"), [("# Title\n", "Title"), ("", "page")])
def test_a_page_without_second_headings_is_one_case(tmp_path: Path, title: str, name: str) -> None:
    """Its name is the title, or else that of the file."""
    (case,) = cases(tmp_path, title + RULES + EVENTS + EXPECT)
    assert case.name == name
    check(tmp_path, title + RULES + EVENTS + EXPECT)


def test_what_is_for_the_reader_is_left_alone(tmp_path: Path) -> None:
    """Blocks of other languages, blocks in a longer fence, and headings inside of blocks."""
    text = f"""\
# Title
```python
## no case
```
````markdown
```tesla
no rules
```
## no case either
````
~~~
```expect
~~~
### a smaller heading
{RULES}{EVENTS}{EXPECT}"""
    (case,) = cases(tmp_path, text)
    assert case.name == "Title"
    check(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("# T\n" + RULES + EVENTS, "page.tesla.md:1: `T` has no block expect"),
        ("# T\n" + EVENTS, "page.tesla.md:1: `T` has no block expect, tesla"),
        ("## T\n```diagnostics\nTSL001\n```\n", "page.tesla.md:1: `T` has no block tesla"),
        (RULES + RULES + EVENTS + EXPECT, "page.tesla.md:5: a second `tesla` block in one case"),
        (RULES + EVENTS + "```expect\nB@2(2)\n", "page.tesla.md:8: this block is not closed"),
        (RULES + EXPECT + "```events late=1s\n```\n", "unknown option `late=1s` of `events`; known: delay"),
        (
            RULES + EVENTS + "```expect now\n```\n",
            "unknown option `now` of `expect`; known: open, until, zone",
        ),
        ("```tesla x=1\n```\n" + EVENTS + EXPECT, "unknown option `x=1` of `tesla`; known: none"),
    ],
)
def test_a_malformed_page_is_refused_with_its_line(tmp_path: Path, text: str, problem: str) -> None:
    """A case that can't be read must not look like one that holds."""
    assert problem in complaint(tmp_path, text)


def test_a_page_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    """With the file and what to do."""
    path = tmp_path / "latin.tesla.md"
    path.write_bytes(b"# Gr\xf6\xdfe")
    with pytest.raises(FixtureError, match=r"latin\.tesla\.md: not UTF-8 text \(byte 4\); save it as UTF-8"):
        read_fixture(path)


@pytest.mark.parametrize("expected", ["", "B@2(3)", "B@3(2)", "B@2(2) B@2(2)", "C@2(v=2)", "B@2()"])
def test_other_composite_events_than_expected_are_a_failure(tmp_path: Path, expected: str) -> None:
    """Too few, too many, or different ones; both lists are shown."""
    said = complaint(tmp_path, RULES + EVENTS + f"```expect\n{expected}\n```\n")
    assert said.startswith("composite events differ\n  expected:\n    ")
    assert said.endswith("  found:\n    B@2(v=2)")
    assert ("    nothing\n" in said) == (expected == "")


def test_the_order_of_expected_events_counts(tmp_path: Path) -> None:
    """What is simultaneous has an order, too."""
    text = RULES + "```events\nA@1(2) A@1(3)\n```\n"
    check(tmp_path, text + "```expect\nB@1(2) B@1(3)\n```\n")
    assert "differ" in complaint(tmp_path, text + "```expect\nB@1(3) B@1(2)\n```\n")


def test_late_events_have_to_be_expected(tmp_path: Path) -> None:
    """Nothing is dropped silently, in a test neither."""
    text = RULES + "```events delay=1s\nA@5(5) A@2(2) A@4(4)\n```\n```expect\nB@4(4) B@5(5)\n```\n"
    assert complaint(tmp_path, text) == "unexpected late events: A@2(v=2)"
    check(tmp_path, text + "```late\nA@2(2)\n```\n")
    assert complaint(tmp_path, text + "```late\n```\n").startswith("late events differ")


DEADLINE = (
    "```tesla\nevent A(v: int)\ndefine B() from 1 h after A()\n```\n```events\nA@0(0) A@30min(1)\n```\n"
)


def test_the_end_of_time_and_open_deadlines_are_options(tmp_path: Path) -> None:
    """`until` takes a duration, seconds or a date; `open` counts what is still to come."""
    for until in ("1h", "3600", "1970-01-01T01:00:00Z"):
        check(tmp_path, DEADLINE + f"```expect until={until} open=1\nB@1h\n```\n")
    assert complaint(tmp_path, DEADLINE + "```expect open=1\n```\n") == "expected 1 open deadlines, found 2"


def test_the_time_zone_is_an_option(tmp_path: Path) -> None:
    """Nine in Rome is eight in UTC."""
    rules = "```tesla\nevent A(v: int)\ndefine Nine() from Timer(H = 9)\n```\n```events\nA@0()\n```\n"
    check(tmp_path, rules + "```expect zone=Europe/Rome until=12h\nNine@8h\n```\n")
    check(tmp_path, rules + "```expect until=12h\nNine@9h\n```\n")


@pytest.mark.parametrize(
    ("blocks", "problem"),
    [
        ("```expect open=some\n```\n", "`open` is a number of deadlines, not `some`"),
        ("```expect until=soon\n```\n", "a timestamp as text must be a date and time"),
        ("```expect zone=Mars\n```\n", "there is no time zone `Mars`: write it as `Europe/Rome` or `UTC`"),
    ],
)
def test_a_wrong_value_of_an_option_is_refused(tmp_path: Path, blocks: str, problem: str) -> None:
    """In words, not with a traceback."""
    assert complaint(tmp_path, DEADLINE + blocks).startswith(problem)


def test_a_wrong_delay_is_refused(tmp_path: Path) -> None:
    """As a duration is anywhere."""
    said = complaint(tmp_path, RULES + EVENTS.replace("events", "events delay=5") + EXPECT)
    assert said == "`5` is not a duration: write a number and a unit, as in `5 min`"


WRONG = "# T\n```tesla\nevent A(v: int)\ndefine B() from A(w = 1)\ndefine C() from D()\n```\n"


@pytest.mark.parametrize("codes", ["TSL013 TSL010", "TSL013\nTSL010", "TSL013@2 TSL010@3"])
def test_a_case_can_be_about_how_rules_are_rejected(tmp_path: Path, codes: str) -> None:
    """All codes, in the order of the text, with or without the line of the block."""
    check(tmp_path, WRONG + f"```diagnostics\n{codes}\n```\n")


@pytest.mark.parametrize("codes", ["TSL013", "TSL010 TSL013", "TSL013@1 TSL010@3", "TSL999 TSL010", ""])
def test_other_codes_than_expected_are_a_failure(tmp_path: Path, codes: str) -> None:
    """Both lists are shown, and the diagnostics with their places in the page."""
    said = complaint(tmp_path, WRONG + f"```diagnostics\n{codes}\n```\n")
    found = "TSL013@2 TSL010@3" if "@" in codes else "TSL013 TSL010"
    assert said.startswith(f"expected {codes or 'no code'}, found {found}\n")
    assert "--> page.tesla.md:4:19" in said


def test_rules_that_are_accepted_are_a_failure_where_codes_are_expected(tmp_path: Path) -> None:
    """The case is about a mistake that is not there."""
    said = complaint(tmp_path, RULES + "```diagnostics\nTSL013\n```\n")
    assert said == "expected TSL013, but the rules are accepted"
