"""Wrong rule files, made from good ones: a generator with a seed."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

_TOKEN = re.compile(r"--[^\n]*|\"[^\"]*\"|\$?\w+|[<>=!]=|\S")
_JUNK = [
    "define",
    "from",
    "within",
    "(",
    ")",
    "and",
    "==",
    "$",
    "5 min",
    "?",
    "between",
    '"',
    ".",
    "each",
    "§",
    "not",
]


def good_texts() -> list[str]:
    """Good rule texts: the papers' and the example's."""
    return [p.read_text("utf-8") for p in sorted(Path("examples").rglob("*.tesla"))]


def mutants(count: int, seed: int) -> Iterator[str]:
    """Texts in which one to three tokens were removed, doubled, swapped, replaced or cut off."""
    rng = random.Random(seed)
    texts = good_texts()
    for _ in range(count):
        text = rng.choice(texts)
        for _ in range(rng.randint(1, 3)):
            spans = [m.span() for m in _TOKEN.finditer(text) if not m[0].startswith("--")]
            if len(spans) < 2:
                break
            (start, end), (other_start, other_end) = sorted(rng.sample(spans, 2))
            word, other = text[start:end], text[other_start:other_end]
            match rng.randrange(6):
                case 0:
                    text = text[:start] + text[end:]
                case 1:
                    text = text[:end] + " " + word + text[end:]
                case 2:
                    text = text[:start] + other + text[end:other_start] + word + text[other_end:]
                case 3:
                    text = text[:start] + rng.choice(_JUNK) + text[end:]
                case 4:
                    text = text[:start]
                case _:
                    text = text[:start] + word[:-1] + chr(rng.randrange(33, 500)) + text[end:]
        yield text
