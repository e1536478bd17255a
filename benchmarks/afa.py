"""The yardsticks of active feature acquisition: accuracy by the number of features bought.

python benchmarks afa --out afa                                   three splits of four sets
python benchmarks afa --out afa --sets spam --methods emsco,dime
python benchmarks afa --out afa --known                           run nothing; report what is there
python benchmarks afa --out afa --known --splits 1                the same of the first split alone

Every feature costs 1, and everyone is answered. Of spam, 80 % of the rows are fitted on, and the
rest tests. Of the 1,000 rows of a cube, 800 are fitted on; 20,000 fresh rows of the same formula
test. Each result is kept as soon as it ends, and the same command continues. Writes afa.md, with
published figures beside ours, and a picture.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from bakeoff import drawn_rows
from sklearn.model_selection import train_test_split

from emsco import EMSCOClassifier, ParetoFront
from emsco._base.documents import write_text
from emsco._base.progress import JobProgress
from emsco.errors import EMSCOError
from emsco.front.point import ParetoPoint
from emsco_lab import datasets
from emsco_lab.compare_report import markdown_table
from emsco_lab.jobs import ResultStore, finish_jobs
from emsco_lab.methods import EMSCO, RIVALS, answer_with_rival, label_of, new_rival
from emsco_lab.trials import Answers, LabelledRows, Offer, Question, Seen, TrialRows
from emsco.plotting import save_figure
from emsco.plotting.figures import line_look, new_figure, soften

CAPPED = "emsco_capped"  # EMSCO, fitted anew for each cap on the features of every row
KNOWN = (EMSCO, CAPPED, *RIVALS)
DEFAULT = (EMSCO, CAPPED, "cost_aware_boosting", "catboost", "dime")
_FRESH, _FRESH_ROWS = 10**6, 20_000  # where seeds of fresh rows begin; no set is made from these


@dataclass(frozen=True, slots=True)
class Published:
    """Accuracy in % that somebody has published, with so many features."""

    method: str
    features: float
    accuracy: float
    source: str


_COVERT = "Covert et al., ICML 2023"
_SCHUETZ = "Schütz et al. 2025, read off a plot"
PUBLISHED = {
    "spam": [
        Published("GDFS", features, accuracy, _COVERT)
        for features, accuracy in zip(
            (1, 3, 5, 10, 15, 25), (78.5, 85.8, 90.9, 92.2, 93.4, 93.8), strict=True
        )
    ],
    "cube": [
        Published("OL", 5.5, 71, _SCHUETZ),
        Published("DIME", 7, 77, _SCHUETZ),
        Published("GDFS", 7.6, 80, _SCHUETZ),
    ],
    "cube_nm3": [Published("OL", 18, 68, _SCHUETZ), Published("DIME", 18, 52, _SCHUETZ)],
    "cube_nm5": [],
}
SHOWN = {"spam": (1, 3, 5, 10, 15, 25)}  # numbers of features in tables
_SHOWN_OF_CUBES = (3, 5, 7, 10, 14, 18)


def shown(name: str) -> tuple[int, ...]:
    """Return the numbers of features that the table of a set has."""
    return SHOWN.get(name, _SHOWN_OF_CUBES)


def named(method: str) -> str:
    """Return the name of a method in tables and drawings."""
    return "EMSCO, every row at most so many" if method == CAPPED else label_of(method)


@dataclass(frozen=True, slots=True)
class YardstickJob:
    """One method on one split of a set; a rival tries at most `most` settings."""

    data: str
    split: int
    method: str
    most: int

    @property
    def title(self) -> str:
        """Set, split and method."""
        return f"{self.data} split {self.split} {named(self.method)}"


def trial_of(name: str, split: int) -> TrialRows:
    """Return rows to fit on, and rows to test on."""
    data = datasets.load(name, split)
    parts = train_test_split(data.X, data.y, test_size=0.2, stratify=data.y, random_state=split)
    X, X_test, y, y_test = parts
    test = LabelledRows(X_test, y_test)
    if name.startswith("cube"):
        test = drawn_rows(name, _FRESH, _FRESH_ROWS)
    return TrialRows(LabelledRows(X, y), test, data.costs, split)


def work(job: YardstickJob) -> Mapping[str, Any]:
    """Let one method answer with 1, 2, 3, … features; with a cap, with the numbers in tables."""
    started = process_time()
    trial = trial_of(job.data, job.split)
    counts = range(1, shown(job.data)[-1] + 1)
    questions = [Question(1.0, count / trial.costs.total) for count in counts]
    try:
        if job.method == EMSCO:
            offers = emsco_offers(trial, questions)
        elif job.method == CAPPED:
            offers = []
            for count in shown(job.data):
                cap = {"max_worst_cost": float(count)}
                offers += emsco_offers(trial, [questions[count - 1]], constraints=cap)
        else:
            rival = new_rival(job.method, trial.costs, random_state=trial.seed)
            offers = answer_with_rival(rival, trial, questions, job.most)
        note = ""
    except EMSCOError as obstacle:
        offers, note = [], str(obstacle)
    return Answers(tuple(offers), note, process_time() - started).to_dict()


def emsco_offers(trial: TrialRows, questions: Sequence[Question], **settings: Any) -> list[Offer]:
    """Fit once, and offer the best design by mean cost for each question."""
    fit = EMSCOClassifier(
        trial.costs, always_answer=True, random_state=trial.seed, n_jobs=1, **settings
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        front = fit.fit(trial.fitted.X, trial.fitted.y).front_
    points = [point for point in front if not point.design.buys_nothing]
    offers = []
    for question in questions:
        allowed = [point for point in points if question.allows(point, trial.costs.total)]
        if allowed:
            best = max(allowed, key=lambda point: (point.steadied_accuracy, -point.cost))
            offers.append(tested(front, best, question, trial))
    return offers


def tested(front: ParetoFront, point: ParetoPoint, question: Question, trial: TrialRows) -> Offer:
    """Deploy a design, and test it."""
    figures = front.cascade(point).evaluate(trial.test.X, trial.test.y)
    seen = Seen(figures.coverage, figures.accuracy, figures.cost)
    return Offer(question, str(point.design), point.promised[1], seen)


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """Accuracy in %, features and processor seconds on one set, as means over splits.

    Attributes
    ----------
    name : str
    total : float
        Number of features of the set.
    answers : dict of str to dict of int to Answers
        By method and split.
    """

    name: str
    total: float
    answers: Mapping[str, Mapping[int, Answers]]

    def point(self, method: str, count: int) -> tuple[float, float] | None:
        """Return accuracy in % and features bought, where at most so many are allowed."""
        seen = [
            offer.seen
            for answers in self.answers[method].values()
            for offer in answers.by_rule("")
            if round(offer.question.budget * self.total) == count
        ]
        if not seen:
            return None
        accuracy = float(np.mean([one.accuracy for one in seen]))
        return 100 * accuracy, float(np.mean([one.cost for one in seen]))

    def to_markdown(self) -> str:
        """Return a table by the number of features; what is published comes last."""
        counts = shown(self.name)
        rows = []
        for method in self.answers:
            points = [self.point(method, count) for count in counts]
            seconds = np.mean([one.seconds for one in self.answers[method].values()])
            splits = len(self.answers[method])
            rows.append([named(method), *map(_cell, points), f"{splits}", f"{seconds:.0f}"])
        published = PUBLISHED[self.name]
        for who in dict.fromkeys((one.method, one.source) for one in published):
            # Each in the column of as many features, or the next fewer.
            points = {
                max(count for count in counts if count <= one.features): (
                    one.accuracy,
                    one.features,
                )
                for one in published
                if (one.method, one.source) == who
            }
            cells = [_cell(points.get(count)) for count in counts]
            rows.append([f"{who[0]} ({who[1]})", *cells, "", ""])
        heads = ["features", *map(str, counts), "splits", "processor s"]
        return f"## {self.name}\n\n{markdown_table(heads, rows)}"


def _cell(point: tuple[float, float] | None) -> str:
    """Accuracy in %, and the number of features bought."""
    return "–" if point is None else f"{point[0]:.1f} ({point[1]:.1f})"


def curves_of(store: ResultStore, jobs: Sequence[YardstickJob]) -> list[Curves]:
    """Read those results of the jobs that are in a folder, in their order."""
    wanted = {(job.data, job.method, job.split) for job in jobs}  # whatever settings were tried
    answers: dict[tuple[str, str], dict[int, Answers]] = {}
    for job, fields in store.every(YardstickJob):
        one = Answers.from_dict(fields, questions=None)
        if one.offers and (job.data, job.method, job.split) in wanted:
            answers.setdefault((job.data, job.method), {})[job.split] = one
    by_set: dict[str, dict[str, dict[int, Answers]]] = {}
    for name, method in dict.fromkeys((job.data, job.method) for job in jobs):
        if (name, method) in answers:
            by_set.setdefault(name, {})[method] = answers[name, method]
    return [Curves(name, datasets.load(name).costs.total, one) for name, one in by_set.items()]


def draw(curves: Sequence[Curves]) -> Any:
    """Draw accuracy by the number of features, a panel for each set; published points are marks."""
    figure = new_figure(5.0, 0.6 + 2.7 * len(curves))
    panels = figure.subplots(len(curves), 1, squeeze=False)[:, 0]
    # A method looks alike in all panels, and has one entry for all of them.
    methods = dict.fromkeys(method for one in curves for method in one.answers)
    looks = {method: line_look(number) for number, method in enumerate(methods)}
    drawn = {}
    for panel, one in zip(panels, curves, strict=True):
        counts = range(1, shown(one.name)[-1] + 1)
        for method in one.answers:
            points = {count: one.point(method, count) for count in counts}
            line = {count: point[0] for count, point in points.items() if point is not None}
            width = 2.8 if method == EMSCO else 1.4
            curve = panel.plot(list(line), list(line.values()), lw=width, **looks[method])
            drawn[named(method)] = curve[0]
        for place, method in enumerate(dict.fromkeys(mark.method for mark in PUBLISHED[one.name])):
            marks = [mark for mark in PUBLISHED[one.name] if mark.method == method]
            x, y = [mark.features for mark in marks], [mark.accuracy for mark in marks]
            label = f"{method}, published"
            panel.plot(x, y, "sDX"[place], color="black", markersize=5, label=label)
        panel.xaxis.get_major_locator().set_params(integer=True)
        panel.set_title(one.name, fontsize=9, loc="left")
        panel.set_ylabel("correct, % of test rows", fontsize=8)
        if PUBLISHED[one.name]:
            panel.legend(fontsize=7, frameon=False, loc="lower right")
        soften(panel, 8)
    panels[-1].set_xlabel("features, at most so many on average", fontsize=8)
    where = {"loc": "outside lower center", "ncols": 3}
    figure.legend(list(drawn.values()), list(drawn), fontsize=7, frameon=False, **where)
    return figure


def main() -> None:
    """Run or continue, and report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", default=",".join(PUBLISHED))
    parser.add_argument("--methods", default=",".join(DEFAULT))
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--first", type=int, default=100, help="first split; 0 to 4 made decisions")
    parser.add_argument("--settings", type=int, default=12, help="of a rival's grid, at most")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--known", action="store_true")
    asked = parser.parse_args()
    sets, methods = asked.sets.split(","), asked.methods.split(",")
    for what, given, known in (("sets", sets, PUBLISHED), ("methods", methods, KNOWN)):
        if unknown := [one for one in given if one not in known]:
            parser.error(f"--{what} must be some of {', '.join(known)}, got {unknown[0]!r}")
    store = ResultStore(asked.out / "results")
    jobs = [
        YardstickJob(name, split, method, asked.settings)
        for split in range(asked.first, asked.first + asked.splits)
        for name in sets
        for method in methods
    ]
    if not asked.known:
        with JobProgress("jobs") as progress:
            finish_jobs(jobs, work, store, asked.jobs, progress.job)
    curves = curves_of(store, jobs)
    if not curves:
        parser.exit(1, f"{asked.out} holds no results of these sets, methods and splits\n")
    save_figure(draw(curves), asked.out / "afa")
    text = "\n\n".join(one.to_markdown() for one in curves)
    write_text(asked.out / "afa.md", text + "\n")
    print(text)
