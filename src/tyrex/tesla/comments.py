"""Where the comments of a rule text go when the text is laid out anew.

The layout has one line for each part of an item: the declaration; or the rule's name, its `define`, each event and
condition of its `from`, each assignment of its `where`, its `consuming`. A comment on a line of its own goes before
the line that holds the code behind it; a comment at the end of a line goes to the end of the line that holds the
code before it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tyrex.tesla import syntax as s

_NO_CODE = re.compile(r"(?:(?:--|//)[^\n]*|\s+)*")
_WORD = re.compile(r"\w+|.")


@dataclass
class Layout:
    """Comments by the number of their line; the number behind the last line holds those at the end of the file."""

    before: dict[int, list[s.Comment]] = field(default_factory=dict)
    behind: dict[int, s.Comment] = field(default_factory=dict)
    blank_before: frozenset[int] = frozenset()
    """offsets of comments and items that the author set apart by a blank line"""
    knows_places: bool = False
    """whether the text was there to look at"""


def lay_out(file: s.File, text: str, counts: Sequence[int]) -> Layout:
    """The comments of a file that was read from a text, for items of so many lines."""
    starts: list[int] = []
    separators: set[int] = set()
    heads: list[int] = []  # lines with the name of a rule
    for item, count in zip(file.items, counts, strict=True):
        if isinstance(item, s.Rule) and item.name is not None:
            heads.append(len(starts))
        outline = list(_outline(item, text))
        if len(outline) != count:
            raise ValueError("the layout has other lines than the rule")
        for start, separator in outline:
            starts.append(start)
            if separator is not None:
                separators.add(separator)
    layout = _distribute(file.comments, text, starts, separators)
    for line in heads:
        _keep_together(layout, line)
    places = [*(comment.span.start for comment in file.comments), *(item.span.start for item in file.items)]
    layout.blank_before = frozenset(place for place in places if _after_blank_line(text, place))
    layout.knows_places = True
    return layout


def comments_before_items(file: s.File, counts: Sequence[int]) -> Layout:
    """The comments of a file without its text: each before the item that it stands in or leads to."""
    layout = Layout()
    remaining = list(file.comments)
    line = 0
    for item, count in zip(file.items, counts, strict=True):
        while remaining and remaining[0].span.start < item.span.end:
            layout.before.setdefault(line, []).append(remaining.pop(0))
        line += count
    if remaining:
        layout.before[line] = remaining
    return layout


def _distribute(comments: Sequence[s.Comment], text: str, starts: list[int], separators: set[int]) -> Layout:
    by_line: dict[int, list[tuple[s.Comment, bool]]] = {}
    latest = 0
    for comment in comments:
        before = text.rfind("\n", 0, comment.span.start) + 1
        code = text[before : comment.span.start].rstrip()
        if code:
            line = bisect_right(starts, before + len(code) - 1) - 1
        else:
            following = _code_from(text, comment.span.end)
            line = len(starts) if following == len(text) else bisect_right(starts, following) - 1
            line += following in separators  # the `and` before a conjunct leads to that conjunct
        # Behind a separator that a comment has been moved across, the next comment follows it.
        at_end = bool(code) and line >= latest
        latest = max(line, latest)
        by_line.setdefault(latest, []).append((comment, at_end))
    layout = Layout()
    for line, entries in by_line.items():
        if entries[-1][1]:  # a line has room for one comment at its end
            layout.behind[line] = entries.pop()[0]
        if entries:
            layout.before[line] = [comment for comment, _ in entries]
    return layout


def _keep_together(layout: Layout, head: int) -> None:
    """Move what would stand between `Rule R1` and `define` before both: the language reads them as one."""
    moved = [*layout.before.pop(head + 1, ())]
    if head in layout.behind:
        moved.insert(0, layout.behind.pop(head))
    if moved:
        layout.before.setdefault(head, []).extend(moved)


# --- Where lines begin -----------------------------------------------------------------------------------------


def _outline(item: s.Item, text: str) -> Iterator[tuple[int, int | None]]:
    """Where the code of each line begins in the text, and where the separator before it stands, if one does."""
    yield item.span.start, None
    if isinstance(item, s.EventDeclaration):
        return
    if item.name is not None:
        yield _code_from(text, item.name.span.end), None
    yield _find(text, item.defines.span.end, "from"), None
    end = item.terminator.span.end
    for conjunct in item.conjuncts:
        yield _behind_separator(text, end)
        end = conjunct.span.end
    for n, assignment in enumerate(item.assignments):
        yield _behind_separator(text, end) if n else (_find(text, end, "where"), None)
        end = assignment.span.end
    if item.consuming:
        yield _find(text, end, "consuming"), None


def _behind_separator(text: str, start: int) -> tuple[int, int]:
    separator = _find(text, start, "and", ",")
    return _code_from(text, separator + (1 if text[separator] == "," else 3)), separator


def _find(text: str, start: int, *words: str) -> int:
    """Where one of the words stands next, outside comments; between two nodes there are no strings."""
    position = _code_from(text, start)
    while found := _WORD.match(text, position):
        if found[0].lower() in words:
            return position
        position = _code_from(text, found.end())
    raise ValueError("the tree was not read from this text")


def _code_from(text: str, start: int) -> int:
    """The next place that is neither blank nor in a comment."""
    found = _NO_CODE.match(text, start)
    return found.end() if found else start


def _after_blank_line(text: str, place: int) -> bool:
    start = place
    while start > 0 and text[start - 1].isspace():
        start -= 1
    return text.count("\n", start, place) > 1
