"""
Honest confidence
=================

You learn to check what confidence is worth, stage by stage, and to calibrate it. Naive Bayes is the
example because it promises too much.

Run it with: python examples/in_depth/calibration.py
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from emsco import EMSCOClassifier
from emsco.pictures.plotting import draw_reliability

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.iloc[:, :6]  # radius, perimeter and area overlap, and naive Bayes counts them three times
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)


def fit_and_report(calibration):
    """Fit, print what the confidence of each stage is worth, and return the reliability records."""
    clf = EMSCOClassifier(
        min_confidence=0.9,
        max_stages=2,
        estimator=GaussianNB(),
        calibration=calibration,
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

before = draw_reliability(fit_and_report(None))
before.savefig("reliability-before.png")

# %%
# With ``calibration="sigmoid"``, a quarter of the training rows teach a map from stated to honest
# confidence. The classifier never sees those rows, and neither does the search.

after = draw_reliability(fit_and_report("sigmoid"))
after.savefig("reliability-after.png")
