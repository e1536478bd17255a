"""
A first cascade
===============

You learn what a fit needs besides rows and labels, how to read the front of designs it finds, and
what the deployed design does on new rows.

Run it with: python examples/quickstart/first_cascade.py
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from emsco import EMSCOClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

# %%
# Every feature has a cost. Here means are quick to measure, standard errors take longer and worst
# values take longest. A row leaves the cascade at the first stage that is sure enough; the last
# stage answers whoever is left.

costs = {name: 5 if "worst" in name else 3 if "error" in name else 1 for name in X}
clf = EMSCOClassifier(
    costs=costs,
    max_stages=3,
    generations=20,
    estimator="logistic",
    cv=1 / 3,
    random_state=0,
).fit(X_train, y_train)

# %%
# The front holds the designs that no other design beats in coverage, accuracy and cost at once, the
# cheapest first.

print(clf.front_)

# %%
# The ring marks the design that ``fit`` deployed.

figure = clf.front_.plot(mark=clf.point_, width=6)
figure.savefig("front.png")

# %%
# The deployed cascade, stage by stage: what it buys, what that costs, and how many rows leave.

print(clf.cascade_)

cascade = clf.front_.plot_cascade(clf.point_, width=7)
cascade.savefig("cascade.png")

# %%
# New rows tell you what to expect in production.

report = clf.evaluate(X_test, y_test)
print(report)
print(f"Buying everything costs {sum(costs.values())} per row, the cascade {report.cost:.1f}.")
