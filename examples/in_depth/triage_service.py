"""
A triage service with three slow sources
========================================

A service loads a cascade and decides new patients, eight at a time. It asks three departments
about each patient, stage by stage, until the cascade is sure. The laboratory turns some requests
down and is asked again. Imaging never answers about one patient, who is rejected with that reason.
At the end one case waits as text between its stages.

The data are the breast-cancer samples that come with scikit-learn. In reality all features come
from one picture; here each of the three kinds has its own department.

Run it with: python examples/in_depth/triage_service.py
"""

import asyncio
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from emsco import Cascade, EMSCOClassifier
from emsco_lab.datasets import load

DATA = load("breast_cancer")  # its costs are minutes of work for each feature


# %%
# The sources
# -----------
# A department is slow, sometimes busy, and may lose a request.


class Source:
    """A department that measures some of the features."""

    def __init__(self, name, kind, delay, records, refuses=(), loses=()):
        self.name, self.delay, self.records = name, delay, records
        self.features = [feature for feature in DATA.costs.names if kind in feature]
        self.refuses, self.loses = set(refuses), set(loses)  # patients
        self.n_calls = self.n_refused = self.n_values = self.minutes = 0

    async def measure(self, names, ids):
        """Measure the named features of these patients; return a mapping of names to values."""
        self.n_calls += 1
        await asyncio.sleep(self.delay)
        if busy := self.refuses.intersection(ids):
            self.refuses -= busy  # the next request succeeds
            self.n_refused += 1
            raise ConnectionError(f"{self.name} is busy")
        if self.loses.intersection(ids):
            await asyncio.Event().wait()  # for ever
        self.n_values += len(names) * len(ids)
        self.minutes += DATA.costs.cost_of(names) * len(ids)
        return {name: [self.records[patient][name] for patient in ids] for name in names}


# %%
# One function that asks them
# ---------------------------
# The cascade calls ``acquire`` with the features of the next stage and the undecided patients.


def make_acquire(sources):
    """Return an `acquire` that asks all sources involved at the same time."""
    arrived = {}

    # If one source fails, the cascade calls `acquire` again. Keep the other answers so that nothing
    # is bought twice. A long-running service would drop them after the decision.
    async def ask(source, names, ids):
        request = (source.name, names, *ids)
        if request not in arrived:
            arrived[request] = await source.measure(names, ids)
        return arrived[request]

    async def acquire(names, ids):
        shares = [(s, tuple(name for name in names if name in s.features)) for s in sources]
        requests = [ask(source, share, ids) for source, share in shares if share]
        # Without return_exceptions, gather() ends at the first failure and drops the other answers.
        answers = await asyncio.gather(*requests, return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return {name: values for answer in answers for name, values in answer.items()}

    return acquire


# %%
# What was bought, and a case that waits
# --------------------------------------


def report(decisions, truth, sources):
    """Print what was bought beside the price of everything, and the decisions."""
    row = "{:<10} {:>6} {:>8} {:>7} {:>8}".format
    print(row("source", "calls", "refused", "values", "minutes"))
    for s in sources:
        print(row(s.name, s.n_calls, s.n_refused, s.n_values, f"{s.minutes:g}"))
    bought = np.array([sum(s.n_values for s in sources), sum(s.minutes for s in sources)])
    everything = len(decisions) * np.array([len(DATA.costs.names), DATA.costs.total])
    for name, pair in (("bought", bought), ("everything", everything)):
        print(row(name, "", "", *(f"{number:g}" for number in pair)))
    print(row("saved", "", "", *(f"{share:.0%}" for share in 1 - bought / everything)))

    accepted = decisions.accepted
    share = (decisions.labels == truth).mean()  # of the accepted: the others are masked
    print(f"\naccepted: {accepted.sum()} of {len(decisions)}, {share:.1%} of them correct")
    for reason, n in Counter(decisions.reasons[~accepted]).most_common():
        print(f"rejected: {n}, {reason}")


def wait_for_days(cascade, patient, record, file):
    """Decide one patient whose values come late; between stages the case is only a file."""
    print(f"\n{patient}")
    file.write_text(cascade.open().to_json())
    while (case := cascade.resume(file.read_text())).needs:  # days later, maybe elsewhere
        print(f"  {case.decision.reason}")
        case.give({name: record[name] for name in case.needs})
        file.write_text(case.to_json())
    print(f"  {case.decision.label}: {case.decision.reason}, {case.decision.cost:g} minutes")


# %%
# The service
# -----------


async def main(folder):
    """Fit, save, load and serve; follow one patient who waits; return the classifier."""
    diagnoses = np.array(["malignant", "benign"])[DATA.y]
    patients = [f"patient {i}" for i in range(len(diagnoses))]
    X_train, X_new, y_train, y_new, _, ids = train_test_split(
        DATA.X, diagnoses, patients, test_size=0.25, stratify=diagnoses, random_state=4
    )
    # Patients who are still undecided get every measurement at the last stage.
    classifier = EMSCOClassifier(
        costs=DATA.costs,
        min_confidence=0.95,
        max_stages=3,
        allow_exclusion=False,
        generations=40,
        estimator="logistic",
        cv=1 / 3,
        random_state=0,
    ).fit(X_train, y_train)
    classifier.cascade_.save(folder / "triage.json")

    cascade = Cascade.load(folder / "triage.json")
    for j, cost in enumerate(cascade.stage_costs):
        print(f"stage {j + 1} ({cost:g} minutes): {', '.join(cascade.design.buys[j])}\n")
    # Decide a table first. It picks the unlucky patients for this example, and it loads the
    # compiled code before the service takes calls.
    stage = cascade.decide(X_new).stage
    unlucky, late = ids[np.argmax(stage == cascade.n_stages)], ids[np.argmax(stage == 2)]
    names = DATA.costs.names
    records = {i: dict(zip(names, row, strict=True)) for i, row in zip(ids, X_new, strict=True)}
    sources = [  # delays in seconds, standing in for hours
        Source("bedside", "mean", 0.002, records),
        Source("laboratory", "error", 0.01, records, refuses=ids[::5]),
        Source("imaging", "worst", 0.02, records, loses=[unlucky]),
    ]
    acquire = make_acquire(sources)
    # report() prints the reasons, so the warning would only repeat them.
    warnings.filterwarnings("ignore", message=".* could not be acquired")
    decisions = await cascade.arun(ids, acquire, concurrency=8, timeout=0.5, retries=2, pause=0.01)
    report(decisions, y_new, sources)
    wait_for_days(cascade, late, records[late], folder / "case.json")
    return classifier


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        fitted = asyncio.run(main(Path(temporary)))
    figure = fitted.front_.plot_cascade(fitted.point_, width=7)
    figure.savefig("cascade.png")
