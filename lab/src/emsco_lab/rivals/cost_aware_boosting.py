"""LightGBM with its penalties on costs (CEGB), a rival that you can install today."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np

from emsco import FeatureCosts
from emsco_lab.rivals.base import STAGES, Grid, Judged
from emsco_lab.rivals.encoding import Flags, Floats, Whole
from emsco_lab.rivals.light import LightRival, chances

_PENALTIES = ("lazy", "coupled")


@dataclass(eq=False, repr=False, kw_only=True)
class CostAwareBoosting(LightRival):
    """Boosted trees of LightGBM that charge a split for features not bought before.

    A row pays for the features on its own paths through the trees. LightGBM charges every input of
    a group, and every feature of a fee as if it were the first; a row's cost counts groups and fees
    once.

    Parameters
    ----------
    strength : float
        Gain per row that a split must bring for a feature of mean cost; 0 ignores costs.
    penalty : {"lazy", "coupled"}
        "lazy" charges a split for its rows that have not met the feature before; "coupled"
        charges the first split on a feature for all rows, and later splits nothing.

    Attributes
    ----------
    booster_ : lightgbm.Booster

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> rival = CostAwareBoosting(costs=[1, 1, 50], strength=1.0, n_trees=20)
    >>> rival.fit(X, X[:, 0] > 0).used_.tolist()
    [True, False, False]
    """

    choices: ClassVar = {"penalty": _PENALTIES}
    tree_numbers: ClassVar = STAGES

    strength: float = 0.01
    penalty: str = "lazy"

    @classmethod
    def grid(cls, costs: FeatureCosts, n_rows: int) -> Grid:  # noqa: ARG003 - no units
        """Both penalties at strengths from 0 to 10, which buys nothing; up to 200 trees."""
        strengths = [0.0, *np.logspace(-3, 1, 17).round(5).tolist()]
        return [
            {"penalty": penalty, "strength": strength, "n_trees": 200}
            for penalty, strength in product(_PENALTIES, strengths)
        ]

    @classmethod
    def comparison_grid(cls, costs: FeatureCosts, n_rows: int) -> Grid:  # noqa: ARG003
        """Both penalties at eight strengths and neither, with trees of 8 leaves and of 31."""
        penalised = [(0.0, _PENALTIES[0])]  # the penalty does not matter there
        penalised += product(np.logspace(-3, 0.5, 8).round(5).tolist(), _PENALTIES)
        return [
            {"penalty": penalty, "strength": strength, "max_leaves": leaves, "n_trees": 200}
            for (strength, penalty), leaves in product(penalised, (8, 31))
        ]

    def _fit(self, rows: Floats, labels: Whole, weights: Floats) -> Flags:
        # LightGBM takes a penalty for each input and knows nothing of fees, so a feature's penalty
        # is what it costs alone. Costs are relative to their mean, so strengths have no unit.
        charges = self._charges() * (len(rows) if self.penalty == "coupled" else 1)
        self.booster_ = self._train(
            rows,
            labels,
            weights,
            seed=self._seed(),
            cegb_tradeoff=self.strength,
            **{f"cegb_penalty_feature_{self.penalty}": charges.tolist()},
        )
        self._paths = []  # of each tree: the features on the way to each leaf
        for tree in self.booster_.dump_model()["tree_info"]:
            reads = np.zeros((tree["num_leaves"], rows.shape[1]), dtype=np.bool_)
            for leaf, asked in _leaves(tree["tree_structure"], ()):
                reads[leaf, list(asked)] = True
            self._paths.append(self._features_of(reads))
        return self._used()

    def _judge(self, rows: Floats) -> Judged:
        leaves = self.booster_.predict(rows, num_iteration=self.n_trees, pred_leaf=True)
        bought = np.zeros((len(rows), len(self.used_)), dtype=np.bool_)
        for paths, leaf in zip(self._paths, leaves.reshape(len(rows), -1).T, strict=False):
            bought |= paths[leaf]
        probabilities = chances(self.booster_, rows, self.n_trees)
        return probabilities, bought, 1

    def _used(self) -> Flags:
        """Features in the first `n_trees` rounds."""
        n_trees = self.n_trees * self.booster_.num_model_per_iteration()
        return np.any(np.concatenate(self._paths[:n_trees]), axis=0)


def _leaves(node: dict[str, Any], asked: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield each leaf and the inputs that are read on the way to it."""
    if "split_feature" in node:
        for child in ("left_child", "right_child"):
            yield from _leaves(node[child], (*asked, node["split_feature"]))
    else:
        yield node.get("leaf_index", 0), asked
