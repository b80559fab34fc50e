"""What is wrong with a RACED text is said with a code, a place and a suggestion, all at once."""

from __future__ import annotations

import pytest

from tyrex.raced import examine_raced
from tyrex.tesla import Diagnostic, Source


def examine(text: str) -> list[Diagnostic]:
    return examine_raced(Source(text, "rules.raced"))[1]


def define(pattern: str, head: str = "E") -> str:
    return f"DefineEvent({head}, {pattern})"


@pytest.mark.parametrize(
    ("text", "code", "place", "suggestion"),
    [
        # Reading the text
        (define("(A AND B)"), "RCD001", "(", "RACED groups nothing: a pattern is a single conjunction"),
        (define("NOT (A AND B)"), "RCD001", "(", "`NOT` stands before a single filter"),
        (define("A OR B"), "RCD001", "OR", "RACED has no OR"),
        (define("A[x IN (1, 2)]"), "RCD001", "IN", "RACED has no IN"),
        (define("A[x + 1 > 2]"), "RCD001", "+", "RACED has no arithmetic"),
        (define("A(x = 1)"), "RCD001", "(", "RACED writes `Temp[Value > 30]`"),
        (define("A[x: 1]"), "RCD001", ":", "a filter compares, as in `Value = 20`"),
        (define('A[x = "y]'), "RCD001", '"y])', 'close the text with " on the same line'),
        (define("A[x = “y”]"), "RCD001", "“", "use plain quotes"),
        (define("A[x = $]"), "RCD001", "$", "a parameter is `$` and a name"),
        (define("A WITHIN"), "RCD001", ")", "write a number and a unit, as in `5 min`"),
        (define("A WITHIN 5"), "RCD001", "5", "write a number and a unit, as in `5 min`"),
        (define("A WITHIN 'x"), "RCD001", "'x)", "close the text with ' on the same line"),
        (define("A") + " WITHIN 5 min", "RCD001", "WITHIN", "move the window inside the parentheses"),
        (define("A AND"), "RCD001", ")", "write a filter"),
        (define("A", "E[x]"), "RCD001", "]", "give each attribute after a `:`"),
        (define("A", "E[x: A.y]"), "RCD001", "A", "write a parameter or a literal"),
        ("DefineEvent E, A", "RCD001", "E", "write `(` before `E`"),
        ("DefineEvnt(E, A)", "RCD001", "DefineEvnt", "did you mean `DefineEvent`?"),
        ("A[x = 1] AND B", "RCD001", "A", "give the pattern a name"),
        (define("A") + " }", "RCD001", "}", "begin the next definition with `DefineEvent(`"),
        (define("A[x = 1]]"), "RCD001", "]", "remove `]`"),
        ("DefineEvent(E, A", "RCD001", "A", "close the parenthesis with `)`"),
        ("DefineEvent(E, A[x = 1", "RCD001", "1", "close the bracket with `]`"),
        ("DefineEvent(E, A WITHIN", "RCD001", "N", "give the window a length"),
        ("DefineEvent(E,", "RCD001", ",", "write the rest"),
        # Durations and numbers
        (define("A WITHIN 1.5 us"), "RCD002", "1.5 us", "use a smaller unit"),
        (define("A WITHIN 99999999999 weeks"), "RCD002", "99999999999 weeks", "at most"),
        (define("A[x = 9223372036854775808]"), "RCD005", "9223372036854775808", "write it as a float"),
        (define("A[x = -9223372036854775809]"), "RCD005", "9223372036854775809", "write it as a float"),
        (define("A[x = 1e999]"), "RCD005", "1e999", "use a smaller number"),
        # The pattern
        (define("NOT A AND NOT B"), "RCD003", "NOT A", "add the message whose arrival is the moment"),
        (define("A", "E[x: $X]"), "RCD004", "$X", "write `= $X` behind its attribute"),
        (define("A[y > $X]"), "RCD004", "$X", "write `= $X` behind its attribute"),
        (define("A AND NOT B[y = $X]"), "RCD004", "$X", "write `= $X` behind its attribute"),
        (define("A[x = $Area]", "E[x: $Aera]"), "RCD004", "$Aera", "did you mean `$Area`?"),
        (define("A[1 = 2]"), "RCD008", "1 = 2", "compare an attribute with a value"),
        (define("A", "E[x: 1, x: 2]"), "RCD009", "x: 2", "leave one of them out"),
        ("Advertise(A[x: int, x: int])", "RCD009", "x: int", "leave one of them out"),
        # Operations and names
        ("Subscribe(E)", "RCD006", "Subscribe", "a rule file defines events"),
        ("publish (A[x: 1])", "RCD006", "publish", "a rule file defines events"),
        (define("A", "define"), "RCD007", "define", "choose another name, such as `define_`"),
        (define("Each"), "RCD007", "Each", "choose another name"),
        (define("A[from = 1]"), "RCD007", "from", "choose another name"),
        (define("A", "E[where: 1]"), "RCD007", "where", "choose another name"),
        ("Advertise(A[in: int])", "RCD007", "in", "choose another name"),
        (define("Timer"), "RCD007", "Timer", "choose another name"),
        (define("A", "Timer"), "RCD007", "Timer", "choose another name"),
        (define("A AND NOT Count"), "RCD007", "Count", "choose another name"),
    ],
)
def test_a_mistake_is_reported_at_its_place(text: str, code: str, place: str, suggestion: str) -> None:
    """One mistake is one finding, which names what is wrong, and what to do."""
    (found,) = examine(text)
    assert found.code == code
    assert text[found.span.start : found.span.end] == place
    assert found.suggestion is not None
    assert suggestion in found.suggestion


def test_an_unfinished_text_is_called_one() -> None:
    """It is not the rest of the line that was found, but a text without its end."""
    (found,) = examine(define('A[x = "y]'))
    assert found.found == "an unfinished text"
    assert found.expected == "a name, a parameter, a number, a text"


def test_every_mistake_of_a_file_is_reported_in_the_order_of_the_text() -> None:
    """A piece that can't be read hides none of the others, nor the checks of what can be read."""
    text = "\n".join(
        [
            define("NOT A"),
            define("A OR B"),
            "Subscribe(E)",
            define("A[1 = 2] AND B[from = 3]", "F[x: $X, x: 1]"),
            define("A", "G"),
            define("A WITHIN 0.1 us", "H"),
        ]
    )
    found = [(d.line, d.code) for d in examine(text)]
    assert found == [
        (1, "RCD003"),
        (2, "RCD001"),
        (3, "RCD006"),
        (4, "RCD004"),
        (4, "RCD009"),
        (4, "RCD008"),
        (4, "RCD007"),
        (6, "RCD002"),
    ]


def test_a_parameter_without_a_value_is_reported_once() -> None:
    """However often it is used."""
    assert [d.code for d in examine(define("A[x > $X] AND B[y < $X]", "E[a: $X, b: $X]"))] == ["RCD004"]


def test_a_line_number_counts_comments_and_blank_lines() -> None:
    """A place is one of the file as it is, not of the piece that was parsed."""
    (found,) = examine("-- first\n\nDefineEvent(E, A)\n\n  DefineEvent(F, A OR B)\n")
    assert (found.line, found.column) == (5, 20)


def test_a_diagnostic_is_readable() -> None:
    """It shows the line, a caret below the place, what was expected, what was found, and what to do."""
    (found,) = examine(define("A OR B"))
    assert found.render() == (
        "error[RCD001]: `OR` can't stand here\n"
        " --> rules.raced:1:18\n"
        "  |\n"
        "1 | DefineEvent(E, A OR B)\n"
        "  |                  ^^\n"
        "  = expected: `AND`, `WITHIN`, `[`, `)`\n"
        "  = found: `OR`\n"
        "  = help: RACED has no OR: define the event once for each alternative"
    )


@pytest.mark.parametrize(
    "text",
    [
        define("A[x = -9223372036854775808]"),
        define("A[x = 9223372036854775807]"),
        define("A[x = 0.1]"),
        define("Count AND Avg"),
        define("A[event = 1 AND rule = 2]"),
        define("Subscribe AND Publish"),
    ],
)
def test_what_only_looks_wrong_is_accepted(text: str) -> None:
    """The ends of the number range, and words that are names where nothing else can stand."""
    assert examine(text) == []
