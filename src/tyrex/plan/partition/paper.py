"""The partial rules of the deployment paper (section 3.4), as it prints them.

A type that only one site advertises can be combined there; events of other types are all sent. What can be
combined forms sequences: where events between are missing, the windows are summed, and as a single selection
can't be decided then, `each` candidate is taken. Parameters and negations go along where all their events are;
aggregates are computed where the composite is made. Every event of a match is sent.

This prunes more than the meaning of rules allows, see docs/design/partition.md.
"""

from __future__ import annotations

from functools import partial

from tyrex.plan.partition.model import PartialRule
from tyrex.plan.partition.pattern import EACH, Pattern, standing_alone
from tyrex.plan.partition.subject import Ownership, Subject
from tyrex.tesla.syntax import Selection


def paper_rules(subject: Subject, ownership: Ownership) -> list[PartialRule]:
    """What a site is asked for."""
    known = [i for i, part in enumerate(subject.parts) if ownership.exclusive(part.type)]
    roots = [i for i in known if not any(a in known for a in subject.ancestors(i))]
    found: list[PartialRule] = []
    attached: set[int] = set()
    for root in roots:
        keep = [i for i in known if i == root or root in subject.ancestors(i)]
        pattern = Pattern(subject, keep)
        negated = [
            number
            for number, absence in enumerate(subject.absences)
            if ownership.exclusive(absence.type) and pattern.covers(absence)
        ]
        attached.update(negated)
        found.append(
            PartialRule(
                pattern.parts(partial(_selection, pattern)),
                pattern.moved_absences(subject.absences[number] for number in negated),
                tuple(range(len(keep))),
            )
        )
    found += [
        standing_alone(part.type, part.conditions, index)
        for index, part in enumerate(subject.parts)
        if part.type in ownership.here and index not in known
    ]
    others = [absence for n, absence in enumerate(subject.absences) if n not in attached]
    found += [
        standing_alone(item.type, item.conditions)
        for item in (*others, *subject.aggregates)
        if item.type in ownership.here
    ]
    return found


def _selection(pattern: Pattern, index: int) -> Selection:
    """The rule's own, where it can be decided."""
    selection = pattern.subject.parts[index].selection
    return selection if selection is not None and pattern.decided(index) else EACH
