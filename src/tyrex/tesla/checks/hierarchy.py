"""Hierarchies: no event may make itself again at once; any other recursion looks at the past and is welcome."""

from __future__ import annotations

from tyrex.tesla.checks.context import Context, RuleDraft


def hierarchy(context: Context) -> None:
    """Find cycles in "the defined type is the terminator of"."""
    makes: dict[str, list[tuple[str, RuleDraft | None]]] = {}
    for terminator, defined in context.instant_edges:
        makes.setdefault(terminator, []).append((defined, None))
    for rule in context.rules:
        if rule.deadline is None:  # a deadline lets time pass
            terminator = rule.syntax.terminator.event.type.text
            makes.setdefault(terminator, []).append((rule.syntax.defines.text, rule))
    group = _components(makes)
    for terminator, made in makes.items():
        for defined, maker in made:
            if maker is None or group.get(terminator) != group.get(defined):
                continue
            path = _path(makes, defined, terminator)
            if path is None:
                continue
            circle = " makes ".join(f"`{name}`" for name in [terminator, *path])
            context.report(
                "TSL060",
                f"`{terminator}` would make itself again at once: {circle}",
                maker.source,
                maker.syntax.terminator.event.type.span,
                suggestion="let it be chosen from the past: begin `from` with another event, "
                f"then `last {terminator}(..) within .. from ..`",
            )


def _components(makes: dict[str, list[tuple[str, RuleDraft | None]]]) -> dict[str, int]:
    """The strongly connected component of each type (Tarjan, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    component: dict[str, int] = {}
    stack: list[str] = []
    for root in makes:
        if root in index:
            continue
        work = [(root, 0)]
        while work:
            node, position = work.pop()
            if position == 0:
                index[node] = low[node] = len(index)
                stack.append(node)
            targets = makes.get(node, [])
            for i in range(position, len(targets)):
                target = targets[i][0]
                if target not in index:
                    work += [(node, i + 1), (target, 0)]
                    break
                if target not in component:
                    low[node] = min(low[node], index[target])
            else:
                if low[node] == index[node]:
                    while True:
                        member = stack.pop()
                        component[member] = index[node]
                        if member == node:
                            break
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
    return component


def _path(makes: dict[str, list[tuple[str, RuleDraft | None]]], start: str, goal: str) -> list[str] | None:
    """A shortest way from one type to another, both included."""
    paths = {start: [start]}
    frontier = [start]
    while frontier:
        node = frontier.pop(0)
        if node == goal:
            return paths[node]
        for target, _ in makes.get(node, []):
            if target not in paths:
                paths[target] = [*paths[node], target]
                frontier.append(target)
    return None
