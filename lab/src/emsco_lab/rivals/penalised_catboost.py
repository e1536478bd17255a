"""CatBoost with its penalties on features, as a rival."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs

from emsco import DataError, FeatureCosts
from emsco_lab.rivals.base import STAGES, CostedClassifier, Grid, Judged
from emsco_lab.rivals.encoding import Flags, Floats, Whole

_PENALTIES = {
    "first_use": "first_feature_use_penalties",
    "per_row": "per_object_feature_penalties",
}
_POLICIES = {"symmetric": "SymmetricTree", "depthwise": "Depthwise"}


@dataclass(eq=False, repr=False, kw_only=True)
class PenalisedCatBoost(CostedClassifier):
    """Boosted trees of CatBoost that charge a split for features not bought before.

    A row pays for the features on its own paths through the trees. CatBoost charges every input of
    a group, and every feature of a fee as if it were the first; a row's cost counts groups and fees
    once.

    Parameters
    ----------
    strength : float
        Penalty of a feature of mean cost if all rows buy it, relative to the square root of their
        number, which is how CatBoost's scores of splits grow. 0 ignores costs.
    penalty : {"per_row", "first_use"}
        "per_row" charges a split for its rows that have not met the feature before; "first_use"
        charges the first split on a feature for all rows, and later splits nothing.
    policy : {"depthwise", "symmetric"}
        In symmetric trees, CatBoost's default, all splits of a level are the same, so every row
        meets all features of a tree. Depthwise trees split every node on its own.
    n_trees, learning_rate, depth
        Rounds of boosting; share of each tree that counts; splits on the longest path of a tree.
    n_jobs : int or None
        Threads, as in joblib; on small data one is fastest.

    Attributes
    ----------
    booster_ : catboost.CatBoost

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> rival = PenalisedCatBoost(costs=[1, 1, 50], strength=1.0, n_trees=20, random_state=0)
    >>> rival.fit(X, X[:, 0] > 0).used_.tolist()  # doctest: +SKIP
    [True, False, False]
    """

    needs: ClassVar = {"catboost": "'emsco-lab[catboost]'"}
    tree_numbers: ClassVar = STAGES
    choices: ClassVar = {"penalty": _PENALTIES, "policy": _POLICIES}

    strength: float = 0.01
    penalty: str = "per_row"
    policy: str = "depthwise"
    n_trees: int = 100
    learning_rate: float = 0.15
    depth: int = 4
    n_jobs: int | None = None

    @classmethod
    def grid(cls, costs: FeatureCosts, n_rows: int) -> Grid:  # noqa: ARG003 - no units
        """Both penalties, each with its better trees, at strengths from 0 to 3; up to 100 trees."""
        strengths = [0.0, *np.logspace(-2.5, 0.5, 9).round(4).tolist()]
        trees = (("per_row", "depthwise"), ("first_use", "symmetric"))
        return [
            {"penalty": penalty, "policy": policy, "strength": strength, "n_trees": 100}
            for (penalty, policy), strength in product(trees, strengths)
        ]

    def _fit(self, rows: Floats, labels: Whole, weights: Floats) -> Flags:
        import catboost

        if (rows == rows[0]).all():
            raise DataError("X must have a column that is not constant: CatBoost needs one.")
        settings = {
            "loss_function": "Logloss" if len(self.classes_) == 2 else "MultiClass",
            "grow_policy": _POLICIES[self.policy],
            _PENALTIES[self.penalty]: self._charges().tolist(),
            "penalties_coefficient": self.strength
            * len(rows) ** (0.5 if self.penalty == "first_use" else -0.5),
            "iterations": self.n_trees,
            "learning_rate": self.learning_rate,
            "depth": self.depth,
            "thread_count": effective_n_jobs(self.n_jobs),
            "random_seed": self._seed(),
            "random_strength": 0.0,  # noise in scores would split on features of little use
            "bootstrap_type": "No",
            "allow_writing_files": False,
            "logging_level": "Silent",
        }
        self.booster_ = catboost.CatBoost(settings).fit(rows, labels, sample_weight=weights)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "trees.json"
            self.booster_.save_model(str(path), format="json")
            model = json.loads(path.read_text(encoding="utf-8"))
        self._trees = model.get("oblivious_trees") or model["trees"]
        return self._used()

    def _judge(self, rows: Floats) -> Judged:
        # The trees tell no order of leaves, so CatBoost's indexes of leaves would not do.
        probabilities = self.booster_.predict(
            rows,
            prediction_type="Probability",
            ntree_end=self.n_trees,
            thread_count=effective_n_jobs(self.n_jobs),
        )
        reads, everyone = np.zeros(rows.shape, dtype=np.bool_), np.arange(len(rows))
        single = rows.astype(np.float32)  # as CatBoost compares them
        for tree in self._trees[: self.n_trees]:
            _walk(tree, single, everyone, reads)
        return probabilities, self._features_of(reads), 1

    def _used(self) -> Flags:
        """Features in the first `n_trees` trees."""
        reads = np.zeros((1, len(self.encoding_.input_feature)), dtype=np.bool_)
        for tree in self._trees[: self.n_trees]:
            _walk(tree, None, np.zeros(1, dtype=np.int64), reads)
        return self._features_of(reads[0])


def _walk(node: dict[str, Any], rows: Any, here: Whole, reads: Flags) -> None:
    """Mark the inputs that rows meet on their paths, in `reads`; without `rows`, on all paths.

    Trees are as CatBoost writes them: a node with its children, or the splits of all levels.
    """
    if "splits" in node:
        reads[:, [split["float_feature_index"] for split in node["splits"]]] = True
    elif "split" in node:
        column = node["split"]["float_feature_index"]
        reads[here, column] = True
        left = right = here
        if rows is not None:
            above = rows[here, column] > np.float32(node["split"]["border"])
            left, right = here[~above], here[above]
        _walk(node["left"], rows, left, reads)
        _walk(node["right"], rows, right, reads)
