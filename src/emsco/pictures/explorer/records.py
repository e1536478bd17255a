"""Contents of the explorer page, as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from emsco._base.checks import check_whole, refused
from emsco._base.objectives import Objectives, metric_name
from emsco.costs import FeatureCosts
from emsco.designs.thresholds import MinConfidence
from emsco.pictures.flow import Flow

__all__ = ["Explored", "ExploredDesign"]

_NUMBER = "{number}"
_DIGITS = 10  # finer than any limit of a reader, and half as long as full precision


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
    """

    n_tied: int
    flow: Flow
    seen: Flow | None = None


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

    def __post_init__(self) -> None:
        """Check the values that the page relies on."""
        if _NUMBER not in self.deploy:
            raise refused("deploy", f"have {_NUMBER} in it", self.deploy)
        if self.deployed is not None:
            check_whole("deployed", self.deployed, 0, len(self.designs) - 1)

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
            "features": list(self.costs.names),
            "columns": [list(members) for members in self.costs.columns],
            "costs": _rounded(self.costs.costs.tolist()),
            "evaluation": self.costs.evaluation,
            "total": self.costs.total,
            "best_first": list(self.best_first),
            "tied": [design.n_tied for design in self.designs],
            "stages": self._stages(),
            "paid": [_rounded(s.cost_so_far for s in d.flow.stages) for d in self.designs],
            "scored": _figures(self.designs) | _counts(d.flow for d in self.designs),
            "seen": _figures(seen) | _counts(seen) if len(seen) == len(self.designs) else None,
        }

    def _stages(self) -> list[list[list[int]]]:
        """List the features of each stage of each design, as positions in `costs`."""
        place = {name: i for i, name in enumerate(self.costs.names)}
        return [
            [[place[name] for name in stage.features] for stage in design.flow.stages]
            for design in self.designs
        ]


def _figures(found: Sequence[ExploredDesign] | Sequence[Flow]) -> dict[str, list[float]]:
    """Return a list for each objective."""
    names = ("coverage", "accuracy", "cost")
    return {name: _rounded(getattr(one, name) for one in found) for name in names}


def _counts(flows: Iterable[Flow]) -> dict[str, Any]:
    """Return the rows of each flow, and its exits and correct exits at each stage."""
    found = list(flows)
    return {
        "rows": _rounded(flow.n_rows for flow in found),
        "left": [_rounded(stage.left for stage in flow.stages) for flow in found],
        "correct": [_rounded(stage.correct for stage in flow.stages) for flow in found],
    }


def _rounded(numbers: Iterable[float]) -> list[float]:
    """Write whole numbers as integers and round the others."""
    rounded = (float(f"{number:.{_DIGITS}g}") for number in numbers)
    return [int(number) if number.is_integer() else number for number in rounded]


def _thresholds(min_confidence: MinConfidence) -> float | list[list[Any]]:
    """Return one threshold for all classes, or pairs of a label and its threshold."""
    if isinstance(min_confidence, Mapping):
        return [[str(label), float(least)] for label, least in min_confidence.items()]
    return float(min_confidence)
