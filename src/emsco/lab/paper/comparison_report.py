"""The comparison in words and tables: the paper's numbers, paired tests, and its claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, TypeAlias

from emsco.lab.methods import CONTESTANTS, Contestant
from emsco.lab.paper.comparison import Comparison
from emsco.lab.paper.equal_cost import equal_cost
from emsco.lab.paper.published import MARGINS, TABLE
from emsco.lab.paper.standings import Duel, Standing, duels
from emsco.stats.tests import ALPHA

Gains: TypeAlias = dict[str, tuple[float, float, float]]  # coverage, accuracy, cost, by rival
Duels: TypeAlias = dict[Contestant, Duel]  # of one contestant on one set, by rival

PAPERS = Contestant("paper", "fittest")  # the contestant that the paper deploys
_PAPER_RIVALS = ("greedy_miser", "cstc", "cact_lasso", "cost_ordered")


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper about EMSCO, and the sets on which it holds here.

    Attributes
    ----------
    text : str
    holds_on, fails_on : tuple of str
        Sets, judged by the means over splits.
    needed : int
        Number of sets on which it has to hold.
    """

    text: str
    holds_on: tuple[str, ...]
    fails_on: tuple[str, ...]
    needed: int

    @property
    def holds(self) -> bool:
        """Whether the claim holds on as many sets as the paper says."""
        return len(self.holds_on) >= self.needed

    def sentence(self) -> str:
        """The claim and its verdict in words."""
        n_sets = len(self.holds_on) + len(self.fails_on)
        word = "holds" if self.holds else "does not hold"
        but = f", not on {', '.join(self.fails_on)}" if self.fails_on else ""
        on = f"on {len(self.holds_on)} of {n_sets} sets{but}"
        return f"{self.text}: {word} ({on}; {self.needed} needed)"


@dataclass(frozen=True, eq=False)
class ComparisonReport:
    """A comparison in words and tables; every test is computed once."""

    comparison: Comparison

    @cached_property
    def duels(self) -> dict[tuple[str, Contestant], Duels]:
        """Duels of every contestant with its rivals, by set and contestant.

        All tests of a contestant on a set are corrected together.
        """
        return {
            (name, first): _duels_of(self.comparison, name, first)
            for name in self.comparison.sets
            for first in self.comparison.contestants(name)
        }

    @cached_property
    def at_equal_cost(
        self,
    ) -> dict[tuple[str, Contestant], dict[Contestant, tuple[Standing, Duel]]]:
        """Duels of EMSCO with rivals that may spend as much as it does."""
        return {
            (name, first): equal_cost(self.comparison, name, first)
            for name, first in self.duels
            if first.is_emsco
        }

    @cached_property
    def claims(self) -> dict[Contestant, list[Claim]]:
        """The paper's claims, checked for each of EMSCO's contestants.

        Only sets with results of all the paper's rivals count.
        """
        found = {first: self._claims_of(first) for first in CONTESTANTS if first.is_emsco}
        return {first: some for first, some in found.items() if some}

    def _claims_of(self, first: Contestant) -> list[Claim]:
        needed = [first, *(Contestant(method, "tuned") for method in _PAPER_RIVALS)]
        ran = self.comparison.standings
        sets = [name for name in self.comparison.sets if all((name, one) in ran for one in needed)]
        if not sets:
            return []
        gains: dict[str, Gains] = {
            name: {rival.method: duel.gains for rival, duel in self.duels[name, first].items()}
            for name in sets
        }
        n_sets = {"all": len(sets), "three": min(3, len(sets)), "majority": len(sets) // 2 + 1}
        return [
            Claim(
                text,
                tuple(name for name in sets if holds(gains[name])),
                tuple(name for name in sets if not holds(gains[name])),
                n_sets[on],
            )
            for text, on, holds in _CLAIMS
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        found = self.comparison
        return {
            "experiment": "comparison",
            "seed": found.seed,
            "seconds": round(found.seconds, 1),
            "complete": found.complete,
            "standings": [
                {"set": name, **asdict(contestant), **_standing_dict(name, contestant, standing)}
                for (name, contestant), standing in found.standings.items()
            ],
            "duels": [
                _duel_dict(name, first, second, duel)
                for (name, first), fought in self.duels.items()
                for second, duel in fought.items()
            ],
            "at_equal_cost": [
                {**_duel_dict(name, first, second, duel), "rival": asdict(standing.mean)}
                for (name, first), fought in self.at_equal_cost.items()
                for second, (standing, duel) in fought.items()
            ],
            "claims": {
                first.label: [{**asdict(claim), "holds": claim.holds} for claim in some]
                for first, some in self.claims.items()
            },
            "seconds_by_method": _seconds(found),
            "notes": {f"{name} {method}": why for (name, method), why in found.notes.items()},
        }

    def to_markdown(self) -> str:
        """A table for every set, the duels, and the paper's claims."""
        found = self.comparison
        n_splits = max((len(one.splits) for one in found.standings.values()), default=0)
        lines = [
            f"# Comparison over {n_splits} random splits (seed {found.seed})",
            "",
            "Means over splits on test rows, ± 95 % margins of error. Tuning and choice used "
            "scored rows only. The paper's splits are not published, so its numbers, in the last "
            "columns, are of other rows.",
        ]
        for name in found.sets:
            lines += ["", f"## {name}", "", *_set_table(found, name)]
        at_equal_cost = {
            place: {rival: duel for rival, (_, duel) in fought.items()}
            for place, fought in self.at_equal_cost.items()
        }
        lines += ["", "## EMSCO beside each rival", "", _ABOUT_DUELS]
        lines += _duel_lines(found, self.duels)
        lines += ["", "## Rivals at EMSCO's cost", "", _ABOUT_EQUAL_COST]
        lines += _duel_lines(found, at_equal_cost)
        lines += ["", "## The paper's claims", "", *_claim_lines(self.claims)]
        if notes := found.notes:
            lines += ["", "## Notes", ""]
            lines += [f"- {name}, {method}: {why}" for (name, method), why in notes.items()]
        return "\n".join(lines)


def _duels_of(comparison: Comparison, name: str, first: Contestant) -> Duels:
    standings = comparison.standings
    others = [one for one in comparison.contestants(name) if not one.is_emsco and one != first]
    found = duels(standings[name, first], [standings[name, other] for other in others])
    return dict(zip(others, found, strict=True))


def _undominated(gains: Gains, rivals: Iterable[str]) -> bool:
    return not any(max(gains[rival]) <= 0 and any(gains[rival]) for rival in rivals)


_CLAIMS: tuple[tuple[str, str, Callable[[Gains], bool]], ...] = (
    (
        "not dominated by any rival of the paper",
        "all",
        lambda gains: _undominated(gains, _PAPER_RIVALS),
    ),
    ("not dominated by any rival at all", "all", lambda gains: _undominated(gains, gains)),
    (
        "more accurate than Greedy Miser and CSTC",
        "all",
        lambda gains: all(gains[rival][1] > 0 for rival in _PAPER_RIVALS[:2]),
    ),
    (
        "cheaper than Greedy Miser and CSTC",
        "three",
        lambda gains: all(gains[rival][2] > 0 for rival in _PAPER_RIVALS[:2]),
    ),
    (
        "ahead of every rival of the paper in two of three objectives",
        "majority",
        lambda gains: all(sum(one > 0 for one in gains[rival]) >= 2 for rival in _PAPER_RIVALS),
    ),
)


def _standing_dict(name: str, contestant: Contestant, standing: Standing) -> dict[str, Any]:
    return {
        "splits": list(standing.splits),
        "repeats": standing.n_repeats,
        "mean": asdict(standing.mean),
        "margin": asdict(standing.margin),
        "margin_over_repeats": asdict(standing.repeat_margin),
        "by_split": standing.by_split.round(6).tolist(),
        "paper": published(name, contestant),
    }


def _duel_dict(name: str, first: Contestant, second: Contestant, duel: Duel) -> dict[str, Any]:
    return {
        "set": name,
        "first": [first.method, first.rule],
        "second": second.method,
        **asdict(duel),
        "verdict": duel.verdict,
    }


def _set_table(comparison: Comparison, name: str) -> Iterator[str]:
    yield "| method | accuracy % | coverage % | cost | paper: accuracy % | coverage % | cost |"
    yield "|---|---|---|---|---|---|---|"
    for contestant in comparison.contestants(name):
        standing = comparison.standings[name, contestant]
        printed = published(name, contestant)
        paper = ("–", "–", "–")
        if printed:
            margins = MARGINS[name] if contestant.is_emsco else None
            paper = _cells(printed, margins)
        own = _cells(_values(standing), _margins(standing))
        yield f"| {contestant.label} | {' | '.join(own)} | {' | '.join(paper)} |"


def _values(standing: Standing) -> tuple[float, float, float]:
    return standing.mean.accuracy, standing.mean.coverage, standing.mean.cost


def _margins(standing: Standing) -> tuple[float, float, float] | None:
    margin = standing.margin
    return (margin.accuracy, margin.coverage, margin.cost) if len(standing.splits) > 1 else None


def _cells(
    values: tuple[float, float, float], margins: tuple[float, float, float] | None
) -> tuple[str, str, str]:
    """Accuracy and coverage in percent, and cost, each with its margin if there is one."""
    factors = (100, 100, 1)
    accuracy, coverage, cost = (
        f"{value * factor:.1f}" for value, factor in zip(values, factors, strict=True)
    )
    if margins is None:
        return accuracy, coverage, cost
    more = [f" ± {margin * factor:.1f}" for margin, factor in zip(margins, factors, strict=True)]
    return accuracy + more[0], coverage + more[1], cost + more[2]


def published(name: str, contestant: Contestant) -> tuple[float, float, float] | None:
    """Accuracy, coverage and cost that the paper prints for a contestant; None if it has none."""
    if contestant.is_emsco:
        return TABLE[name]["emsco"] if contestant == PAPERS else None
    return TABLE[name].get(contestant.method)


_ABOUT_DUELS = (
    "Mean gains of EMSCO over splits: accuracy and coverage in points, and cost. Bold gains are "
    "significant at 5 % in a paired t-test over splits (Nadeau and Bengio's, since splits share "
    "rows). Holm's method corrects all tests of a contestant on a set. *Dominates* means as good "
    "on average in all three and significantly better in one."
)
_ABOUT_EQUAL_COST = (
    "Here each rival is tuned for EMSCO's budget. Among its settings that cost no more than EMSCO "
    "on the scored rows of a split, it deploys the one with the largest coverage² + accuracy² "
    "there. (The balanced score would also reward settings that buy next to nothing.) Gains and "
    "tests are as above."
)


def _duel_lines(
    comparison: Comparison, fought: Mapping[tuple[str, Contestant], Duels]
) -> Iterator[str]:
    yield ""
    yield "| set | contestant | rival | accuracy | coverage | cost | verdict | splits won : lost |"
    yield "|---|---|---|---|---|---|---|---|"
    for name in comparison.sets:
        for first in _shown(comparison, name):
            for second, duel in fought[name, first].items():
                yield _duel_line(name, first, second, duel)


def _shown(comparison: Comparison, name: str) -> list[Contestant]:
    """Contestants whose duels are shown: the paper's, our best search, and "excluding"."""
    own = comparison.contestants(name)
    balanced = [one for one in own if one.rule == "balanced"]
    best = [one for one in balanced if one.method in ("evolution", "exact")][-1:]
    excluding = [one for one in balanced if one.method == "excluding"]
    return [one for one in own if one == PAPERS] + best + excluding


def _duel_line(name: str, first: Contestant, second: Contestant, duel: Duel) -> str:
    sure = [p < ALPHA for p in duel.p_values]
    coverage, accuracy, cost = (
        f"**{gain * factor:+.1f}**" if bold else f"{gain * factor:+.1f}"
        for gain, factor, bold in zip(duel.gains, (100, 100, 1), sure, strict=True)
    )
    return (
        f"| {name} | {first.label} | {second.label} | {accuracy} | {coverage} "
        f"| {cost} | {duel.verdict} | {duel.n_won} : {duel.n_lost} of {duel.n_splits} |"
    )


def _claim_lines(claims: Mapping[Contestant, list[Claim]]) -> Iterator[str]:
    for first, found in claims.items():
        yield f"**{first.label}**"
        yield ""
        yield from (f"- {claim.sentence()}" for claim in found)
        yield ""


def _seconds(comparison: Comparison) -> dict[str, float]:
    """Mean seconds per job, by set and method."""
    spent: dict[str, list[float]] = {}
    for job, result in comparison.results.items():
        spent.setdefault(f"{job.name} {job.method}", []).append(result.seconds)
    return {key: round(sum(one) / len(one), 2) for key, one in spent.items()}
