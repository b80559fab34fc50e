"""Who does what in a network that stands: trees, and where each rule and partial rule is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tyrex.simulate.waves import WaveNetwork


@dataclass(frozen=True, slots=True)
class Hosted:
    """What one processor does in one tree."""

    rules: tuple[str, ...] = ()
    """It makes the composites of these."""
    partial: int = 0
    """So many partial rules, whose events it sends up."""
    pulled: int = 0
    """So many of them wait until they are asked for."""


@dataclass(frozen=True, slots=True)
class Hosting:
    """All trees of a network."""

    parents: Mapping[str, Mapping[str, str]]
    """For each tree, by its root: the parent of every other processor."""
    hosted: Mapping[tuple[str, str], Hosted]
    """For each root and processor."""


def hosting_of(network: WaveNetwork) -> Hosting:
    """What stands now."""
    parents: dict[str, dict[str, str]] = {}
    hosted: dict[tuple[str, str], Hosted] = {}
    for name, processor in network.processors.items():
        for root, branch in processor.branches.items():
            tree = parents.setdefault(root, {})
            if branch.place.parent is not None:
                tree[name] = branch.place.parent
            if branch.task is None:
                continue
            rules = tuple(
                dict.fromkeys(rule for group in branch.task.groups for rule in rule_names(group.rules))
            )
            partial = sum(len(part.partial_rules) for part in branch.task.parts)
            pulled = sum(len(p.partial_rules) for p in branch.task.parts if p.mode == "pull")
            hosted[root, name] = Hosted(rules, partial, pulled)
    return Hosting(parents, hosted)


def rule_names(texts: tuple[str, ...]) -> list[str]:
    """The names of rules, from their texts as they travel."""
    return [
        text.split(maxsplit=2)[1].strip() for text in texts if text.split(maxsplit=1)[0].lower() == "rule"
    ]
