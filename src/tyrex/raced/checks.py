"""What the grammar of RACED allows but the translation can't give a meaning to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tyrex.raced.syntax import Advertisement, Definition, Filter, Item
from tyrex.tesla import syntax as s
from tyrex.tesla.diagnostics import Diagnostic, did_you_mean
from tyrex.tesla.source import Source

_RESERVED = frozenset(
    "define from where consuming within between each and or not in as true false null".split()
)
# Behind `not` these are read as functions; they are TESLA's, and the first ones fit in any case.
_FUNCTION = re.compile(
    r"(?i:Avg|Sum|Min|Max|CountDistinct|Count|StdDev|Var|First|Last)"
    r"|abs|floor|ceil|round|sqrt|pow|least|greatest|lower|upper|length|concat|coalesce|if"
)


def problems(item: Item, source: Source) -> list[Diagnostic]:
    """Everything that is wrong with an advertisement or a definition."""
    found = [*_names(item, source), *_repeated(item, source)]
    if isinstance(item, Definition):
        found += [d for part in item.pattern.filters for d in _empty_constraints(part, source)]
        found += _no_message(item, source) or _unbound(item, source)
    return found


def _names(item: Item, source: Source) -> Iterator[Diagnostic]:
    """Names that TESLA could not say again."""
    types = [item.name]
    names = [attribute.name for attribute in item.attributes]
    if isinstance(item, Definition):
        for part in item.pattern.filters:
            types.append(part.type)
            operands = [operand for constraint in part.constraints for operand in constraint.operands]
            names += [s.Identifier(o.name, o.span) for o in operands if isinstance(o, s.Name)]
            if part.negated and _FUNCTION.fullmatch(part.type.text):
                yield _name_taken(part.type, "is a function of TESLA and can't stand behind `NOT`", source)
    for name in (*types, *names):
        if name.text.lower() in _RESERVED:
            yield _name_taken(name, "is a word of TESLA and can't be a name", source)
    for name in types:
        if name.text == "Timer":
            yield _name_taken(name, "is TESLA's clock and can't be a message", source)


def _name_taken(name: s.Identifier, why: str, source: Source) -> Diagnostic:
    return Diagnostic(
        "RCD007",
        f"`{name.text}` {why}",
        name.span,
        source,
        found=f"`{name.text}`",
        suggestion=f"choose another name, such as `{name.text}_`",
    )


def _repeated(item: Item, source: Source) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for attribute in item.attributes:
        if attribute.name.text in seen:
            what = "advertised" if isinstance(item, Advertisement) else "given a value"
            yield Diagnostic(
                "RCD009",
                f"`{attribute.name.text}` is {what} twice",
                attribute.span,
                source,
                suggestion="leave one of them out",
            )
        seen.add(attribute.name.text)


def _empty_constraints(part: Filter, source: Source) -> Iterator[Diagnostic]:
    for constraint in part.constraints:
        if all(isinstance(operand, s.Literal) for operand in constraint.operands):
            yield Diagnostic(
                "RCD008",
                "this constraint says nothing about the message",
                constraint.span,
                source,
                expected=f"an attribute of `{part.type.text}` or a parameter",
                suggestion='compare an attribute with a value, as in `Type = "smoke"`',
            )


def _no_message(definition: Definition, source: Source) -> list[Diagnostic]:
    if definition.pattern.positive:
        return []
    return [
        Diagnostic(
            "RCD003",
            f"`{definition.name.text}` needs at least one message that has to come",
            definition.pattern.filters[0].span,
            source,
            expected="a filter without `NOT`",
            suggestion="add the message whose arrival is the moment of the event: `Alert[..] AND NOT ..`",
        )
    ]


def _unbound(definition: Definition, source: Source) -> Iterator[Diagnostic]:
    """Each parameter that no message gives a value, where it is used first."""
    bound = _bound(constraint for part in definition.pattern.positive for constraint in part.constraints)
    used = [
        operand for part in definition.pattern.filters for c in part.constraints for operand in c.operands
    ]
    reported: set[str] = set()
    for value in (*(attribute.value for attribute in definition.attributes), *used):
        if isinstance(value, s.Parameter) and value.name not in bound | reported:
            reported.add(value.name)
            near = did_you_mean(value.name, bound)
            yield Diagnostic(
                "RCD004",
                f"`${value.name}` has no value",
                value.span,
                source,
                expected=f"an `attribute = ${value.name}` in a filter without `NOT`",
                suggestion=near.replace("`", "`$", 1)
                if near
                else f"write `= ${value.name}` behind its attribute",
            )


def _bound(constraints: Iterable[s.Comparison]) -> set[str]:
    """The parameters that equal an attribute, perhaps by way of others: both of `Value = $X = $Y`."""
    equal: dict[str, list[str]] = {}
    reached: list[str] = []
    for constraint in constraints:
        pairs = zip(constraint.operands, constraint.operators, constraint.operands[1:], strict=False)
        for left, operator, right in pairs:
            match left, right:
                case (s.Name(), s.Parameter(name=name)) | (s.Parameter(name=name), s.Name()) if (
                    operator == "="
                ):
                    reached.append(name)
                case (s.Parameter(name=one), s.Parameter(name=other)) if operator == "=":
                    equal.setdefault(one, []).append(other)
                    equal.setdefault(other, []).append(one)
                case _:
                    pass
    bound: set[str] = set()
    while reached:
        name = reached.pop()
        if name not in bound:
            bound.add(name)
            reached += equal.get(name, ())
    return bound
