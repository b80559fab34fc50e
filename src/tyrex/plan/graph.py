"""How the rules of a set depend on each other: hierarchies of events, recursion, and what can run apart.

A rule feeds another if the other looks at the type it defines, in any role. With many rules that define and
use one type there are many such pairs, so the graph here has the types as nodes too, rule -> type -> rule,
and everything costs time in proportion to the rules and the types they mention.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tyrex.plan.automaton import plan_rule
from tyrex.plan.horizon import type_horizon
from tyrex.plan.model import RulePlan, RuleSetPlan
from tyrex.tesla.checked import CheckedRules
from tyrex.tesla.parser import collection_paused

Graph = list[list[int]]


def plan_rules(rules: CheckedRules) -> RuleSetPlan:
    """The plan of a rule set."""
    with collection_paused():  # many small objects, none of them garbage
        return combine(plan_rule(rule) for rule in rules.rules)


def combine(plans: Iterable[RulePlan]) -> RuleSetPlan:
    """The plan of rules that run together, in deployment order."""
    rules = tuple(plans)
    graph = _graph(rules)
    components = _strong_components(graph)
    horizon = type_horizon((name, reach) for rule in rules for name, reach in rule.horizon.items())
    return RuleSetPlan(
        rules=rules,
        strata=_strata(graph, components, len(rules)),
        recursive_groups=_recursive_groups(components, len(rules)),
        groups=_groups(rules),
        horizon=horizon,
        types_needed=tuple(horizon),
        types_defined=tuple(sorted({rule.defines.name for rule in rules})),
    )


def feeds(rules: Sequence[RulePlan]) -> dict[str, tuple[tuple[int, ...], tuple[int, ...]]]:
    """For each type that rules define or use: the rules that define it, and those that use it."""
    found: dict[str, tuple[list[int], list[int]]] = {}
    for number, rule in enumerate(rules):
        found.setdefault(rule.defines.name, ([], []))[0].append(number)
        for name in rule.horizon:
            found.setdefault(name, ([], []))[1].append(number)
    return {name: (tuple(makers), tuple(users)) for name, (makers, users) in sorted(found.items())}


def _graph(rules: Sequence[RulePlan]) -> Graph:
    """Arrows from each rule to the type it defines, and from each type to the rules that use it."""
    numbers: dict[str, int] = {}
    graph: Graph = [[] for _ in rules]
    for number, rule in enumerate(rules):
        for name in (rule.defines.name, *rule.horizon):
            if name not in numbers:
                numbers[name] = len(graph)
                graph.append([])
        graph[number].append(numbers[rule.defines.name])
        for name in rule.horizon:
            graph[numbers[name]].append(number)
    return graph


def _strong_components(graph: Graph) -> list[list[int]]:
    """Sets of nodes that lead to each other, each set before all that lead to it (Tarjan)."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    open_nodes: list[int] = []
    is_open = [False] * len(graph)
    found: list[list[int]] = []

    def enter(node: int) -> tuple[int, Iterator[int]]:
        order[node] = low[node] = len(order)
        open_nodes.append(node)
        is_open[node] = True
        return node, iter(graph[node])

    for start in range(len(graph)):
        path = [] if start in order else [enter(start)]
        while path:
            node, following = path[-1]
            unseen = None
            for other in following:
                if other not in order:
                    unseen = other
                    break
                if is_open[other]:
                    low[node] = min(low[node], order[other])
            if unseen is not None:
                path.append(enter(unseen))
                continue
            path.pop()
            if path:
                low[path[-1][0]] = min(low[path[-1][0]], low[node])
            if low[node] == order[node]:
                component: list[int] = []
                while is_open[node]:
                    component.append(open_nodes.pop())
                    is_open[component[-1]] = False
                found.append(component)
    return found


def _strata(graph: Graph, components: list[list[int]], rules: int) -> tuple[tuple[int, ...], ...]:
    """Rules by level: one more than the highest that feeds them from outside their recursive group."""
    level = [0] * len(graph)
    for component in reversed(components):
        here = max(level[node] for node in component)
        makes = any(node < rules for node in component)
        for node in component:
            level[node] = here
        for node in component:
            for following in graph[node]:
                level[following] = max(level[following], here + makes)
        for node in component:
            level[node] = here  # arrows inside the component do not raise it
    found: list[list[int]] = []
    for rule in range(rules):
        while len(found) <= level[rule]:
            found.append([])
        found[level[rule]].append(rule)
    return tuple(tuple(stratum) for stratum in found)


def _recursive_groups(components: list[list[int]], rules: int) -> tuple[tuple[int, ...], ...]:
    """A rule that leads to itself does so through a type, so its component has more than one node."""
    groups = [tuple(sorted(node for node in c if node < rules)) for c in components if len(c) > 1]
    return tuple(sorted(groups))


def _groups(rules: Sequence[RulePlan]) -> tuple[tuple[int, ...], ...]:
    """Rules connected by types that one defines and another uses; an unused type connects nothing."""
    parents = list(range(len(rules)))

    def find(rule: int) -> int:
        while parents[rule] != rule:
            parents[rule] = rule = parents[parents[rule]]
        return rule

    for makers, users in feeds(rules).values():
        if makers and users:
            for rule in (*makers, *users):
                parents[max(find(rule), find(makers[0]))] = min(find(rule), find(makers[0]))
    found: dict[int, list[int]] = {}
    for rule in range(len(rules)):
        found.setdefault(find(rule), []).append(rule)
    return tuple(tuple(group) for group in found.values())
