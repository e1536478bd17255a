"""Honest confidence: what a threshold means, and how to make it mean that.

You learn to look at reliability, the share of right labels beside the confidence that was
promised, stage by stage, and to calibrate: a map from confidence to honest confidence, learnt on
rows that the classifier has not seen. Naive Bayes is the example, for it promises too much.

Run it with: python examples/in_depth/calibration.py
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from emsco import EMSCOClassifier
from emsco.pictures.plotting import draw_reliability

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.iloc[:, :6]  # radius, perimeter and area say much the same, which naive Bayes does not know
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)

for calibration in (None, "sigmoid"):
    clf = EMSCOClassifier(
        min_confidence=0.9,
        max_stages=2,
        estimator=GaussianNB(),
        calibration=calibration,
        random_state=0,
    ).fit(X_train, y_train)
    records = clf.reliability(X_test, y_test)
    print(f"calibration {calibration}:")
    for record in records:
        print(f"  stage {record.stage}: off by {record.error:.3f} on average")
    for leave in clf.evaluate(X_test, y_test).exits[:-1]:
        told = f"{leave.confidence:.1%} sure, {leave.accuracy:.1%} right"
        print(f"  stage {leave.stage}: {leave.n_rows} rows leave, {told}")
    draw_reliability(records).savefig(f"reliability-{calibration or 'as-it-is'}.png")
