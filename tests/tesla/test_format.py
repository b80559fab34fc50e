import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tesla.syntax_strategies import expressions, files, rules
from tyrex.tesla import syntax as s
from tyrex.tesla.diagnostics import TeslaError
from tyrex.tesla.format import format_expression, format_file, format_literal, format_rule, format_tree
from tyrex.tesla.parser import parse_file
from tyrex.tesla.source import Source

CANONICAL = """\
event Temp(area: string, value: float)
event Smoke(area: string)

-- a comment stays where it was
Rule R1
define Fire(area: string, measuredTemp: float)
from   Smoke(area = $a) and
       each Temp(area = $a and value > 45) within 5 min from Smoke and
       not Rain(area = $a) between Temp and Smoke
where  area = Smoke.area, measuredTemp = Temp.value
consuming Temp
"""


def formatted(text: str) -> str:
    return format_file(Source(text))


def read(text: str) -> s.File:
    file, diagnostics = parse_file(Source(text))
    assert not diagnostics, diagnostics[0].render()
    return file


def in_argument(expression: str) -> str:
    """An expression as it comes back from an event's parentheses."""
    return formatted(f"define A() from B({expression})").removeprefix("define A()\nfrom   B(").removesuffix(")\n")


def in_conjunct(expression: str) -> str:
    """An expression as it comes back from a conjunct of its own."""
    text = formatted(f"define A() from B() and {expression}")
    return text.removeprefix("define A()\nfrom   B() and\n").strip()


# --- Layout ----------------------------------------------------------------------------------------------------


def test_the_canonical_layout_stays_as_it_is() -> None:
    """A text that is laid out already is not changed."""
    assert formatted(CANONICAL) == CANONICAL


def test_a_rule_on_one_line_is_laid_out() -> None:
    """However a rule is spread over lines, the layout is the same."""
    lines = CANONICAL.splitlines()
    joined = "\n".join([*lines[:4], " ".join(lines[4:]).lower().replace("rule r1", "RULE R1")])
    for word in ("Temp", "Smoke", "Rain", "Fire", "measuredTemp"):
        joined = re.sub(rf"\b{word}\b", word, joined, flags=re.IGNORECASE)
    assert formatted(joined.replace("from ", "FROM\r\n\t").replace(" and", "  AND ")) == CANONICAL


def test_declarations_stand_together_unless_the_author_set_them_apart() -> None:
    """One blank line between declarations is kept, several become one, none stays none."""
    text = "event A()  event B()\n\n\n\nevent C()\nevent D()"
    assert formatted(text) == "event A()\nevent B()\n\nevent C()\nevent D()\n"


def test_rules_are_set_apart_by_one_blank_line() -> None:
    """Between a rule and anything else there is exactly one blank line."""
    text = "event B()\ndefine A() from B()\ndefine C() from B()\n\n\n\nevent D()"
    assert formatted(text) == (
        "event B()\n\ndefine A()\nfrom   B()\n\ndefine C()\nfrom   B()\n\nevent D()\n"
    )


def test_assignments_take_one_line_each_if_they_are_too_long_for_one() -> None:
    """At 110 columns assignments stand on one line; at 111 they stand below each other."""
    rest = "where  first = 1, second = "
    fits = "x" * (110 - len(rest))
    assert f"{rest}{fits}\n" in formatted(f"define A() from B() where first = 1, second = {fits}")
    assert f"where  first = 1,\n       second = {fits}x\n" in formatted(
        f"define A() from B() where first = 1 and second = {fits}x"
    )


def test_type_words_are_kept_as_written() -> None:
    """The synonyms of a type are the author's choice."""
    text = "event A(x: double, y: long, z)\n"
    assert formatted(text) == text


def test_an_interval_of_an_aggregate_goes_behind_it() -> None:
    """Both places of the interval mean the same, so there is one layout."""
    expected = "Avg(Temp(area = $a).value) within 5 min from B > 45"
    assert in_conjunct("Avg(Temp(area=$a).value within 5min from B) > 45") == expected
    assert in_conjunct("Count(Temp between B and C) > 4") == "Count(Temp()) between B and C > 4"


def test_a_deadline_and_a_selection_print_as_they_are_read() -> None:
    """The parts of a pattern that begin with a number keep it."""
    text = "define A()\nfrom   3 days after B() as O and\n       2-last C() within 90 s from O and\n       C within 1 h from O\n"
    assert formatted(text.replace("3 days", "72 HOURS.").replace("2-last", "2 - LAST")) == text


def test_an_empty_file_stays_empty() -> None:
    """Without items and comments nothing is printed."""
    assert formatted(" \n\n ") == ""


def test_a_text_that_cannot_be_read_is_refused_with_all_its_errors() -> None:
    """Every piece that can't be read has its diagnostic."""
    with pytest.raises(TeslaError) as caught:
        formatted("define A( from B()\ndefine C() from D()\nevent E(x: )")
    assert len(caught.value.diagnostics) == 2


def test_a_text_that_is_nested_too_deeply_is_refused() -> None:
    """A tree deeper than the stack is an error with a code, not a crash."""
    with pytest.raises(TeslaError) as caught:
        formatted("define A() from B(" + "-(" * 5000 + "x" + ")" * 5000 + ")")
    assert caught.value.diagnostics[0].code == "TSL007"


def test_a_long_chain_is_no_deep_nesting() -> None:
    """Thousands of conditions in one filter are laid out."""
    chain = " and ".join(f"x != {n}" for n in range(5000))
    assert in_argument(chain) == chain


# --- Expressions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("((a)+(b))*c", "(a + b) * c"),
        ("a-(b-c)", "a - (b - c)"),
        ("(a-b)-c", "a - b - c"),
        ("a/(b*c)%d", "a / (b * c) % d"),
        ("(a and b) or (c and (d or e))", "a and b or c and (d or e)"),
        ("a and (b and c)", "a and (b and c)"),
        ("(a < b) = (c < d)", "(a < b) = (c < d)"),
        ("1 < a == b <> 3", "1 < a = b != 3"),
        ("not (a and b)", "not (a and b)"),
        ("not (not a = b)", "not not a = b"),
        ("not x in (1,2)", "x not in (1, 2)"),
        ("(not x) in (1, (2 > 1))", "(not x) in (1, (2 > 1))"),
        ("a - -5", "a - -5"),
        ("-(-5)", "-(-5)"),
        ("-(-a)", "-(-a)"),
        ("-(a*b)", "-(a * b)"),
        ("- 0", "-0"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("'it''s'" if False else "'a\"b'", "'a\"b'"),
        ("'plain'", '"plain"'),
        (r'"a\"b\'c\\"', r'''"a\"b'c\\"'''),
        ("1.50e+300", "1.5e300"),
        ("120 sec. > x", "2 min > x"),
        ("if(a or b,1,2)", "if(a or b, 1, 2)"),
    ],
)
def test_an_expression_has_as_few_parentheses_as_it_needs(written: str, expected: str) -> None:
    """Parentheses stand only where the tree would be another one without them."""
    assert in_argument(written) == expected


def test_alternatives_in_a_conjunct_or_an_assignment_keep_their_parentheses() -> None:
    """`and`, `or` and comparisons end a conjunct or an assignment unless they stand in parentheses."""
    assert in_conjunct("((B.x > 1) or (B.y))") == "(B.x > 1 or B.y)"
    assert formatted("define A() from B() where x = (B.y > 1), z = ((2))").endswith("where  x = (B.y > 1), z = 2\n")


@pytest.mark.parametrize("written", ["(first.x > 1)", "(Last > 1)", "(5 - first.x > 1)", "(5 - Last(T().x) > 1)"])
def test_what_looks_like_a_selection_keeps_its_parentheses(written: str) -> None:
    """A conjunct that begins with `first` or `last` would be read as an event that is selected."""
    assert in_conjunct(written) == written


def test_invisible_characters_are_escaped() -> None:
    """A text literal never breaks a line and can always be encoded."""
    literal = format_literal("a\nb\u2028\x07\ud800\\")
    assert literal == r'"a\nb\u2028\u0007\ud800\\"'
    assert "😀é" in format_literal("😀é")


def test_an_infinite_number_cannot_be_printed() -> None:
    """What TESLA can't say is refused instead of printed wrongly."""
    with pytest.raises(ValueError, match="no literal for inf"):
        format_literal(float("inf"))


@given(expressions)
def test_an_expression_reads_back_as_it_was(expression: s.Expression) -> None:
    """Printing an expression and reading it in an event's parentheses gives the same tree."""
    (rule,) = read(f"define A() from B({format_expression(expression)})").items
    assert isinstance(rule, s.Rule)
    assert rule.terminator.event.arguments == (expression,)


@given(rules)
def test_a_rule_reads_back_as_it_was(rule: s.Rule) -> None:
    """Printing a rule and reading it gives the same tree."""
    assert read(format_rule(rule)).items == (rule,)


@given(files)
def test_a_file_reads_back_as_it_was(file: s.File) -> None:
    """Printing a tree that was built by program and reading it gives the same tree, and its layout is stable."""
    text = format_tree(file)
    assert read(text) == file
    assert formatted(text) == text


# --- Comments --------------------------------------------------------------------------------------------------


def test_comments_stay_with_their_lines() -> None:
    """A comment on its own line stays above the line below it, one at the end stays at the end."""
    text = """\
-- what this file is about

-- temperatures
event Temp(value: float)  -- in degrees
// about the rule
Rule R1
define Fire(x, y)  -- made here
-- above from
from   Smoke() and  -- the terminator
       -- above the event
       each Temp(value > 45) within 5 min from Smoke  -- the event
where  x = 1,  -- one
       -- above two
       y = 2  -- two
-- above consuming
consuming Temp  -- it is gone

-- at the end
"""
    laid_out = formatted(text)
    assert laid_out == text.replace("// about", "\n// about")
    assert formatted(laid_out) == laid_out


def test_of_two_comments_for_the_end_of_a_line_the_last_one_gets_it() -> None:
    """A line that was spread over several has its other comments above it, in their order."""
    text = "define A()\nfrom B(x = 1 -- one\n  and y = 2 -- two\n  -- three\n  and z = 3) -- four\n"
    assert formatted(text) == (
        "define A()\n-- one\n-- two\n-- three\nfrom   B(x = 1 and y = 2 and z = 3)  -- four\n"
    )


def test_a_comment_before_an_and_leads_to_the_conjunct_behind_it() -> None:
    """Authors who begin lines with `and` put comments above it."""
    text = "define A()\nfrom B()\n -- about C\n and -- more\n each C() within 1 h from B -- C"
    assert formatted(text) == (
        "define A()\nfrom   B() and\n       -- about C\n       -- more\n       each C() within 1 h from B  -- C\n"
    )


def test_a_comment_about_the_rule_above_stays_with_it() -> None:
    """The blank line between rules stays where the author put it among the comments."""
    text = "define A()\nfrom   B()\n-- about A\n\n-- about C\ndefine C()\nfrom   B()\n"
    assert formatted(text) == text


def test_what_looks_like_a_comment_in_a_text_is_none() -> None:
    """Comment marks inside quotes are part of the text."""
    text = 'define A()\nfrom   B(x = "-- no" and y = "// no")  -- yes\n'
    assert formatted(text) == text


def test_without_the_text_comments_go_before_their_items() -> None:
    """A tree alone keeps its comments too, though no longer at their lines."""
    file = read("-- one\nevent A() -- two\n\ndefine C() from A( -- three\n)\n-- four")
    assert format_tree(file) == "-- one\nevent A()\n\n-- two\n-- three\ndefine C()\nfrom   A()\n-- four\n"


# What a comment can't stand inside: the language reads each of these as one word.
_TOKENS = re.compile(
    r"""
      (?i:rule)\s+\w+\s+define\b | \bevent\s+\w+\s*\( | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*' | \$\w+
    | \d+-(?:first|last)\b | \d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?:\s(?:us|ms|s|min|h|days?|weeks?)\b)?
    | \w+\s*\( | \w+ | [<>!]=|.
    """,
    re.VERBOSE,
)


def sprinkled(text: str, random: Random) -> tuple[str, list[str]]:
    """The text with comments at the borders of some of its words and lines broken at will; and these comments."""
    result: list[str] = []
    comments: list[str] = []
    for found in _TOKENS.finditer(text):
        if found[0].isspace():
            continue
        result.append(found[0])
        result.append(random.choice([" ", " ", " ", "\n", "\n\n\n"]))
        for _ in range(random.choice([0, 0, 0, 0, 1, 1, 2])):
            comments.append(f"{random.choice(['--', '//'])} c{len(comments)} 'and' -- \"(")
            result.append(comments[-1] + random.choice(["\n", "\n  ", "\r\n", "\n\n"]))
    return "".join(result), comments


@settings(max_examples=300)
@given(files, st.randoms(use_true_random=False))
def test_comments_anywhere_are_kept_in_order_and_the_layout_is_stable(file: s.File, random: Random) -> None:
    """Wherever comments stand, none is lost, none overtakes another, and a second layout changes nothing."""
    text, comments = sprinkled(format_tree(file), random)
    assert read(text) == file
    laid_out = formatted(text)
    again = read(laid_out)
    assert again == file
    assert [comment.text for comment in again.comments] == comments
    assert formatted(laid_out) == laid_out
