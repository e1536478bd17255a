"""DIME: a network that predicts how much each feature would tell, and one that labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from emsco._base.checks import check_choice, check_number, check_whole
from emsco._base.typing import FloatArray, LabelArray
from emsco.costs import FeatureCosts
from emsco.data.random_states import random_of
from emsco.models.scaling import Scaling
from emsco_lab.rivals.base import CostedClassifier, Package
from emsco_lab.rivals.light import dealt

_PRICES = np.logspace(-2, 2, 21).round(3).tolist()  # that tuning tries
# Rows held out to decide when to stop: a tenth, within these numbers, and never over a third.
_HELD_OUT = 0.1
_LEAST_HELD_OUT, _MOST_HELD_OUT = 50, 1000


@dataclass(eq=False, repr=False, kw_only=True)
class DIME(CostedClassifier):
    """Two networks: one labels rows by the features they know, one values the features left.

    The second network predicts by how much each feature would lower the log loss of the first,
    which is an estimate of the conditional mutual information of feature and label. A row buys the
    feature with the highest prediction for its cost, and stops when none is above `price`.
    Features that cost nothing, or nothing more once a fee is paid, are bought at once.

    Both networks are trained together. Rows buy features, at first at random and then by the
    prediction with a tenth of random purchases; the first network learns the labels after every
    purchase, and the second what the purchase brought. A tenth of the rows is held out, at
    least 50 but never over a third; their loss over all steps tells when to stop.

    Parameters
    ----------
    costs : mapping, array-like, FeatureCosts or None
        Cost of each feature: by name, or in column order; None: 1 each.
    price : float
        A feature is bought if it is predicted to lower the log loss by more than `price` times
        its cost, as a share of the cost of everything.
    width : int
        Units of each of the two hidden layers of a network.
    dropout : float
        Share of hidden units that are blanked out while training.
    learning_rate : float
    max_epochs : int
        Most epochs, of at most 16,000 purchases, for each of the two phases of training.
    device : {"cpu", "cuda"}
        Where PyTorch computes.
    random_state : int, RandomState or None
    gaps : {"refuse", "impute"}
        What to do with missing values. "refuse" raises an error; "impute" fills in the mean of the
        training rows and adds an indicator.

    Attributes
    ----------
    networks_ : Networks

    References
    ----------
    Gadgil, Covert, Lee: "Estimating Conditional Mutual Information for Dynamic Feature Selection",
    ICLR 2024.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> rival = DIME(costs=[1, 1, 8], price=0.5, random_state=0)
    >>> rival.fit(X, X[:, 0] > 0).decide(X[:3]).cost.tolist()  # doctest: +SKIP
    [1.0, 1.0, 1.0]
    """

    price: float = 1.0
    width: int = 128
    dropout: float = 0.3
    learning_rate: float = 1e-3
    max_epochs: int = 60
    device: str = "cpu"

    needs: ClassVar[tuple[Package, ...]] = (Package("torch", "torch", "'emsco[cuda]'"),)
    prefers: ClassVar[str] = "processes"  # Python runs between the steps of PyTorch

    @classmethod
    def grid(cls, costs: FeatureCosts, n_rows: int) -> list[dict[str, Any]]:  # noqa: ARG003
        """Two shares of dropout; each fit contains prices from 0.01 to 100."""
        return [{"dropout": dropout, "price": _PRICES[-1]} for dropout in (0.1, 0.4)]

    def staged(self) -> Iterator[tuple[dict[str, Any], Self]]:
        """Yield this rival with other prices, and last with its own."""
        return self._with_prices(_PRICES)

    def _fit(self, rows: FloatArray, labels: LabelArray, weights: FloatArray | None) -> None:
        from emsco.scale.cuda.library import open_device

        check_number("price", self.price, 0, np.inf, "[)")
        place = check_choice("device", self.device, ("cpu", "cuda"))
        device = open_device("torch" if place == "cpu" else place)
        from emsco_lab.rivals.dime_networks import Networks

        rng = random_of(self.random_state)
        n_held_out = np.clip(_HELD_OUT * len(rows), _LEAST_HELD_OUT, _MOST_HELD_OUT)
        n_hands = max(3, round(len(rows) / n_held_out))
        self._scaling = Scaling.learn(rows, weights)
        shares = self._prices.as_shares()
        self.networks_ = Networks.train(
            self._scaled(rows),
            labels,
            np.ones(len(rows)) if weights is None else weights / weights.mean(),
            held_out=dealt(labels, n_hands, rng) == 0,
            n_classes=len(self.classes_),
            input_feature=self.encoding_.input_feature,
            costs=shares.features,
            fees=shares.fees.amounts,
            members=shares.fees.members,
            width=check_whole("width", self.width, 1),
            dropout=check_number("dropout", self.dropout, 0, 1, "[)"),
            learning_rate=check_number("learning_rate", self.learning_rate, 0, np.inf, "()"),
            max_epochs=check_whole("max_epochs", self.max_epochs, 1),
            seed=int(rng.randint(2**31 - 1)),
            device=device,
        )
        self.used_ = np.ones(len(self.costs_.names), dtype=np.bool_)

    def _judge(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        probabilities, bought = self.networks_.judge(self._scaled(rows), self.price)
        return probabilities, self._prices.of(bought)

    def _scaled(self, rows: FloatArray) -> FloatArray:
        """Standardise rows; values far off count by their logarithm."""
        scaled: FloatArray = np.arcsinh(self._scaling.standardised(rows))
        return scaled
