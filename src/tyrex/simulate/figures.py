"""The figures of both papers: what each changes in the scenario."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from tyrex.simulate.deployment import Deployment
from tyrex.simulate.raced_scenario import Raced
from tyrex.simulate.scenario import Run
from tyrex.simulate.sweep import Case

DEPLOYMENT = ("Centr", "ST", "MT", "STpp", "MTpp")
RACED = ("RACED", "PADRES")


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: its values, and the scenario for each."""

    name: str
    title: str
    across: str
    values: tuple[float, ...]
    change: Callable[[float], Deployment | Raced]
    strategies: tuple[str, ...] = DEPLOYMENT
    logarithmic: bool = False
    delay: bool = True
    """Whether the paper shows delays, too."""

    def cases(
        self, seeds: int, run: Run, *, few: bool = False, modes: Sequence[str] = ("exact",)
    ) -> Iterator[Case]:
        """What is to be run; the strategies on one scenario come together."""
        for value in self.shown(few):
            for seed in range(seeds):
                parameters = replace(self.change(value), seed=seed)
                how = run if self.delay else replace(run, samples=0)
                for mode in modes:
                    for strategy in self.strategies:
                        yield Case(parameters, strategy, mode, how, f"{self.name} {value}")

    def shown(self, few: bool) -> tuple[float, ...]:
        """The values, or a few of them: the ends and the middle."""
        count = len(self.values)
        return tuple(self.values[i] for i in sorted({0, count // 2, count - 1})) if few else self.values


def _processors(value: float) -> Deployment:
    """A network of another size: types and rules grow with it, and so many links that ways are as long as before.

    The number of hops grows as ln(processors) / ln(degree); it is kept at that of 20 processors with 5 neighbours.
    """
    number = int(value)
    degree = max(2.0, min(number - 1.0, number ** (1.0 / 1.8614)))
    return Deployment(processors=number, degree=degree, types=6 * number, rules=5 * number)


def _local(value: float) -> Deployment:
    return replace(_processors(value), classes=10, neighbourhood=3)


def _pull(value: float) -> Deployment:
    """Each type is used by one rule, 50 processors, windows of a second."""
    return Deployment(
        processors=50, degree=50 ** (1.0 / 1.8614), rules=100, length=int(value), window=1, distinct=True
    )


SIZES = (5.0, 10.0, 20.0, 30.0, 50.0)

FIGURES: tuple[Figure, ...] = (
    Figure("10", "Default scenario", "", (0.0,), lambda _: Deployment()),
    Figure("11", "Number of rules", "rules", (50.0, 100.0, 200.0, 300.0), lambda v: Deployment(rules=int(v))),
    Figure(
        "12",
        "Number of subscriptions",
        "subscriptions per processor",
        (1.0, 2.0, 5.0, 10.0, 20.0),
        lambda v: Deployment(subscriptions=int(v)),
    ),
    Figure(
        "13",
        "Selection policy",
        "% of each-within",
        (0.0, 10.0, 20.0, 30.0),
        lambda v: Deployment(each=v / 100),
    ),
    Figure(
        "14",
        "Size of windows",
        "average window, s",
        (10.0, 30.0, 60.0, 120.0),
        lambda v: Deployment(window=v),
    ),
    Figure(
        "15",
        "Content-based filtering",
        "values of the attribute",
        (1.0, 2.0, 5.0, 10.0),
        lambda v: Deployment(values=int(v)),
    ),
    Figure("16", "Number of processors", "processors", SIZES, _processors),
    Figure("17", "Number of processors, with locality", "processors", SIZES, _local),
    Figure(
        "18",
        "Number of processors, with filtering",
        "processors",
        SIZES,
        lambda v: replace(_processors(v), values=10),
        delay=False,
    ),
    Figure(
        "19",
        "Publication rate",
        "longest time between publications, s",
        (5.0, 100.0, 1000.0, 10000.0),
        lambda v: Deployment(slowest=1 / v),
        logarithmic=True,
    ),
    Figure("20", "A scenario for pull", "events in a rule", (2.0, 3.0, 4.0, 6.0), _pull),
)

RACED_FIGURES: tuple[Figure, ...] = (
    Figure(
        "6a",
        "Size of the window",
        "window, s",
        (2.0, 5.0, 10.0),
        lambda v: Raced(window=v),
        RACED,
        delay=False,
    ),
    Figure(
        "6b",
        "Number of filters",
        "filters",
        (2.0, 3.0, 4.0, 5.0),
        lambda v: Raced(filters=int(v)),
        RACED,
        delay=False,
    ),
    Figure(
        "6c",
        "Variance of rates",
        "variance",
        (0.0, 1.0, 2.0, 4.0),
        lambda v: Raced(variance=v),
        RACED,
        delay=False,
    ),
    Figure(
        "7n",
        "Negated filters",
        "negated filters",
        (0.0, 1.0, 2.0),
        lambda v: Raced(negated=int(v)),
        RACED,
        delay=False,
    ),
)
