"""Event types: `event` declarations and the heads of `define`, which have to agree."""

from __future__ import annotations

from tyrex.tesla import syntax as s
from tyrex.tesla.checks.context import ANY_TYPE, Context, RuleDraft, Slot, TypeDraft
from tyrex.tesla.diagnostics import did_you_mean, listing
from tyrex.tesla.source import Source
from tyrex.tesla.types import TIMER, TIMESTAMP, TYPE_WORDS, Origin


def declarations(context: Context) -> None:
    """Learn every event type that the text declares or defines."""
    for source, file in context.files:
        for item in file.items:
            if isinstance(item, s.EventDeclaration):
                context.closed = True
                _declare(context, source, item)
    for source, file in context.files:
        for item in file.items:
            if isinstance(item, s.Rule):
                rule = RuleDraft(item, source, len(context.rules))
                context.rules.append(rule)
                _define(context, rule)


def _declare(context: Context, source: Source, item: s.EventDeclaration) -> None:
    if _reserved(context, source, item.name):
        return
    slots = _slots(context, source, item.attributes, types_required=True)
    earlier = context.types.get(item.name.text)
    draft = TypeDraft(item.name.text, Origin.DECLARED, slots, source=source, span=item.name.span)
    if earlier is None:
        context.types[item.name.text] = draft
    elif earlier.source is None and _agreement(earlier, draft) is None:
        return  # deployed earlier, and the same
    else:
        context.report(
            "TSL011",
            f"event `{item.name.text}` is declared twice",
            source,
            item.name.span,
            suggestion="keep one declaration",
        )


def _define(context: Context, rule: RuleDraft) -> None:
    source, head = rule.source, rule.syntax.defines
    if _reserved(context, source, head):
        rule.broken = True
        return
    slots = _slots(context, source, rule.syntax.attributes, types_required=False)
    draft = TypeDraft(head.text, Origin.DEFINED, slots, source=source, span=head.span)
    earlier = context.types.get(head.text)
    if earlier is None:
        context.types[head.text] = rule.defines = draft
        return
    rule.defines = earlier
    difference = _agreement(earlier, draft)
    if difference is not None:
        context.report(
            "TSL012",
            f"this definition of `{head.text}` does not agree with an earlier one: {difference}",
            source,
            head.span,
            expected=_signature(earlier),
            found=_signature(draft),
            suggestion="give both the same attributes, in the same order, or define an event of another name",
        )
        return
    for name, slot in slots.items():
        if not slot.open:
            earlier.attributes[name].allowed &= slot.allowed


def _agreement(earlier: TypeDraft, later: TypeDraft) -> str | None:
    """What two definitions of a type disagree about, or None."""
    if list(earlier.attributes) != list(later.attributes):
        return "the attributes differ"
    for name, slot in later.attributes.items():
        if not slot.allowed & earlier.attributes[name].allowed:
            return f"the type of `{name}` differs"
    return None


def _signature(draft: TypeDraft) -> str:
    words = [
        name if slot.open else f"{name}: {next(iter(slot.allowed)).value}"
        for name, slot in draft.attributes.items()
    ]
    return f"`{draft.name}({', '.join(words)})`"


def _reserved(context: Context, source: Source, name: s.Identifier) -> bool:
    if name.text != TIMER.name:
        return False
    context.report(
        "TSL014",
        "`Timer` is built in and can't be declared or defined",
        source,
        name.span,
        suggestion="choose another name",
    )
    return True


def _slots(
    context: Context, source: Source, attributes: tuple[s.AttributeDeclaration, ...], *, types_required: bool
) -> dict[str, Slot]:
    slots: dict[str, Slot] = {}
    for attribute in attributes:
        name = attribute.name
        if name.text in slots or name.text == TIMESTAMP:
            context.report(
                "TSL015",
                f"attribute `{name.text}` is there twice"
                if name.text in slots
                else "every event has the attribute `timestamp`; it can't be declared",
                source,
                name.span,
                suggestion="remove one of them" if name.text in slots else "remove it",
            )
            continue
        slots[name.text] = Slot(ANY_TYPE)
        if attribute.type is not None:
            known = TYPE_WORDS.get(attribute.type.text.lower())
            if known is None:
                context.report(
                    "TSL016",
                    f"there is no type `{attribute.type.text}`",
                    source,
                    attribute.type.span,
                    expected=listing(("string", "int", "float", "bool")),
                    found=f"`{attribute.type.text}`",
                    suggestion=did_you_mean(attribute.type.text, TYPE_WORDS) or "use one of the four types",
                )
            else:
                slots[name.text] = Slot(frozenset((known,)))
        elif types_required:
            context.report(
                "TSL017",
                f"attribute `{name.text}` has no type",
                source,
                name.span,
                expected="a type, as in `area: string`",
                suggestion=f"write `{name.text}: string`, or `int`, `float`, `bool`",
            )
    return slots
