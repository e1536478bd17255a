"""Choose from the front: by a rule, by limits, or by number.

You learn that one search answers many questions: every design of the front is kept with its fitted
stages, so that another trade-off is deployed without a new fit. Test figures stand beside the
held-out ones, which come from the rows that chose the designs and are a little too good.

Run it with: python examples/quickstart/choose_from_the_front.py
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from emsco import EMSCOClassifier, NoSuchDesign

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X, costs = X.iloc[:, :10], [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

clf = EMSCOClassifier(costs=costs, min_confidence=0.85, max_stages=3, random_state=0)
clf.fit(X_train, y_train)
print(f"{len(clf.front_)} designs; {clf.stop_reason_}\n")

for rule in ("balanced", "knee", {"min_accuracy": 0.98}, {"max_cost": 8, "min_coverage": 0.93}):
    print(f"{rule}: {clf.choose(rule).point_}")
    print(clf.evaluate(X_test, y_test), "\n")

try:
    clf.front_.select(max_cost=3, min_accuracy=0.99)
except NoSuchDesign as error:
    print(error, "\n")  # says how near the front comes

tested = clf.front_.with_seen(X_test, y_test)
print(tested.to_pandas().filter(regex="coverage|accuracy|cost").head().round(3).to_string())
tested.plot(on="both").savefig("front.png")
