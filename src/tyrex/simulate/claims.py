"""What the papers say of their figures, each with a check of our own measurements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tyrex.simulate.charts import number
from tyrex.simulate.results import Results

TRAFFIC, DELAY = "events_per_second", "assumed"
PUSH, PULL = ("ST", "MT"), (("ST", "STpp"), ("MT", "MTpp"))


@dataclass(frozen=True, slots=True)
class Seen:
    """Whether we see it, and by which numbers."""

    holds: bool
    numbers: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of a paper about a figure."""

    figure: str
    text: str
    check: Callable[[Results], Seen | None]
    """None if the runs that it needs are not there."""


class _Missing(Exception):
    """A run that a check needs was not made."""


@dataclass(frozen=True, slots=True)
class _Ask:
    """Questions to the results of one figure."""

    results: Results
    figure: str

    @property
    def values(self) -> list[float]:
        found = self.results.values(self.figure)
        if not found:
            raise _Missing
        return found

    def at(self, value: float, strategy: str, what: str = TRAFFIC) -> float:
        found = self.results.get(self.figure, value, strategy, what)
        if found is None:
            raise _Missing
        return found.mean

    def first(self, strategy: str, what: str = TRAFFIC) -> float:
        return self.at(self.values[0], strategy, what)

    def last(self, strategy: str, what: str = TRAFFIC) -> float:
        return self.at(self.values[-1], strategy, what)

    def line(self, strategy: str, what: str = TRAFFIC) -> list[float]:
        return [self.at(value, strategy, what) for value in self.values]

    def several(self) -> None:
        if len(self.values) < 2:
            raise _Missing


def _claim(figure: str, text: str, ask: Callable[[_Ask], Seen]) -> Claim:
    def check(results: Results) -> Seen | None:
        try:
            return ask(_Ask(results, figure))
        except _Missing:
            return None

    return Claim(figure, text, check)


def _list(values: list[float]) -> str:
    return " → ".join(number(value) for value in values)


# --- Checks that several figures share --------------------------------------------------------------------


def _flat(strategies: tuple[str, ...], most: float = 1.25) -> Callable[[_Ask], Seen]:
    """The delay changes by less than a quarter over the values."""

    def check(ask: _Ask) -> Seen:
        ask.several()
        spread = {s: max(ask.line(s, DELAY)) / max(1e-9, min(ask.line(s, DELAY))) for s in strategies}
        told = ", ".join(f"{s} {_list(ask.line(s, DELAY))} ms" for s in strategies)
        return Seen(max(spread.values()) < most, told)

    return check


def _rises(strategies: tuple[str, ...], *, falls: bool = False) -> Callable[[_Ask], Seen]:
    """The traffic at the last value is above that at the first."""

    def check(ask: _Ask) -> Seen:
        ask.several()
        signs = [ask.last(s) > ask.first(s) for s in strategies]
        told = "; ".join(f"{s} {_list(ask.line(s))}" for s in strategies)
        return Seen(not any(signs) if falls else all(signs), told)

    return check


def _growth(ask: _Ask, strategy: str) -> float:
    ask.several()
    return ask.last(strategy) / ask.first(strategy)


def _saved(ask: _Ask, value: float, pair: tuple[str, str]) -> float:
    """The part of the traffic that pull saves."""
    push, pull = pair
    return 1 - ask.at(value, pull) / ask.at(value, push)


def _less(few: str, many: str, what: str = TRAFFIC) -> Callable[[_Ask], Seen]:
    """One strategy is below another at the last value."""

    def check(ask: _Ask) -> Seen:
        a, b = ask.last(few, what), ask.last(many, what)
        return Seen(a < b, f"{few} {number(a)}, {many} {number(b)}")

    return check


# --- Each claim -------------------------------------------------------------------------------------------


def _multiple_is_quicker(ask: _Ask) -> Seen:
    pairs = [("MT", "ST"), ("MTpp", "STpp")]
    told = "; ".join(f"{a} {ask.first(a, DELAY):.1f} ms, {b} {ask.first(b, DELAY):.1f} ms" for a, b in pairs)
    return Seen(all(ask.first(a, DELAY) < ask.first(b, DELAY) for a, b in pairs), told)


def _alike(ask: _Ask) -> Seen:
    a, b = ask.first("Centr", DELAY), ask.first("ST", DELAY)
    return Seen(abs(a - b) <= 0.1 * max(a, b), f"Centr {a:.1f} ms, ST {b:.1f} ms")


def _pull_is_slower(ask: _Ask) -> Seen:
    told = "; ".join(f"{a} {ask.first(a, DELAY):.1f} ms, {b} {ask.first(b, DELAY):.1f} ms" for a, b in PULL)
    return Seen(all(ask.first(b, DELAY) > ask.first(a, DELAY) for a, b in PULL), told)


def _central_is_most(ask: _Ask) -> Seen:
    others = {s: ask.first(s) for s in ("ST", "MT", "STpp", "MTpp")}
    centr = ask.first("Centr")
    told = f"Centr {number(centr)}; " + ", ".join(f"{s} {number(v)}" for s, v in others.items())
    return Seen(all(value < 0.95 * centr for value in others.values()), told)


def _pull_saves_little(ask: _Ask) -> Seen:
    saved = {pull: _saved(ask, ask.values[0], (push, pull)) for push, pull in PULL}
    told = ", ".join(f"{s} {part:+.1%}" for s, part in saved.items())
    return Seen(all(0 <= part < 0.15 for part in saved.values()), f"saved: {told}")


def _multiple_grows_faster(ask: _Ask) -> Seen:
    many, one = _growth(ask, "MT"), _growth(ask, "ST")
    return Seen(many > one, f"MT x{many:.2f}, ST x{one:.2f}")


def _crossing(below: bool) -> Callable[[_Ask], Seen]:
    def check(ask: _Ask) -> Seen:
        values = [v for v in ask.values if (v < 5 if below else v > 5)]
        if not values:
            raise _Missing
        pairs = [(v, ask.at(v, "MT"), ask.at(v, "ST")) for v in values]
        told = "; ".join(f"{v:g}: MT {number(a)}, ST {number(b)}" for v, a, b in pairs)
        return Seen(all(a < b if below else b < a for _, a, b in pairs), told)

    return check


def _pull_gains_nothing_with_many(ask: _Ask) -> Seen:
    saved = _saved(ask, ask.values[-1], ("MT", "MTpp"))
    return Seen(saved < 0.02, f"MTpp saves {saved:+.1%} with {ask.values[-1]:g} subscriptions")


def _single_suffers_from_each(ask: _Ask) -> Seen:
    one, many = _growth(ask, "ST"), _growth(ask, "MT")
    return Seen(one > many and one > 1.1, f"ST x{one:.2f}, MT x{many:.2f}")


def _gap_to_central(strategy: str, *, grows: bool) -> Callable[[_Ask], Seen]:
    """The relative difference in traffic between Centr and a strategy grows, or shrinks, with the value."""

    def check(ask: _Ask) -> Seen:
        ask.several()
        gaps = [1 - ask.at(v, strategy) / ask.at(v, "Centr") for v in ask.values]
        told = f"{strategy} is below Centr by " + " → ".join(f"{gap:+.1%}" for gap in gaps)
        return Seen((gaps[-1] > gaps[0]) is grows, told)

    return check


def _pull_prefers(small: bool) -> Callable[[_Ask], Seen]:
    """Pull saves more at the smallest value than at the largest, or the other way round."""

    def check(ask: _Ask) -> Seen:
        ask.several()
        told, holds = [], []
        for push, pull in PULL:
            first, last = (_saved(ask, ask.values[end], (push, pull)) for end in (0, -1))
            told.append(f"{pull} saves {first:+.1%} → {last:+.1%}")
            holds.append(first > last if small else last > first)
        return Seen(all(holds), "; ".join(told))

    return check


def _locality(ask: _Ask) -> Seen:
    one, many, centr = (ask.last(s) for s in ("ST", "MT", "Centr"))
    told = f"ST {number(one)}, MT {number(many)}, Centr {number(centr)}"
    return Seen(one <= many < centr and many < 1.5 * one, told)


def _filtering(ask: _Ask) -> Seen:
    ask.several()
    gaps = {s: 1 - ask.last(s) / ask.last("Centr") for s in PUSH}
    return Seen(
        all(gap > 0.2 for gap in gaps.values()),
        ", ".join(f"{s} is below Centr by {gap:+.1%}" for s, gap in gaps.items()),
    )


def _pull_costs_with_equal_rates(ask: _Ask) -> Seen:
    saved = {pull: _saved(ask, ask.values[0], (push, pull)) for push, pull in PULL}
    told = ", ".join(f"{s} saves {part:+.1%}" for s, part in saved.items())
    return Seen(all(part <= 0 for part in saved.values()), told)


def _pull_saves_in_its_scenario(ask: _Ask) -> Seen:
    saved = [_saved(ask, value, pair) for pair in PULL for value in ask.values]
    told = "; ".join(
        f"{pair[1]} saves " + " → ".join(f"{_saved(ask, v, pair):+.1%}" for v in ask.values) for pair in PULL
    )
    return Seen(0.13 <= sum(saved) / len(saved) <= 0.25, told)


def _pull_waits_longer(ask: _Ask) -> Seen:
    ask.several()
    told = "; ".join(f"{pull} {_list(ask.line(pull, DELAY))} ms" for _, pull in PULL)
    return Seen(all(ask.last(pull, DELAY) > ask.first(pull, DELAY) for _, pull in PULL), told)


def _raced_saves(least: float, most: float) -> Callable[[_Ask], Seen]:
    def check(ask: _Ask) -> Seen:
        saved = [_saved(ask, v, ("PADRES", "RACED")) for v in ask.values]
        told = "RACED saves " + " → ".join(f"{part:+.1%}" for part in saved)
        return Seen(all(least <= part <= most for part in saved), told)

    return check


def _raced_gains(grows: bool) -> Callable[[_Ask], Seen]:
    def check(ask: _Ask) -> Seen:
        ask.several()
        saved = [_saved(ask, v, ("PADRES", "RACED")) for v in ask.values]
        told = "RACED saves " + " → ".join(f"{part:+.1%}" for part in saved)
        holds = max(saved) > 0 and (saved[-1] > saved[0]) is grows  # less of a loss is no gain
        return Seen(holds, told)

    return check


_ALL = ("Centr", "ST", "MT", "STpp", "MTpp")
_BOTH = ("RACED", "PADRES")

CLAIMS: tuple[Claim, ...] = (
    _claim(
        "10", "Strategies with several trees have lower delays than those with one.", _multiple_is_quicker
    ),
    _claim("10", "Centr and ST have almost the same delay.", _alike),
    _claim("10", "Pull makes the delay slightly higher.", _pull_is_slower),
    _claim("10", "Centr generates significantly more traffic than all others.", _central_is_most),
    _claim(
        "10", "Strategies with several trees generate more traffic than those with one.", _less("ST", "MT")
    ),
    _claim("10", "Pull has a marginal benefit in traffic.", _pull_saves_little),
    _claim("11", "The delay does not change significantly with the number of rules.", _flat(_ALL)),
    _claim("11", "The traffic grows with the number of rules.", _rises(_ALL)),
    _claim("11", "It grows slightly faster with several trees.", _multiple_grows_faster),
    _claim("12", "The delay is not influenced by the number of subscriptions.", _flat(_ALL)),
    _claim("12", "The traffic grows with the number of subscriptions.", _rises(_ALL)),
    _claim(
        "12", "With less than 5 subscriptions per processor, MT has less traffic than ST.", _crossing(True)
    ),
    _claim("12", "With more than 5, ST has less.", _crossing(False)),
    _claim("12", "With many subscriptions, pull gains MT nothing.", _pull_gains_nothing_with_many),
    _claim("13", "The delay does not depend on the selection policy.", _flat(_ALL)),
    _claim(
        "13",
        "With more `each`, the traffic of ST increases significantly, that of MT little.",
        _single_suffers_from_each,
    ),
    _claim("14", "The delay does not change significantly with the windows.", _flat(_ALL)),
    _claim("14", "All strategies have more traffic with larger windows.", _rises(_ALL)),
    _claim(
        "14",
        "The difference between ST and Centr decreases with larger windows.",
        _gap_to_central("ST", grows=False),
    ),
    _claim(
        "14",
        "The difference between MT and Centr increases with larger windows.",
        _gap_to_central("MT", grows=True),
    ),
    _claim("14", "Pull is more efficient with small windows.", _pull_prefers(True)),
    _claim("15", "The delay is not influenced by filtering.", _flat(_ALL)),
    _claim("15", "More values of attributes reduce the traffic.", _rises(_ALL, falls=True)),
    _claim("15", "ST gains more from filtering than Centr.", _gap_to_central("ST", grows=True)),
    _claim("15", "MT gains more from filtering than Centr.", _gap_to_central("MT", grows=True)),
    _claim("16", "The traffic grows with the number of processors.", _rises(_ALL)),
    _claim("16", "It grows faster with several trees.", _multiple_grows_faster),
    _claim("17", "With locality ST is still best, MT is similar, and both are below Centr.", _locality),
    _claim("18", "With filtering, distributed processing has far less traffic than Centr.", _filtering),
    _claim("18", "Pull saves more with many processors.", _pull_prefers(False)),
    _claim("19", "The delay is not influenced by the publication rate.", _flat(_ALL)),
    _claim("19", "With rarer events all strategies have less traffic.", _rises(_ALL, falls=True)),
    _claim("19", "The advantage of ST over Centr increases.", _gap_to_central("ST", grows=True)),
    _claim("19", "Where rates differ little, pull costs more than it saves.", _pull_costs_with_equal_rates),
    _claim("20", "The delay of push does not depend on the length of sequences.", _flat(("Centr", *PUSH))),
    _claim("20", "With pull it increases with the length.", _pull_waits_longer),
    _claim(
        "20", "The advantage of ST over Centr increases with the length.", _gap_to_central("ST", grows=True)
    ),
    _claim("20", "Pull saves 15 to 20% of the traffic.", _pull_saves_in_its_scenario),
    _claim("6a", "Notifications increase with the window, in both protocols.", _rises(_BOTH)),
    _claim("6a", "RACED saves more with small windows (Fig. 7a).", _raced_gains(False)),
    _claim("6b", "Notifications increase with the number of filters, in both protocols.", _rises(_BOTH)),
    _claim("6b", "RACED saves more with more filters (Fig. 7b).", _raced_gains(True)),
    _claim("6c", "Notifications decrease with the variance of rates.", _rises(_BOTH, falls=True)),
    _claim("6c", "RACED saves 20% to more than 35% (Fig. 7c).", _raced_saves(0.18, 0.45)),
    _claim("6c", "RACED saves more with a greater variance (Fig. 7c).", _raced_gains(True)),
    _claim("7n", "Negated filters reduce what RACED saves (Fig. 7).", _raced_gains(False)),
)
