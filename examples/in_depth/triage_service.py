"""A triage service that asks three slow departments, and only for what it still needs.

A cascade is fitted to samples with a known diagnosis, kept as a JSON file, and loaded as a service
would. The service decides new patients, eight at a time, and asks about each stage by stage until
the cascade is sure. The laboratory turns some requests down; they are made again. Imaging never
answers about one patient, who is rejected with that reason. Last, one patient's case is put aside
as text from one stage to the next.

The data are the breast-cancer samples that come with scikit-learn. In truth all their features
are taken from one picture; here each of the three kinds has a department of its own.

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
from emsco.datasets import load

DATA = load("breast_cancer")  # its costs are minutes of work for each feature


class Source:
    """A department: slow, at times too busy, and able to lose a request."""

    def __init__(self, name, kind, delay, records, refuses=(), loses=()):
        self.name, self.delay, self.records = name, delay, records
        self.features = [feature for feature in DATA.costs.names if kind in feature]
        self.refuses, self.loses = set(refuses), set(loses)  # patients
        self.n_calls = self.n_refused = self.n_values = self.minutes = 0

    async def measure(self, names, ids):
        """The named features of these patients, as a mapping of names to values."""
        self.n_calls += 1
        await asyncio.sleep(self.delay)
        if busy := self.refuses.intersection(ids):
            self.refuses -= busy  # the next request is taken
            self.n_refused += 1
            raise ConnectionError(f"{self.name} is busy")
        if self.loses.intersection(ids):
            await asyncio.Event().wait()  # for ever
        self.n_values += len(names) * len(ids)
        self.minutes += DATA.costs.cost_of(names) * len(ids)
        return {name: [self.records[patient][name] for patient in ids] for name in names}


def make_acquire(sources):
    """An `acquire` that asks, all at once, those sources that have any of the features."""
    arrived = {}

    # When one source fails, the whole of `acquire` is called again. What the others answered is
    # kept, so that nothing is bought twice; a long-lived service would drop it after the decision.
    async def ask(source, names, ids):
        request = (source.name, names, *ids)
        if request not in arrived:
            arrived[request] = await source.measure(names, ids)
        return arrived[request]

    async def acquire(names, ids):
        shares = [(s, tuple(name for name in names if name in s.features)) for s in sources]
        requests = [ask(source, share, ids) for source, share in shares if share]
        # By default gather() ends at the first failure, before the others have answered.
        answers = await asyncio.gather(*requests, return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return {name: values for answer in answers for name, values in answer.items()}

    return acquire


def report(decisions, truth, sources):
    """What was bought, beside buying everything, and what came of it."""
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
    print(f"\naccepted: {accepted.sum()} of {len(decisions)}, {share:.1%} of them rightly")
    for reason, n in Counter(decisions.reasons[~accepted]).most_common():
        print(f"rejected: {n}, {reason}")


def wait_for_days(cascade, patient, record, file):
    """Decide one patient whose values come late; in between there is nothing but a file."""
    print(f"\n{patient}")
    file.write_text(cascade.open().to_json())
    while (case := cascade.resume(file.read_text())).needs:  # days later, maybe elsewhere
        print(f"  {case.decision.reason}")
        case.give({name: record[name] for name in case.needs})
        file.write_text(case.to_json())
    print(f"  {case.decision.label}: {case.decision.reason}, {case.decision.cost:g} minutes")


async def main(folder):
    """Fit, save, load and serve; then follow one patient who has to wait."""
    diagnoses = np.array(["malignant", "benign"])[DATA.y]
    patients = [f"patient {i}" for i in range(len(diagnoses))]
    X_train, X_new, y_train, y_new, _, ids = train_test_split(
        DATA.X, diagnoses, patients, test_size=0.25, stratify=diagnoses, random_state=4
    )
    classifier = EMSCOClassifier(
        costs=DATA.costs, min_confidence=0.95, max_stages=3, generations=40, random_state=0
    ).fit(X_train, y_train)
    classifier.cascade_.save(folder / "triage.json")

    cascade = Cascade.load(folder / "triage.json")
    for j, cost in enumerate(cascade.stage_costs):
        print(f"stage {j + 1} ({cost:g} minutes): {', '.join(cascade.design.features(j))}\n")
    # Deciding a table beforehand shows whom to have bad luck with. It also loads the compiled
    # code, which is best done before a service takes calls, as it would hold them up.
    stage = cascade.decide(X_new).stage
    unlucky, late = ids[np.argmax(stage == cascade.n_stages)], ids[np.argmax(stage == 2)]
    names = DATA.costs.names
    records = {i: dict(zip(names, row, strict=True)) for i, row in zip(ids, X_new, strict=True)}
    sources = [  # the delays are in seconds, and stand for hours
        Source("bedside", "mean", 0.002, records),
        Source("laboratory", "error", 0.01, records, refuses=ids[::5]),
        Source("imaging", "worst", 0.02, records, loses=[unlucky]),
    ]
    acquire = make_acquire(sources)
    # report() tells the reasons; the warning that there are some would only repeat them.
    warnings.filterwarnings("ignore", message=".* could not be acquired")
    decisions = await cascade.arun(ids, acquire, concurrency=8, timeout=0.5, retries=2, pause=0.01)
    report(decisions, y_new, sources)
    wait_for_days(cascade, late, records[late], folder / "case.json")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        asyncio.run(main(Path(temporary)))
