"""Every rule printed in the papers is read, checked, planned and drawn."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

import tyrex
from tyrex.plan import draw
from tyrex.rules import load

PAPERS = sorted(Path("examples/papers").glob("*.*"))


@pytest.mark.parametrize("path", PAPERS, ids=lambda path: path.name)
@pytest.mark.parametrize("format", ["text", "mermaid", "dot", "svg", "json"])
def test_every_rule_of_the_papers_is_checked_and_explained(path: Path, format: str) -> None:
    """A rule of the papers passes every check and has a picture in every format."""
    rules = load(path)
    assert len(rules) >= 2
    picture = draw(rules.plan, format)  # type: ignore[arg-type]  # one of the formats above
    assert all(rule.defines.name in picture for rule in rules)
    if format == "svg":
        ElementTree.fromstring(picture)


def test_a_rule_shows_itself_as_a_picture_in_a_notebook() -> None:
    """A Rule offers SVG and text to a notebook."""
    (rule,) = tyrex.parse("define Hot() from Temp(value > 45)")
    bundle = rule._repr_mimebundle_()
    assert bundle["image/svg+xml"].startswith("<svg")
    assert bundle["text/plain"] == "define Hot() from Temp(value > 45)"


def test_the_misprint_in_the_tesla_paper_is_reported_with_what_was_meant() -> None:
    """HighVal names an event `S` that the paper never introduces."""
    with pytest.raises(tyrex.TeslaError) as caught:
        tyrex.parse("""
            define HighVal(Name, Val)
            from   Stock(Name = $y, Val = $x) and last Opening() within 1day from Stock and
                   $x > Avg(Stock(Name = $y).Val) between Opening and Stock
            where  Val = S.Val, Name = S.Name
        """)
    assert [d.code for d in caught.value.diagnostics] == ["TSL019", "TSL019"]
