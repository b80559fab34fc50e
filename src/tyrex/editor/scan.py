"""What each word of a piece is for, found without a parser: half a rule is understood as well."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from tyrex.editor.tokens import Token, TokenKind
from tyrex.tesla.aggregates import BY_LOWER_CASE
from tyrex.tesla.functions import FUNCTIONS
from tyrex.tesla.source import Span
from tyrex.tesla.types import TIMER, WEEKDAYS


class Clause(StrEnum):
    """The part of a declaration or a rule."""

    START = "start"
    DECLARATION = "declaration"
    HEAD = "head"
    FROM = "from"
    WHERE = "where"
    CONSUMING = "consuming"


class MarkKind(StrEnum):
    """What a word stands for."""

    KEYWORD = "keyword"
    POLICY = "policy"
    TYPE = "type"
    """an event type, where events of it are asked for"""
    TYPE_HEAD = "type head"
    """an event type, where it is declared or defined"""
    RULE_NAME = "rule name"
    ALIAS = "alias"
    EVENT = "event"
    """an event of the rule, by its alias or its type"""
    ATTRIBUTE = "attribute"
    ATTRIBUTE_HEAD = "attribute head"
    VALUE_TYPE = "value type"
    PARAMETER = "parameter"
    FUNCTION = "function"
    AGGREGATE = "aggregate"
    WEEKDAY = "weekday"
    DURATION = "duration"
    OTHER = "other"


class Role(StrEnum):
    """The part an event plays in a pattern."""

    TERMINATOR = "terminator"
    SELECTED = "selected"
    NEGATED = "negated"
    AGGREGATED = "aggregated"


@dataclass(slots=True)
class EventUse:
    """An event of a rule, as it was written."""

    type: str
    role: Role
    span: Span
    policy: str = ""
    deadline: str = ""
    alias: str | None = None
    alias_span: Span | None = None
    window: str = ""
    anchor: str = ""

    @property
    def name(self) -> str:
        """What it is called in the rule."""
        return self.alias or self.type

    @property
    def is_named(self) -> bool:
        """Whether other parts of the rule can speak of it."""
        return self.role in (Role.TERMINATOR, Role.SELECTED)


@dataclass(slots=True)
class Mark:
    """A token with what it stands for.

    `owner` is the event type an attribute belongs to; `through` is the name of the event it is asked of.
    """

    token: Token
    kind: MarkKind
    owner: str = ""
    through: str = ""

    @property
    def span(self) -> Span:
        """Where it stands."""
        return self.token.span


@dataclass(slots=True)
class Frame:
    """An open parenthesis: of an event, an aggregate, a function, or for grouping."""

    kind: str
    event: EventUse | None = None
    interval: str = ""


@dataclass
class Scan:
    """The state after some tokens of a piece, and what was learnt on the way."""

    clause: Clause = Clause.START
    head: str = ""
    """The type that the piece declares or defines."""
    rule_name: str = ""
    marks: list[Mark] = field(default_factory=list)
    events: list[EventUse] = field(default_factory=list)
    stack: list[Frame] = field(default_factory=list)
    interval: str = ""
    """How far `within w from X` or `between X and Y` has come: its last word; `done` behind it."""
    conjunct: str = ""
    """The role of the event that the current conjunct of `from` is about, or `condition`."""
    current: EventUse | None = None
    closed: Frame | None = None
    """What the last token closed, if it was a parenthesis."""
    before: Token | None = None
    before_that: Token | None = None

    @property
    def frame(self) -> Frame | None:
        """The innermost open parenthesis that says what stands in it."""
        return next((f for f in reversed(self.stack) if f.kind in ("event", "aggregate")), None)

    @property
    def named(self) -> list[EventUse]:
        """The events that the rule can speak of."""
        return [event for event in self.events if event.is_named]

    def feed(self, token: Token, following: Token | None = None) -> None:
        """Take the next token; `following` is the one behind it, if that is known."""
        if token.kind is TokenKind.COMMENT:
            return
        self.closed = None
        if token.kind is TokenKind.WORD:
            self._word(token, following)
        elif token.kind is TokenKind.PARAMETER:
            self._mark(token, MarkKind.PARAMETER)
            self._is_condition()
        elif token.kind is TokenKind.DURATION:
            self._mark(token, MarkKind.DURATION)
            self._duration(token)
        elif token.kind is TokenKind.KTH:
            self._mark(token, MarkKind.POLICY)
            self._policy()
        elif token.kind is TokenKind.SYMBOL:
            self._symbol(token)
        else:
            self._is_condition()
        self.before_that, self.before = self.before, token

    # --- Words --------------------------------------------------------------------------------------------

    def _word(self, token: Token, following: Token | None) -> None:
        opens = following is not None and following.is_symbol("(")
        if self.before is not None and self.before.is_symbol("."):
            self._attribute_behind_dot(token)
        elif opens and token.text in FUNCTIONS:
            self._mark(token, MarkKind.FUNCTION)
            self._is_condition()
        elif opens and token.lower in BY_LOWER_CASE and not self._wants_type():
            self._mark(token, MarkKind.AGGREGATE)
            self._is_condition()
        elif self.clause in (Clause.START, Clause.DECLARATION, Clause.HEAD):
            self._word_in_head(token)
        elif not self._keyword(token, following):
            self._name(token, following)

    def _word_in_head(self, token: Token) -> None:
        before = self.before
        if token.is_word("define"):
            self._mark(token, MarkKind.KEYWORD)
            self.clause = Clause.HEAD
        elif self.clause is Clause.HEAD and token.is_word("from"):
            self._mark(token, MarkKind.KEYWORD)
            self.clause, self.conjunct, self.stack = Clause.FROM, Role.TERMINATOR, []
        elif before is None and token.is_word("rule"):
            self._mark(token, MarkKind.KEYWORD)
        elif before is None and token.is_word("event"):
            self._mark(token, MarkKind.KEYWORD)
            self.clause = Clause.DECLARATION
        elif before is not None and before.is_word("rule") and self.clause is Clause.START:
            self._mark(token, MarkKind.RULE_NAME)
            self.rule_name = token.text
        elif before is not None and before.is_word("define", "event") and not self.stack:
            self._mark(token, MarkKind.TYPE_HEAD)
            self.head = token.text
        elif before is not None and before.is_symbol(":"):
            self._mark(token, MarkKind.VALUE_TYPE)
        elif self.stack:
            self._mark(token, MarkKind.ATTRIBUTE_HEAD, self.head)
        else:
            self._mark(token, MarkKind.OTHER)

    def _keyword(self, token: Token, following: Token | None) -> bool:
        """Take a keyword of `from`, `where` and `consuming`; say whether it was one."""
        word = token.lower
        if word in ("where", "consuming"):
            self.clause = Clause(word)
            self.stack, self.interval, self.current, self.conjunct = [], "", None, ""
        elif word in ("each", "first", "last") and self._policy_stands_here(word, following):
            self._mark(token, MarkKind.POLICY)
            self._policy()
            return True
        elif word in ("within", "between"):
            self._interval_begins(word)
        elif word == "from":
            self._set_interval("from")
        elif word == "and":
            if self._interval() == "first":
                self._set_interval("and")
            elif not self.stack:
                self.conjunct, self.current, self.interval = "", None, ""
        elif word == "not":
            if self.clause is Clause.FROM and not self.stack and not self.conjunct:
                self.conjunct = Role.NEGATED
        elif word == "as":
            if self.clause is Clause.FROM:
                self.stack = []
        elif word == "after":
            if not (self.clause is Clause.FROM and self.conjunct == Role.TERMINATOR and not self.stack):
                return False
        elif word not in ("or", "in", "true", "false", "null"):
            return False
        self._mark(token, MarkKind.KEYWORD)
        return True

    def _policy_stands_here(self, word: str, following: Token | None) -> bool:
        if self.clause is not Clause.FROM or (following is not None and following.kind is not TokenKind.WORD):
            return word == "each"
        return word == "each" or not self.stack or bool(self.before and self.before.is_word("and"))

    def _policy(self) -> None:
        if self.clause is Clause.FROM:
            self.stack, self.interval, self.current = [], "", None
            self.conjunct = Role.SELECTED

    def _duration(self, token: Token) -> None:
        if self._interval() == "within":
            self._set_interval("duration")
            if self.current is not None and not self.stack:
                self.current.window = token.text
        elif not (self.conjunct == Role.TERMINATOR and self.current is None):
            self._is_condition()

    def _interval_begins(self, word: str) -> None:
        """An interval closes what is open, but for the aggregate that it belongs to."""
        while self.stack and self.stack[-1].kind != "aggregate":
            self.stack.pop()
        self._set_interval(word)

    def _interval(self) -> str:
        return self.stack[-1].interval if self.stack else self.interval

    def _set_interval(self, value: str) -> None:
        if self.stack:
            self.stack[-1].interval = value
        else:
            self.interval = value

    # --- Names --------------------------------------------------------------------------------------------

    def _wants_type(self) -> bool:
        """Whether an event type comes next."""
        before = self.before
        if before is None:
            return False
        if self.stack:
            return self.stack[-1].kind == "aggregate" and before.is_symbol("(")
        if self.clause is not Clause.FROM or self.current is not None:
            return False
        if self.conjunct == Role.TERMINATOR:
            return before.is_word("from", "after")
        if self.conjunct == Role.SELECTED:
            return before.is_word("each", "first", "last") or before.kind is TokenKind.KTH
        return self.conjunct == Role.NEGATED and before.is_word("not")

    def _name(self, token: Token, following: Token | None) -> None:
        interval = self._interval()
        if self.before is not None and self.before.is_word("as") and self.clause is Clause.FROM:
            self._mark(token, MarkKind.ALIAS)
            if self.events and not self.interval:
                self.events[-1].alias, self.events[-1].alias_span = token.text, token.span
        elif self._wants_type() and not (
            following is not None and following.is_symbol(".") and not self.stack
        ):
            self._event(token)
        elif interval in ("from", "between", "and"):
            self._mark(token, MarkKind.EVENT)
            self._set_interval("first" if interval == "between" else "done")
            if interval == "from" and not self.stack and self.current is not None:
                self.current.anchor = token.text
        elif self.clause is Clause.CONSUMING:
            self._mark(token, MarkKind.EVENT)
        elif self._in_where_target():
            self._mark(token, MarkKind.ATTRIBUTE, self.head)
        elif (frame := self.frame) is not None and frame.event is not None and frame.kind == "event":
            self._name_in_event(token, frame.event)
        else:
            self._mark(token, MarkKind.EVENT)
            self._is_condition()

    def _name_in_event(self, token: Token, event: EventUse) -> None:
        if event.type == TIMER.name and token.text in WEEKDAYS:
            self._mark(token, MarkKind.WEEKDAY)
        else:
            self._mark(token, MarkKind.ATTRIBUTE, event.type)

    def _in_where_target(self) -> bool:
        """Whether an attribute of the defined event is to be named, before its `=`."""
        return (
            self.clause is Clause.WHERE
            and not self.stack
            and self.before is not None
            and (self.before.is_word("where", "and") or self.before.is_symbol(","))
        )

    def _event(self, token: Token) -> None:
        role = Role.AGGREGATED if self.stack else Role(self.conjunct)
        event = EventUse(token.text, role, token.span)
        if role is Role.SELECTED and self.before is not None:
            event.policy = self.before.lower
        if (
            role is Role.TERMINATOR
            and self.before_that is not None
            and self.before_that.kind is TokenKind.DURATION
        ):
            event.deadline = self.before_that.text
        self.events.append(event)
        self._mark(token, MarkKind.TYPE, token.text)
        if self.stack:
            self.stack[-1].event = event
        else:
            self.current = event

    def _attribute_behind_dot(self, token: Token) -> None:
        whose = self.before_that
        frame = self.stack[-1] if self.stack else None
        if whose is not None and whose.is_symbol(")"):
            owner = frame.event.type if frame is not None and frame.event is not None else ""
            self._mark(token, MarkKind.ATTRIBUTE, owner)
        elif whose is not None and whose.kind is TokenKind.WORD:
            of_type = bool(self.marks) and self._mark_of(whose).kind is MarkKind.TYPE
            self._mark(
                token, MarkKind.ATTRIBUTE, whose.text if of_type else "", "" if of_type else whose.text
            )
        else:
            self._mark(token, MarkKind.OTHER)

    # --- Symbols ------------------------------------------------------------------------------------------

    def _symbol(self, token: Token) -> None:
        if token.text == "(":
            self._open()
        elif token.text == ")":
            if self.stack:
                self.closed = self.stack.pop()
        elif token.text == ".":
            if self.before is not None and self.before.kind is TokenKind.WORD:
                mark = self._mark_of(self.before)
                if mark.kind is not MarkKind.TYPE and mark.token is self.before:
                    mark.kind = MarkKind.EVENT
        elif token.text != ",":
            self._is_condition()

    def _open(self) -> None:
        before = self.before
        mark = self._mark_of(before) if before is not None and before.kind is TokenKind.WORD else None
        if self.clause in (Clause.START, Clause.DECLARATION, Clause.HEAD):
            self.stack.append(Frame("list"))
        elif mark is not None and mark.kind is MarkKind.TYPE and self.events:
            self.stack.append(Frame("event", self.events[-1]))
        elif mark is not None and mark.kind is MarkKind.AGGREGATE:
            self.stack.append(Frame("aggregate"))
        elif mark is not None and mark.kind is MarkKind.FUNCTION:
            self.stack.append(Frame("function"))
        else:
            self._is_condition()
            self.stack.append(Frame("group"))

    def _is_condition(self) -> None:
        if (
            self.clause is Clause.FROM
            and not self.stack
            and not (self.current or self.conjunct == Role.TERMINATOR)
        ):
            self.conjunct = "condition"

    def _mark(self, token: Token, kind: MarkKind, owner: str = "", through: str = "") -> None:
        self.marks.append(Mark(token, kind, owner, through))

    def _mark_of(self, token: Token) -> Mark:
        if self.marks and self.marks[-1].token is token:
            return self.marks[-1]
        return Mark(token, MarkKind.OTHER)


def scan(tokens: Sequence[Token]) -> Scan:
    """Read the tokens of a piece."""
    result = Scan()
    visible = [token for token in tokens if token.kind is not TokenKind.COMMENT]
    for token, following in _with_next(visible):
        result.feed(token, following)
    return result


def _with_next(tokens: Sequence[Token]) -> Iterator[tuple[Token, Token | None]]:
    for i, token in enumerate(tokens):
        yield token, tokens[i + 1] if i + 1 < len(tokens) else None
