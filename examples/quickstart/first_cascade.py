"""A first cascade: fit, look at the front, and see what it saves on rows kept aside.

You learn what a fit needs beside rows and labels (what each feature costs, and how sure a stage
must be), how to read the front of designs that it finds, and what the deployed one does on new
rows: whom it labels, whom it declines to answer for, and what that costs.

Run it with: python examples/quickstart/first_cascade.py
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from emsco import EMSCOClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

# Means are quick to take, errors take longer, and worst values longest.
costs = {name: 5 if "worst" in name else 3 if "error" in name else 1 for name in X}

clf = EMSCOClassifier(
    costs=costs, min_confidence=0.9, max_stages=3, generations=20, random_state=0
).fit(X_train, y_train)

print(clf.front_)  # best first; in a notebook, a table and a picture
print()
print(clf.cascade_)  # the deployed one: what each stage buys, and the cost by then
print()
report = clf.evaluate(X_test, y_test)
print(report)
print(f"Buying everything costs {sum(costs.values())} a row, the cascade {report.cost:.1f}.")

clf.front_.plot(mark=clf.point_).savefig("front.png")
clf.front_.plot_cascade(clf.point_).savefig("cascade.png")
