"""Designs to name beside a chosen one: what rejecting would bring, and what costs far less."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from emsco._base.text import rounded
from emsco.errors import NoSuchDesign
from emsco.front.pareto_front import ParetoFront
from emsco.front.point import ParetoPoint

_COVERAGES = (0.9, 0.8)  # the shares of rows to label that are offered
_FAR_LESS = 0.75  # of the cost of a design: what another must cost to be named beside it
_WORTH_IT = 0.01  # gain in accuracy below which nothing is offered


@dataclass(frozen=True, slots=True)
class RejectionOffer:
    """A design that labels fewer rows, and more of them correctly.

    Attributes
    ----------
    min_coverage : float
        The share of rows that it labels, or more.
    point : ParetoPoint
    deployed : ParetoPoint
        The design that answers everyone.
    """

    min_coverage: float
    point: ParetoPoint
    deployed: ParetoPoint

    def __str__(self) -> str:
        """Say what the design brings, without the command that deploys it.

        Costs are as scored, like those of a front; accuracy and recall are to expect if known.
        """
        before, after = self.deployed.promised[1], self.point.promised[1]
        said = (
            f"reject the least sure {1 - self.min_coverage:.0%} with another design: "
            f"{after.accuracy:.1%} of the labels correct instead of {before.accuracy:.1%}, for "
            f"{rounded(self.point.cost)} a row instead of {rounded(self.deployed.cost)}"
        )
        by_class, of_deployed = self.point.by_class, self.deployed.by_class
        if by_class is None or of_deployed is None:
            return said
        # The rarest class is what a gain in accuracy may be bought with.
        rarest = int(by_class.rows.argmin())
        share, before_share = by_class.recall[rarest], of_deployed.recall[rarest]
        expected, of_deployed_expected = self.point.expected, self.deployed.expected
        if expected and expected.recall and of_deployed_expected and of_deployed_expected.recall:
            share = expected.recall[rarest].value
            before_share = of_deployed_expected.recall[rarest].value
        return (
            f"{said}, finds {share:.0%} of {by_class.labels[rarest]!r} instead of "
            f"{before_share:.0%}"
        )


def rejection_offers(front: ParetoFront, deployed: ParetoPoint) -> list[RejectionOffer]:
    """Return the designs to offer to someone whose deployed design answers everyone.

    There are none if it rejects rows already, or if rejecting some gains next to nothing.
    """
    if deployed.coverage < 1:
        return []
    offers: list[RejectionOffer] = []
    accuracy = deployed.promised[1].accuracy
    for min_coverage in _COVERAGES:
        try:
            point = front.select(min_coverage=min_coverage)
        except NoSuchDesign:
            continue
        # The last half point of scored accuracy may cost twice as much, and not be there on new
        # rows: a design that costs no more than the deployed one, and expects as much, is better.
        with suppress(NoSuchDesign):
            affordable = front.select(min_coverage=min_coverage, max_cost=deployed.cost)
            if affordable.promised[1].accuracy >= point.promised[1].accuracy:
                point = affordable
        is_new = all(point is not offer.point for offer in offers)
        gain = point.promised[1].accuracy - accuracy
        if is_new and point.coverage < 1 and gain >= _WORTH_IT:
            offers.append(RejectionOffer(min_coverage, point, deployed))
            accuracy = point.promised[1].accuracy
    return offers


def as_good_for_less(
    front: ParetoFront,
    chosen: ParetoPoint,
    *,
    max_cost: float | None = None,
    min_coverage: float | None = None,
) -> ParetoPoint | None:
    """Return the best design within the limits that costs far less and expects as much, if any.

    Limits choose by scored accuracy, whose last half point may be luck.
    """
    if min_coverage is None:
        min_coverage = chosen.coverage
    expected = chosen.promised[1].accuracy
    others = [
        front[i]
        for i in front.within(max_cost, min_coverage=min_coverage)
        if front[i].is_informative
        and front[i].shortlisted
        and front[i].cost <= _FAR_LESS * chosen.cost
        and front[i].promised[1].accuracy >= expected
    ]
    return max(others, key=lambda point: point.promised[1].accuracy, default=None)
