"""
Rules that every design must obey
=================================

You learn to exclude designs that you could never deploy: which features come first, which belong
together, and how much a row may cost.

Run it with: python examples/in_depth/constraints.py
"""

from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from emsco import EMSCOClassifier

wine = load_wine(as_frame=True)
X = wine.data.iloc[:, :8]
X_train, X_test, y_train, y_test = train_test_split(X, wine.target, random_state=0)
costs = dict(zip(X, [1, 2, 2, 2, 3, 5, 5, 8], strict=True))

# %%
# Running a stage costs 0.5 here, on top of its features. ``max_worst_cost`` needs
# ``allow_exclusion``: a rejected row pays for everything its design buys, so some features must
# stay out.

rules = {
    "first": ["alcohol"],
    "together": [["total_phenols", "flavanoids"]],
    "max_mean_cost": 14,
    "max_worst_cost": 20,
}
for constraints in (None, rules):
    clf = EMSCOClassifier(
        costs,
        min_confidence=0.9,
        max_stages=3,
        allow_exclusion=True,
        evaluation_cost=0.5,
        constraints=constraints,
        estimator="logistic",
        cv=1 / 3,
        random_state=0,
    ).fit(X_train, y_train)
    print(f"{'with' if constraints else 'without'} rules: {len(clf.front_)} designs on the front")
    print(f"  {clf.design_}")
    print(f"  a row costs at most {clf.cascade_.stage_costs[-1]:g}")
    print(clf.evaluate(X_test, y_test), "\n")

# %%
# The design that obeys the rules:

figure = clf.front_.plot_cascade(clf.point_, width=7)
figure.savefig("cascade.png")
