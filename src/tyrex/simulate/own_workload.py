"""A workload of one's own: rules, and a file that names sources, sinks, and what stands in events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tyrex.rules import NotUtf8, RuleSet, examine, read_sources
from tyrex.simulate.contents import Between, Draw, OneOf
from tyrex.simulate.toml_reader import IMPOSSIBLE, UNREADABLE, Reader, Section
from tyrex.simulate.topology import Topology
from tyrex.simulate.workload import Arrivals, Feed, Sink, Workload
from tyrex.tesla import TeslaError
from tyrex.tesla.diagnostics import did_you_mean, listing
from tyrex.tesla.types import EventType, ValueType

_MEASURED = -1.0
"""Stands for the rate of a source whose rate is to be measured."""


@dataclass
class OwnWorkload:
    """Rules, sources and sinks that a file names."""

    reader: Reader
    section: Section
    topology: Topology | None
    """None if something is wrong with it: then processors are not looked up."""
    seed: int = 0
    rates: Mapping[str, float] | None = None
    """For types, events in a second, as they were measured; divided among the sources that say no rate."""

    def read(self, folder: Path) -> Workload | None:
        """The workload with the rules that the section names; None if anything is wrong, which the reader knows."""
        rules, text, raced = self._rules(folder)
        return self.with_rules(rules, text, raced=raced)

    def with_rules(self, rules: RuleSet | None, text: str, *, raced: bool) -> Workload | None:
        """The workload with these rules."""
        arrivals = Arrivals(
            self.section.choice("arrivals", [one.value for one in Arrivals], Arrivals.POISSON.value)
        )
        sources, sinks = self.section.sections("source"), self.section.sections("sink")
        if rules is None:
            return None
        feeds = self._shared([feed for one in sources for feed in self._feeds(one, rules)])
        found = [sink for one in sinks for sink in self._sinks(one, rules)]
        draws = self._draws(rules)
        if not sources:
            self.section.wrong(
                IMPOSSIBLE, "nobody publishes an event", suggestion="add `[[workload.source]]`"
            )
        if not sinks:
            self.section.wrong(IMPOSSIBLE, "nobody wants an event", suggestion="add `[[workload.sink]]`")
        return Workload(
            rules=text,
            feeds=tuple(feeds),
            sinks=tuple(found),
            draws=draws,
            arrivals=arrivals,
            seed=self.seed,
            raced=raced,
        )

    def _rules(self, folder: Path) -> tuple[RuleSet | None, str, bool]:
        name = self.section.text("rules", needed=True)
        if name is None:
            return None, "", False
        try:
            sources = read_sources(folder / name)
        except (OSError, NotUtf8) as error:
            message = str(error) if isinstance(error, NotUtf8) else f"{error.filename}: {error.strerror}"
            self.section.wrong(UNREADABLE, f"the rules can't be read: {message}", "rules")
            return None, "", False
        if len(sources) != 1:
            self.section.wrong(UNREADABLE, f"{name} is no file of rules", "rules", suggestion="name one file")
            return None, "", False
        rules, diagnostics = examine(sources)
        if rules is None:
            self.reader.also(diagnostics)
        return rules, sources[0].text, name.endswith(".raced")

    def _feeds(self, section: Section, rules: RuleSet) -> list[Feed]:
        made = {rule.defines.name for rule in rules}
        type_ = self._type(section, "type", {n: t for n, t in rules.types.items() if n not in made})
        places = self._processors(section)
        known = self.rates is not None and "rate" not in section.keys
        rate = _MEASURED if known else section.needed_number("rate", least=1e-9)
        if known:
            section.values("rate")
        section.close()
        return [Feed(place, type_.name, rate or 0) for place in places] if type_ is not None else []

    def _shared(self, feeds: list[Feed]) -> list[Feed]:
        """Sources without a rate share what was measured of their type; those of types that never came are left out."""
        if self.rates is None:
            return feeds
        waiting = Counter(feed.type for feed in feeds if feed.rate == _MEASURED)
        found = []
        for feed in feeds:
            rate = feed.rate
            if rate == _MEASURED:
                rate = self.rates.get(feed.type, 0.0) / waiting[feed.type]
            if rate > 0:
                found.append(Feed(feed.processor, feed.type, rate))
        return found

    def _sinks(self, section: Section, rules: RuleSet) -> list[Sink]:
        wanted = []
        for text in section.texts("want", needed=True):
            try:
                rules.subscription(text if "(" in text else f"{text}()")
            except TeslaError as error:
                said = error.diagnostics[0]
                section.wrong(
                    IMPOSSIBLE,
                    f"`{text}` can't be subscribed to: {said.message}",
                    "want",
                    expected=said.expected,
                    suggestion=said.suggestion,
                )
                continue
            wanted.append(text if "(" in text else f"{text}()")
        places = self._processors(section)
        section.close()
        return [Sink(place, tuple(wanted)) for place in places]

    def _processors(self, section: Section) -> tuple[str, ...]:
        """`processor = "p1"`, a list of them, or `"all"`."""
        given = section.values("processor")
        names = [given] if isinstance(given, str) else given
        if not isinstance(names, list) or not all(isinstance(one, str) for one in names) or not names:
            section.wrong(
                IMPOSSIBLE, "it is not said at which processor", "processor", suggestion='`processor = "p1"`'
            )
            return ()
        known = self.topology.processors if self.topology is not None else tuple(names)
        if names == ["all"]:
            return known
        for name in names:
            if name not in known:
                section.wrong(
                    IMPOSSIBLE,
                    f"there is no processor `{name}`",
                    "processor",
                    expected=listing(known[:8]) + (" .." if len(known) > 8 else ""),
                    suggestion=did_you_mean(name, known),
                )
                return ()
        return tuple(names)

    def _type(self, section: Section, key: str, types: Mapping[str, EventType]) -> EventType | None:
        name = section.text(key, needed=True)
        if name is None:
            return None
        if name not in types:
            section.wrong(
                IMPOSSIBLE,
                f"there is no event type `{name}` for sources",
                key,
                expected=listing(sorted(types)),
                suggestion=did_you_mean(name, types),
            )
        return types.get(name)

    def _draws(self, rules: RuleSet) -> dict[str, dict[str, Draw]]:
        """`[workload.values.Temp]`: for attributes a list of values, or `{ low = 0, high = 10 }`."""
        section = self.section.section("values")
        found: dict[str, dict[str, Draw]] = {}
        for name in section.keys:
            below = section.section(name)
            type_ = rules.types.get(name)
            if type_ is None:
                section.wrong(
                    IMPOSSIBLE,
                    f"there is no event type `{name}`",
                    name,
                    suggestion=did_you_mean(name, rules.types),
                )
                continue
            found[name] = {}
            for attribute in type_.attributes:
                value = below.values(attribute.name)
                if value is not None:
                    draw = _draw(value, attribute.type)
                    if draw is None:
                        below.wrong(
                            IMPOSSIBLE,
                            f"`{attribute.name}` has no such values",
                            attribute.name,
                            expected=f"a list of {attribute.type.value} values, or `{{ low = 0, high = 10 }}`",
                        )
                    else:
                        found[name][attribute.name] = draw
            below.close()
        section.close()
        return found


def _draw(value: Any, type_: ValueType) -> Draw | None:
    kinds: dict[ValueType, tuple[type, ...]] = {
        ValueType.STRING: (str,),
        ValueType.INT: (int,),
        ValueType.FLOAT: (int, float),
        ValueType.BOOL: (bool,),
    }
    match value:
        case list() if value and all(
            isinstance(one, kinds[type_]) and (isinstance(one, bool) == (type_ is ValueType.BOOL))
            for one in value
        ):
            return OneOf(tuple(value))
        case {"low": int() | float() as low, "high": int() | float() as high} if (
            len(value) == 2 and low <= high and type_ in (ValueType.INT, ValueType.FLOAT)
        ):
            return Between(low, high)
        case _:
            return None
