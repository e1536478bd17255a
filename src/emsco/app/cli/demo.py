"""`emsco demo`: a complete example in seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from emsco.app.cli.endings import INTERRUPTED
from emsco.app.cli.options import AsJSON, Seed
from emsco.app.cli.output import console, print_json

if TYPE_CHECKING:
    from emsco._base.typing import AnyArray
    from emsco.costs import FeatureCosts


def demo(
    seed: Seed = 0,
    as_json: AsJSON = False,
) -> None:
    """Run a complete example on data that comes with scikit-learn, in seconds.

    Takes the breast-cancer data (569 samples, 30 measurements) with a declared cost for each
    measurement, searches for cascades and shows the trade-offs found. A label needs a confidence of
    95%, so some samples are rejected. Then compares the chosen cascade with buying every
    measurement for everyone, on test rows.
    """
    from sklearn.model_selection import train_test_split

    from emsco.app.cli.terminal import (
        cascade_drawing,
        comparison_table,
        front_table,
        than_everything,
    )
    from emsco.estimator import EMSCOClassifier

    X, diagnoses, costs = _measurements()
    X_train, X_test, y_train, y_test = train_test_split(
        X, diagnoses, test_size=0.25, stratify=diagnoses, random_state=seed
    )
    classifier = EMSCOClassifier(
        costs=costs,
        min_confidence=0.95,
        cv=1 / 3,  # folds would take minutes with 30 features
        n_jobs=-1,
        random_state=seed,
        verbose=1,
    ).fit(X_train, y_train)
    front, cascade = classifier.front_, classifier.cascade_
    test = classifier.evaluate(X_test, y_test)
    everything = front.everything().evaluate(X_test, y_test)
    if as_json:
        print_json(
            {
                "stop_reason": str(classifier.stop_reason_),
                "min_confidence": front.min_confidence,
                "cost_of_everything": front.costs.total,
                "front": front.to_dicts(),
                "chosen": [list(bought) for bought in cascade.design.buys],
                "test": test.to_dict(),
                "test_buying_everything": everything.to_dict(),
            }
        )
        return
    out = console()
    if classifier.model_choice_:
        out.print(f"Stage models: {classifier.model_choice_}.", highlight=False)
    if classifier.refinement_:
        out.print(f"Refinement: {classifier.refinement_}.", highlight=False)
    out.print(f"Search ended: {classifier.stop_reason_}.\n")
    out.print(front_table(front, classifier.point_, out.width))
    out.print()
    asked = f"The demo asks for a confidence of {front.min_confidence:.0%} for every label, so the"
    out.print(f"{asked} cascade rejects rows. By default, emsco answers everyone.", highlight=False)
    out.print(cascade_drawing(front, front.points.index(classifier.point_), test))
    out.print()
    out.print(comparison_table(test, everything))
    out.print(f"The cascade spends {than_everything(1 - test.cost / everything.cost)}.")
    out.print("Next, a file of yours: emsco inspect FILE.csv --target COLUMN", highlight=False)
    if classifier.stop_reason_.is_interrupted:
        raise typer.Exit(INTERRUPTED)


def _measurements() -> tuple[AnyArray, AnyArray, FeatureCosts]:
    """Load rows, diagnoses and minutes of work for each measurement, which are declared.

    The mean of a measure takes 1 minute, its standard error 3 and its worst value 5. The last five
    of ten measures need the outline of each nucleus to be traced, which takes twice as long.
    """
    import numpy as np
    from sklearn.datasets import load_breast_cancer

    from emsco.costs import FeatureCosts

    data = load_breast_cancer()
    minutes = np.outer([1, 3, 5], [1] * 5 + [2] * 5).ravel()
    costs = FeatureCosts.from_array(minutes, data.feature_names.tolist())
    return data.data, np.array(["malignant", "benign"])[data.target], costs
