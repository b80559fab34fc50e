"""Names inside expressions: every attribute, event, function and aggregate is found, or reported."""

from __future__ import annotations

from dataclasses import dataclass

from tyrex.tesla import expressions as e
from tyrex.tesla import syntax as s
from tyrex.tesla.aggregates import AGGREGATES, BY_LOWER_CASE
from tyrex.tesla.checks.context import Context, NegationDraft, RuleDraft, Slot, TypeDraft
from tyrex.tesla.checks.events import event_type, find_event
from tyrex.tesla.checks.tree import resolve_interval
from tyrex.tesla.diagnostics import did_you_mean
from tyrex.tesla.source import Span
from tyrex.tesla.types import TIMER, TIMESTAMP, WEEKDAYS


def references(context: Context) -> None:
    """Resolve the names in every condition and every assignment."""
    for rule in context.sound_rules:
        for event in rule.events:
            if event.term is not None:
                rule.conditions += arguments(context, rule, event.term, Home(event.index, event.type))
        for conjunct in rule.syntax.conjuncts:
            match conjunct:
                case s.NegatedEvent():
                    _negation(context, rule, conjunct)
                case s.TimeConstraint():
                    _time_constraint(context, rule, conjunct)
                case s.Condition():
                    resolved = _try(context, rule, conjunct.expression, None)
                    if resolved is not None:
                        rule.conditions += e.conjuncts(resolved)
                case s.SelectedEvent():
                    pass  # its conditions were resolved with the event
        for assignment in rule.syntax.assignments:
            resolved = _try(context, rule, assignment.value, None)
            if resolved is not None:
                rule.assignments.append((assignment, resolved))


@dataclass(frozen=True, slots=True)
class Home:
    """The event in whose parentheses a name stands."""

    event: int
    type: TypeDraft


class Unresolved(Exception):
    """A name in an expression means nothing; it has been reported."""


def arguments(context: Context, rule: RuleDraft, term: s.EventTerm, home: Home) -> list[e.Expression]:
    """The conditions in an event's parentheses, the positional ones as equalities."""
    found: list[e.Expression] = []
    for position, argument in enumerate(term.arguments):
        if _is_positional(argument):
            attribute = _positional(context, rule, term, home, position, argument.span)
            value = _try(context, rule, argument, home)
            if attribute is not None and value is not None:
                found.append(
                    e.Compare("=", e.Attribute(home.event, attribute, argument.span), value, argument.span)
                )
        else:
            resolved = _try(context, rule, argument, home)
            if resolved is not None:
                found += e.conjuncts(resolved)
    return found


def _is_positional(argument: s.Expression) -> bool:
    """Whether an argument is a value rather than a condition: `A($x)`, `A("north", 5)`, `A($x + 1)`."""
    match argument:
        case s.Comparison() | s.Membership() | s.Name() | s.AttributeOf():
            return False
        case s.Unary(operator=symbol, operand=operand):
            return symbol == "-" and _is_positional(operand)
        case s.Binary(operator=symbol, left=left, right=right):
            return symbol not in ("and", "or") and _is_positional(left) and _is_positional(right)
        case _:
            return True


def _positional(
    context: Context, rule: RuleDraft, term: s.EventTerm, home: Home, position: int, span: Span
) -> str | None:
    names = list(home.type.attributes)
    if position < len(names):
        return names[position]
    context.report(
        "TSL024",
        f"`{term.type.text}` has no attribute at position {position + 1}",
        rule.source,
        span,
        expected=f"`{home.type.name}({', '.join(names)})`",
        suggestion=f"name the attribute, as in `{term.type.text}(attribute = ..)`, "
        f"or declare the event: `event {term.type.text}(..)`",
    )
    return None


def _negation(context: Context, rule: RuleDraft, conjunct: s.NegatedEvent) -> None:
    interval = resolve_interval(context, rule, conjunct.interval)
    type_ = event_type(context, rule, conjunct.event.type)
    conditions = arguments(context, rule, conjunct.event, Home(e.CANDIDATE, type_))
    if interval is not None:
        rule.negations.append(NegationDraft(type_, conditions, interval, conjunct))


def _time_constraint(context: Context, rule: RuleDraft, conjunct: s.TimeConstraint) -> None:
    earlier = find_event(context, rule, conjunct.event)
    later = find_event(context, rule, conjunct.within.anchor)
    if earlier is not None and later is not None:
        rule.conditions.append(e.Precedes(earlier, later, conjunct.within.window.microseconds, conjunct.span))


def _try(context: Context, rule: RuleDraft, tree: s.Expression, home: Home | None) -> e.Expression | None:
    try:
        return _Resolver(context, rule, home).resolve(tree)
    except Unresolved:
        return None


@dataclass(frozen=True, slots=True)
class _Resolver:
    context: Context
    rule: RuleDraft
    home: Home | None

    def resolve(self, tree: s.Expression) -> e.Expression:
        match tree:
            case s.Literal(value=value, span=span):
                return e.Literal(value, span)
            case s.Duration(microseconds=microseconds, span=span):
                return e.Literal(microseconds, span)
            case s.Parameter(name=name, span=span):
                return e.Parameter(name, span)
            case s.Name():
                return self._name(tree)
            case s.AttributeOf():
                return self._attribute_of(tree)
            case s.Unary(operator=symbol, operand=operand, span=span):
                return e.Unary(symbol, self.resolve(operand), span)
            case s.Binary(operator=symbol, left=left, right=right, span=span):
                return e.Binary(symbol, self.resolve(left), self.resolve(right), span)
            case s.Comparison():
                return self._comparison(tree)
            case s.Membership(operand=operand, options=options, span=span):
                return e.OneOf(self.resolve(operand), tuple(map(self.resolve, options)), span)
            case s.Call(function=function, arguments=values, span=span):
                return e.Call(function.text, tuple(map(self.resolve, values)), span)
            case s.Aggregate():
                return self._aggregate(tree)

    def _comparison(self, tree: s.Comparison) -> e.Expression:
        operands = [self.resolve(operand) for operand in tree.operands]
        links: list[e.Expression] = [
            e.Compare(symbol, left, right, left_tree.span.to(right_tree.span))
            for symbol, left, right, left_tree, right_tree in zip(
                tree.operators, operands, operands[1:], tree.operands, tree.operands[1:], strict=False
            )
        ]
        chain = links[0]
        for link in links[1:]:
            chain = e.Binary("and", chain, link, tree.span)
        return chain

    def _name(self, tree: s.Name) -> e.Expression:
        timer_rule = self.rule.events[0].type.name == TIMER.name
        if timer_rule and tree.name in WEEKDAYS:
            return e.Literal(WEEKDAYS.index(tree.name) + 1, tree.span)
        if self.home is not None:
            self._check_attribute(self.home.type, s.Identifier(tree.name, tree.span))
            return e.Attribute(self.home.event, tree.name, tree.span)
        owners = [
            event.name
            for event in self.rule.events
            if tree.name in event.type.attributes and event.name in self.rule.names
        ]
        if tree.name in self.rule.names:
            message, suggestion = f"which attribute of `{tree.name}`?", f"write `{tree.name}.attribute`"
        elif owners:
            message = f"which event's `{tree.name}`?"
            suggestion = f"write `{owners[0]}.{tree.name}`"
        else:
            message = f"`{tree.name}` means nothing outside an event's parentheses"
            suggestion = f'write `Event.{tree.name}` for an attribute, `"{tree.name}"` for a text'
        self.context.report("TSL028", message, self.rule.source, tree.span, suggestion=suggestion)
        raise Unresolved

    def _attribute_of(self, tree: s.AttributeOf) -> e.Expression:
        index = find_event(self.context, self.rule, tree.event)
        if index is None:
            raise Unresolved
        self._check_attribute(self.rule.events[index].type, tree.attribute)
        return e.Attribute(index, tree.attribute.text, tree.span)

    def _check_attribute(self, type_: TypeDraft, name: s.Identifier) -> None:
        if name.text in type_.attributes or name.text == TIMESTAMP:
            return
        if type_.extensible:
            type_.attributes[name.text] = Slot()
            return
        self.context.report(
            "TSL013",
            f"`{type_.name}` has no attribute `{name.text}`",
            self.rule.source,
            name.span,
            expected=", ".join(f"`{known}`" for known in type_.attributes) or "no attribute but `timestamp`",
            found=f"`{name.text}`",
            suggestion=did_you_mean(name.text, [*type_.attributes, TIMESTAMP])
            or f"use an attribute of `{type_.name}`, or add it to its declaration",
        )
        raise Unresolved

    def _aggregate(self, tree: s.Aggregate) -> e.Expression:
        name = BY_LOWER_CASE[tree.function.text.lower()]
        function = AGGREGATES[name]
        if tree.event.type.text == TIMER.name:
            self._refuse(
                "TSL025", "`Timer` can't be aggregated", tree.event.type.span, "aggregate an event type"
            )
        type_ = event_type(self.context, self.rule, tree.event.type)
        if tree.interval is None:
            self._refuse(
                "TSL023",
                f"`{name}` does not say over which stretch of time",
                tree.span,
                "add `within 5 min from X` or `between X and Y`",
            )
        if not function.takes_attribute and tree.attribute is not None:
            self._refuse(
                "TSL029",
                f"`{name}` counts events and takes no attribute",
                tree.attribute.span,
                f"remove `.{tree.attribute.text}`, or use CountDistinct for the number of different values",
            )
        if tree.attribute is not None:
            self._check_attribute(type_, tree.attribute)
        elif function.takes_attribute and not function.numeric:
            self._refuse(
                "TSL029",
                f"`{name}` of which attribute?",
                tree.event.span,
                f"write `{name}({tree.event.type.text}(..).attribute)`",
            )
        assert tree.interval is not None
        interval = resolve_interval(self.context, self.rule, tree.interval)
        conditions = arguments(self.context, self.rule, tree.event, Home(e.CANDIDATE, type_))
        if interval is None:
            raise Unresolved
        attribute = None if tree.attribute is None else tree.attribute.text
        return e.Aggregate(name, tree.event.type.text, tuple(conditions), attribute, interval, tree.span)

    def _refuse(self, code: str, message: str, span: Span, suggestion: str) -> None:
        self.context.report(code, message, self.rule.source, span, suggestion=suggestion)
        raise Unresolved
