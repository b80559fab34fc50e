"""Nothing an editor can send makes the features fail."""

import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tyrex.editor.completion import complete
from tyrex.editor.definition import definition
from tyrex.editor.hover import hover
from tyrex.editor.positions import Positions
from tyrex.editor.symbols import symbols
from tyrex.tesla import Source, examine_sources

RULES = [path.read_text("utf-8") for path in sorted((Path(__file__).parent / "rules").glob("*.tesla"))]
WORDS = re.findall(
    r"\S+",
    "define from where consuming event rule each last first 3-last not and or in as within between after "
    'Timer A B x $x $ . , ( ) : = < 5 5min 1.5 "s" \' " -- Avg Count First lower if int D Friday é 🔥',
)

shuffled = st.lists(st.sampled_from([*WORDS, "\n"]), max_size=40).map(" ".join)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A good rule with a stretch cut out, and something else in its place."""
    text = draw(st.sampled_from(RULES))
    start = draw(st.integers(0, len(text)))
    end = draw(st.integers(start, len(text)))
    return text[:start] + draw(st.one_of(st.just(""), shuffled)) + text[end:]


texts = st.one_of(st.text(), shuffled, damaged())


@settings(deadline=None)  # the first text makes the parser
@given(texts, st.integers(-5, 1000))
def test_every_feature_answers_for_any_text(text: str, offset: int) -> None:
    """Any text and any offset get an answer, and its spans lie in the text."""
    for proposal in complete(text, offset):
        assert 0 <= proposal.span.start <= proposal.span.end <= len(text)
    found = hover(text, offset)
    assert found is None or text[found.span.start : found.span.end]
    place = definition(text, offset)
    assert place is None or text[place.start : place.end]
    symbols(text)


@settings(deadline=None)  # the first text makes the parser
@given(texts)
def test_the_checks_answer_for_any_text(text: str) -> None:
    """What the diagnostics point at lies in the text."""
    for found in examine_sources([Source(text)])[1]:
        assert 0 <= found.span.start <= found.span.end <= len(text)


@given(st.text(), st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_positions_and_offsets_are_the_same_places(text: str, encoding: str) -> None:
    """Every offset comes back, but for the middle of a line end, which is no place."""
    positions = Positions(text, encoding)
    for offset in range(len(text) + 1):
        if text[offset - 1 : offset + 1] != "\r\n":
            assert positions.offset(*positions.position(offset)) == offset


def test_a_character_outside_the_basic_plane_counts_two_units() -> None:
    """Positions are counted in UTF-16, as the protocol says."""
    positions = Positions("a🔥b\r\n🔥c")
    assert positions.position(2) == (0, 3)
    assert positions.position(6) == (1, 2)
    assert positions.offset(1, 2) == 6
    assert positions.offset(0, 2) == 1  # in the middle of the fire
    assert positions.offset(9, 9) == 7
