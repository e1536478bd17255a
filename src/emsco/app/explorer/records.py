"""Contents of the explorer page, as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from emsco._base.checks import check_whole, refused
from emsco._base.objectives import Objectives, metric_name
from emsco.costs import FeatureCosts
from emsco.designs.thresholds import MinConfidence
from emsco.plotting.classes import MOST_LABELS, MOST_LINES
from emsco.plotting.flow import Flow
from emsco.plotting.marks import ReferenceMark, check_currency
from emsco.stats.by_class import ByClass
from emsco.stats.error_costs import ErrorCosts
from emsco.stats.expected import Expected

_DIGITS = 10  # finer than any limit of a reader, and half as long as full precision


def rounded(numbers: Iterable[float], digits: int = _DIGITS) -> list[float]:
    """Write whole numbers as integers and round the others.

    Examples
    --------
    >>> rounded([2.0, 1 / 3])
    [2, 0.3333333333]
    """
    found = (float(f"{number:.{digits}g}") for number in numbers)
    return [int(number) if number.is_integer() else number for number in found]


_MOST_NUMBERS = 100_000  # about 0.4 MB; pages with more have the classes of the shortlist alone


def classes_of(
    scored: Sequence[ByClass | None],
    seen: Sequence[ByClass | None],
    wanted: Sequence[bool],
) -> dict[str, Any] | None:
    """Return the results by class of each design, or None if nobody has counted them.

    Parameters
    ----------
    scored, seen : sequence of ByClass or None
        One entry per design.
    wanted : sequence of bool
        The designs to keep if all of them would make a long file.
    """
    if None in scored or not scored:
        return None
    first = scored[0]
    labels = first.labels[:MOST_LINES] if first is not None else ()
    has_counts = len(labels) <= MOST_LABELS
    per_design = len(labels) * (len(labels) if has_counts else 3)
    kinds = {"scored": scored} | ({} if None in seen else {"seen": seen})
    if len(scored) * per_design * len(kinds) <= _MOST_NUMBERS:
        wanted = [True] * len(scored)
    return {
        "labels": [str(label) for label in labels],
        "more": len(first.labels) - len(labels) if first is not None else 0,
        "has_counts": has_counts,
        **{kind: _columns(found, wanted, has_counts) for kind, found in kinds.items()},
    }


def _columns(
    found: Sequence[ByClass | None], wanted: Sequence[bool], has_counts: bool
) -> dict[str, Any]:
    """Return the rows of each class, and the counts of each design.

    With `has_counts`, these are the rows of each class that got each label, one class after the
    other. Otherwise they are the correct rows, the labelled rows and the given labels by class.
    """
    rows = found[0].rows.tolist()[:MOST_LINES] if found[0] is not None else []
    counts = [
        _numbers(one, has_counts) if keep and one is not None else None
        for one, keep in zip(found, wanted, strict=True)
    ]
    return {"rows": rounded(rows), "counts": counts}


def _numbers(found: ByClass, has_counts: bool) -> list[float]:
    if has_counts:
        return rounded(count for line in found.counts for count in line[:-1])
    columns = (found.correct, found.answered, found.given)
    return rounded(np.concatenate([column[:MOST_LINES] for column in columns]).tolist())


def error_costs_record(
    costs: ErrorCosts, designs: Sequence[ByClass | None], references: Sequence[ByClass | None]
) -> dict[str, Any]:
    """Return the numbers at which the sliders begin, and factors if costs differ by class.

    The sliders then begin at the mean over the rows of all designs. The factors of a design say
    how much more its own wrong and rejected rows cost, and what its correct ones do, as shares of
    the sliders.
    """
    counted = [one for one in designs if one is not None]
    _, error, reject = costs.mean_costs(ByClass.joined(counted) if counted else None)
    found: dict[str, Any] = {"error": error, "reject": reject, "designs": None, "references": None}
    if costs.is_uniform or not counted:
        return found
    return {
        **found,
        "designs": _factors(costs, designs, error, reject),
        "references": _factors(costs, references, error, reject),
    }


def _factors(
    costs: ErrorCosts, found: Sequence[ByClass | None], error: float, reject: float
) -> dict[str, list[float]]:
    means = [costs.mean_costs(one, promised=True) for one in found]
    return {
        "correct": rounded(correct / (error or 1.0) for correct, _, _ in means),
        "wrong": rounded(wrong / (error or 1.0) for _, wrong, _ in means),
        "rejected": rounded(rejected / (reject or 1.0) for _, _, rejected in means),
    }


_NUMBER = "{number}"
_EXPECTED_DIGITS = 6  # expected figures are no more certain than their first two
_OBJECTIVES = ("coverage", "accuracy", "cost")


@dataclass(frozen=True, slots=True)
class ExploredDesign(Objectives):
    """A design of the page.

    Attributes
    ----------
    coverage, accuracy, cost : float
        Scored figures.
    n_tied : int
        Designs with exactly these objectives, this one included.
    flow : Flow
        Flow of the scored rows through its stages.
    seen : Flow or None
        Flow of the test rows, if there are any.
    by_class, seen_by_class : ByClass or None
        How the scored and the test rows of each class were labelled, if counted.
    is_informative : bool
        Whether its labels are better than the commonest class, beyond chance.
    shortlisted : bool
        Whether it differs beyond noise from the other shortlisted designs.
    is_simplified : bool
        Whether it is a simpler design than those of the front, and not worse beyond noise.
    expected : Expected or None
        What new rows will show, if estimated.
    """

    n_tied: int
    flow: Flow
    seen: Flow | None = None
    by_class: ByClass | None = None
    seen_by_class: ByClass | None = None
    is_informative: bool = True
    shortlisted: bool = True
    is_simplified: bool = False
    expected: Expected | None = None


@dataclass(frozen=True, slots=True)
class CertifiedDesigns:
    """What a certificate says of the designs of the page.

    Attributes
    ----------
    designs : tuple of int
        Numbers of the certified designs, best first.
    promises : tuple of str
        What they keep on new rows, in words.
    delta : float
        Highest chance of a false certificate.
    n_rows : int
        Rows that were tested.
    date : str
        Day of the test.
    """

    designs: tuple[int, ...]
    promises: tuple[str, ...]
    delta: float
    n_rows: int
    date: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "designs": list(self.designs),
            "promises": list(self.promises),
            "delta": self.delta,
            "rows": self.n_rows,
            "date": self.date,
        }


@dataclass(frozen=True, slots=True, eq=False)
class Explored:
    """Contents of the page of a front.

    Attributes
    ----------
    designs : sequence of ExploredDesign
        In the order of their numbers, from 0.
    best_first : sequence of int
        Numbers of the designs, best balanced score first.
    costs : FeatureCosts
    min_confidence : float or dict
        Confidence that a label needs, unless the flow of a design has thresholds.
    metric : str
        The metric that the accuracy of scored figures is; that of seen figures is plain.
    proven : bool
        Whether exact search has proven that no better designs exist.
    title : str
    deploy : str
        Command or line of Python that deploys a design. The number of the design replaces the
        last ``{number}`` in it.
    deployed : int or None
        Number of the deployed design.
    facts : sequence of (str, str)
        Further facts for the reader, such as the name of the data, each with a heading.
    references, seen_references : sequence of ReferenceMark
        What there is without a cascade, on the scored and on the test rows.
    error_costs : ErrorCosts or None
        What errors and rejections cost, if the page shall begin with totals.
    currency : str or None
        Unit of all costs, as in "€" or "minutes".
    certified : CertifiedDesigns or None
        What a certificate says, if there is one.
    """

    designs: Sequence[ExploredDesign]
    best_first: Sequence[int]
    costs: FeatureCosts
    min_confidence: MinConfidence
    proven: bool
    title: str
    deploy: str
    deployed: int | None = None
    facts: Sequence[tuple[str, str]] = ()
    metric: str = "accuracy"
    references: Sequence[ReferenceMark] = ()
    seen_references: Sequence[ReferenceMark] = ()
    error_costs: ErrorCosts | None = None
    currency: str | None = None
    certified: CertifiedDesigns | None = None

    def __post_init__(self) -> None:
        """Check the values that the page relies on."""
        if _NUMBER not in self.deploy:
            raise refused("deploy", f"have {_NUMBER} in it", self.deploy)
        if self.deployed is not None:
            check_whole("deployed", self.deployed, 0, len(self.designs) - 1)
        check_currency(self.currency)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as columns, to keep files of many thousand designs short."""
        seen = [design.seen for design in self.designs if design.seen is not None]
        return {
            "title": self.title,
            "deploy": self.deploy,
            "deployed": self.deployed,
            "facts": [list(fact) for fact in self.facts],
            "metric": metric_name(self.metric),
            "proven": self.proven,
            "thresholds": _thresholds(self.min_confidence),
            "own_thresholds": self._own_thresholds(),
            "features": list(self.costs.names),
            "columns": [list(members) for members in self.costs.columns],
            "costs": rounded(self.costs.costs.tolist()),
            "evaluation": self.costs.evaluation,
            "fees": [fee.to_dict() for fee in self.costs.fees],
            "total": self.costs.total,
            "best_first": list(self.best_first),
            "tied": [design.n_tied for design in self.designs],
            "stages": self._stages(),
            "paid": [rounded(s.cost_so_far for s in d.flow.stages) for d in self.designs],
            "waits": self._waits(),
            "scored": _figures(self.designs) | _counts(d.flow for d in self.designs),
            "seen": _figures(seen) | _counts(seen) if len(seen) == len(self.designs) else None,
            "expected": _expected(self.designs),
            "error_costs": self._error_costs(),
            "currency": check_currency(self.currency) or None,
            "certificate": None if self.certified is None else self.certified.to_dict(),
            **self._assessed(),
        }

    def _error_costs(self) -> dict[str, Any] | None:
        """Return what errors and rejections cost; None if nobody has said so."""
        if self.error_costs is None:
            return None
        of_designs = [design.by_class for design in self.designs]
        return error_costs_record(
            self.error_costs, of_designs, [one.by_class for one in self.references]
        )

    def _assessed(self) -> dict[str, Any]:
        """Return what row-by-row assessment knows of the designs; numbers of designs as lists."""
        listed = [i for i, design in enumerate(self.designs) if design.shortlisted]
        wanted = [d.shortlisted or i == self.deployed for i, d in enumerate(self.designs)]
        by_class = [design.by_class for design in self.designs]
        commonest = by_class[0] and by_class[0].commonest
        return {
            "shortlist": listed if 0 < len(listed) < len(self.designs) else None,
            "uninformative": [i for i, d in enumerate(self.designs) if not d.is_informative],
            "simplified": [i for i, d in enumerate(self.designs) if d.is_simplified],
            "commonest": repr(commonest),
            "references": {
                "scored": _marks(self.references),
                "seen": _marks(self.seen_references),
            },
            "classes": classes_of(by_class, [d.seen_by_class for d in self.designs], wanted),
        }

    def _own_thresholds(self) -> list[Any] | None:
        """List the thresholds of each design's stages, None for those without; None if all are."""
        own = [design.flow.thresholds for design in self.designs]
        found = [least and [*map(_thresholds, least)] for least in own]
        return found if any(found) else None

    def _waits(self) -> list[list[float]] | None:
        """List the time that a row has waited after each stage of each design, if any waits."""
        if not self.costs.has_delays:
            return None
        return [rounded(s.delay_so_far for s in d.flow.stages) for d in self.designs]

    def _stages(self) -> list[list[list[int]]]:
        """List the features of each stage of each design, as positions in `costs`."""
        place = {name: i for i, name in enumerate(self.costs.names)}
        return [
            [[place[name] for name in stage.features] for stage in design.flow.stages]
            for design in self.designs
        ]


def _figures(found: Sequence[ExploredDesign] | Sequence[Flow]) -> dict[str, list[float]]:
    """Return a list for each objective."""
    return {name: rounded(getattr(one, name) for one in found) for name in _OBJECTIVES}


def _expected(designs: Sequence[ExploredDesign]) -> dict[str, Any] | None:
    """Return a list for each expected objective, then for the ends of its interval.

    None unless every design has expected figures.
    """
    found = [design.expected for design in designs if design.expected is not None]
    if len(found) < len(designs):
        return None

    def columns(end: str) -> dict[str, list[float]]:
        return {
            name: rounded((getattr(getattr(one, name), end) for one in found), _EXPECTED_DIGITS)
            for name in _OBJECTIVES
        }

    return {**columns("value"), "low": columns("low"), "high": columns("high")}


def _counts(flows: Iterable[Flow]) -> dict[str, Any]:
    """Return the rows of each flow, and its exits and correct exits at each stage."""
    found = list(flows)
    return {
        "rows": rounded(flow.n_rows for flow in found),
        "left": [rounded(stage.left for stage in flow.stages) for flow in found],
        "correct": [rounded(stage.correct for stage in flow.stages) for flow in found],
    }


def _marks(references: Sequence[ReferenceMark]) -> list[dict[str, Any]]:
    """Return a dict for each reference."""
    return [
        {
            "title": one.title,
            **asdict(one.objectives),
            "correct": one.accuracy if one.correct is None else one.correct,
        }
        for one in references
    ]


def _thresholds(min_confidence: MinConfidence) -> float | list[list[Any]]:
    """Return one threshold for all classes, or pairs of a label and its threshold."""
    if isinstance(min_confidence, Mapping):
        return [[str(label), float(least)] for label, least in min_confidence.items()]
    return float(min_confidence)
