"""
Choose from the front
=====================

You learn that one search answers many questions. The front keeps the fitted stages of every design,
so you can deploy another trade-off without fitting again.

Run it with: python examples/quickstart/choose_from_the_front.py
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from emsco import EMSCOClassifier, NoSuchDesign

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X, costs = X.iloc[:, :8], [1, 1, 2, 2, 3, 3, 4, 4]
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

clf = EMSCOClassifier(costs=costs, max_stages=3, estimator="logistic", cv=1 / 3, random_state=0)
clf.fit(X_train, y_train)
print(f"{len(clf.front_)} designs on the front")
print(clf.stop_reason_)

# %%
# Choose by limits or by a rule. A cost limit alone takes the most accurate design that answers
# everyone, a lowest coverage the most accurate that labels so many rows, and a lowest accuracy the
# one that labels most rows.

for rule in ({"max_cost": 8}, {"min_coverage": 0.9}, {"min_accuracy": 0.98}, "knee"):
    print(f"{rule}: {clf.choose(rule).point_}")
    print(clf.evaluate(X_test, y_test), "\n")

# %%
# If no design is within your limits, the error says how close the front comes.

try:
    clf.front_.select(max_cost=3, min_accuracy=0.99, min_coverage=0.9)
except NoSuchDesign as error:
    print(error)

# %%
# The front's own figures come from the rows that chose the designs, so they are a little too good.
# Test rows give honest figures. Hollow markers show them beside the others.

tested = clf.front_.with_seen(X_test, y_test)
print(tested.to_pandas().filter(regex="coverage|accuracy|cost").head().round(3).to_string())

figure = tested.plot(on="both", width=6)
figure.savefig("front.png")
