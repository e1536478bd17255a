"""
Honest confidence
=================

You learn to check what confidence is worth, stage by stage, and to calibrate it. Naive Bayes is the
example because it promises too much: it takes readings that err together for independent evidence.

Run it with: python examples/in_depth/calibration.py
"""

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from emsco import EMSCOClassifier
from emsco.plotting import draw_reliability

# Two instruments, four readings each. The readings of an instrument share its error.
rng = np.random.default_rng(0)
y = rng.integers(0, 2, size=4000)
errors = rng.normal(size=(4000, 2)).repeat(4, axis=1)
X = 2 * y[:, None] + errors + 0.4 * rng.normal(size=(4000, 8))
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)


def fit_and_report(estimator):
    """Fit, print what the confidence of each stage is worth, and return the reliability records."""
    clf = EMSCOClassifier(
        costs=[1] * 4 + [5] * 4,
        min_confidence=0.9,
        max_stages=2,
        estimator=estimator,
        cv=1 / 3,
        random_state=0,
    ).fit(X_train, y_train)
    records = clf.reliability(X_test, y_test)
    for record in records:
        print(f"stage {record.stage}: off by {record.error:.3f} on average")
    for leave in clf.evaluate(X_test, y_test).exits[:-1]:
        told = f"{leave.confidence:.1%} sure, {leave.accuracy:.1%} correct"
        print(f"stage {leave.stage}: {leave.n_rows} rows leave, {told}")
    return records


# %%
# Without calibration, bars below the diagonal mean that the classifier is surer than it should be.
# On these 2,000 test rows the second stage is 97.5 % sure of its labels, and 81.9 % of them are
# correct. The fit warns of it, too.

before = draw_reliability(fit_and_report(GaussianNB()))
before.savefig("reliability-before.png")

# %%
# ``CalibratedClassifierCV`` learns a map from stated to honest confidence, within the training rows
# of each fit. Fewer rows get a label, because fewer deserve one. With fewer than 200 training rows
# it may fail.

after = draw_reliability(fit_and_report(CalibratedClassifierCV(GaussianNB(), cv=2)))
after.savefig("reliability-after.png")
