"""Cascades and fronts put together by hand: without a fit, a test takes milliseconds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from emsco import Cascade, Decisions, Design, FeatureCosts, ParetoFront
from emsco._base.objectives import Estimate, Expected
from emsco.cascade import FrontModels
from emsco.data.columns import ColumnCode
from emsco.data.encoding import Encoding
from emsco.designs.chromosomes import compress
from emsco.designs.population import Designs
from emsco.designs.questions import Question
from emsco.front.point import ParetoPoint
from emsco.front.references import measure_references
from emsco.models.scaling import Scaling
from emsco.models.stage_models import (
    AveragedModels,
    JoinedModels,
    LinearModels,
    averaged,
    parts_of,
)
from emsco.scoring.by_class import ByClass
from emsco.scoring.comparisons import Comparison, Figures
from emsco.scoring.error_costs import ErrorCosts
from emsco.scoring.outcomes import Outcomes
from emsco.scoring.rows import ScoredRows
from emsco.scoring.scores import Counts

NAMES = ("age", "pulse", "scan", "biopsy")
STAGES = (0, 0, 1, 2)  # age, pulse → scan → biopsy
COSTS = (1, 2.5, 10, 40)
EQUAL = Comparison((0.0,) * 7, (0.1,) * 7)  # as good as buying everything


def make_cascade(
    stages=STAGES, names=NAMES, costs=COSTS, classes=(0, 1), min_confidence=0.8, seed=0
):
    """A cascade with random weights and scaling, the same for the same seed."""
    rng, design = np.random.default_rng(seed), Design(stages, names)
    n = len(names)
    coefs = rng.normal(size=(design.n_stages, n + 1))
    coefs[:, 1:][~design.subsets()] = 0
    scaling = Scaling(rng.normal(size=n), rng.uniform(0.5, 2, size=n))
    return Cascade(
        design=design,
        costs=FeatureCosts.from_array(costs, names),
        classes=np.asarray(classes),
        min_confidence=min_confidence,
        encoding=plain_encoding(names),
        models=LinearModels(scaling, design.subsets(), coefs[:, None]),
    )


def with_thresholds(cascade, thresholds):
    """The same cascade with a threshold for every stage."""
    return replace(cascade, design=cascade.design.with_thresholds(thresholds))


def make_front_of_thresholds(thresholds=(0.9, 0.75, 0)):
    """The front of `make_assessed_front`, whose first design has thresholds of its own."""
    front = make_assessed_front()
    point = replace(front[0], design=front[0].design.with_thresholds(thresholds))
    return replace(front, points=(point, front[1]))


def make_averaged_cascade(n_models=3, **settings):
    """The cascade of `make_cascade`, with the average of several models per stage."""
    parts = tuple(make_cascade(seed=seed, **settings).models for seed in range(n_models))
    return replace(make_cascade(**settings), models=AveragedModels(parts))


PROTOCOL = Design.branching(
    Design((0, -1, -1, -1), NAMES, (0.9,)),
    [Question("age", at_most=0.2)],
    [
        Design.branching(
            Design((-1, 0, -1, -1), NAMES, (0.85,)),
            [Question("pulse", at_most=-0.5), Question(None, among=(1,))],
            [
                Design((-1, -1, 0, -1), NAMES, (0.7,)),
                Design.nothing(NAMES, 0),
                Design((-1, -1, 1, 0), NAMES, (0.97, 0.9)),
            ],
            usual=2,
        ),
        Design((-1, 1, 0, -1), NAMES, (0.75, 0)),
    ],
)


def make_protocol(seed=0, n_models=1):
    """A cascade that branches twice, with random weights; models of each part have own scaling.

    Its stages: 1 age → 2 pulse → (3 scan | 4 nothing | 5 biopsy → 6 scan), or 1 age → 7 scan →
    8 pulse. With several models per stage, these are averaged.
    """
    n, subsets = len(NAMES), PROTOCOL.subsets()
    ranges = ((0, 1), (1, 2), (2, 3), (3, 4), (4, 6), (6, 8))  # trunk, and the chains of each part

    def joined(seed):
        rng, pieces = np.random.default_rng(seed), []
        for start, stop in ranges:
            coefs = rng.normal(size=(stop - start, n + 1))
            coefs[:, 1:][~subsets[start:stop]] = 0
            scaling = Scaling(rng.normal(size=n), rng.uniform(0.5, 2, size=n))
            pieces.append(LinearModels(scaling, subsets[start:stop], coefs[:, None]))
        return JoinedModels(tuple(pieces), tuple(range(len(pieces))))

    return Cascade(
        design=PROTOCOL,
        costs=FeatureCosts.from_array(COSTS, NAMES),
        classes=np.array([0, 1]),
        min_confidence=0.8,
        encoding=plain_encoding(NAMES),
        models=averaged([joined(seed + k) for k in range(n_models)]),
    )


def figures_of(truth, given, cost):
    """Figures of decisions about rows of two classes that cost something each."""
    paid, stage = np.unique(cost, return_inverse=True)
    outcomes = Outcomes(given, stage, np.ones(len(truth)), paid)
    return Figures.of(outcomes, rows_of(truth, 2))


def rows_of(truth, n_classes, weights=None, rows=None):
    """Scored rows of these classes; each weighs 1 and is scored once, if nothing else is said."""
    n = len(truth)
    have_weights = weights is not None
    weights = weights if have_weights else np.ones(n)
    rows = np.arange(n) if rows is None else rows
    ends, units = np.array([n]), np.ones(n, dtype=np.int64)
    return ScoredRows(np.asarray(truth), n_classes, ends, rows, weights, units, have_weights)


def make_branching_front(n_models=1, n_rows=400):
    """A cheap chain and the design of `make_protocol`, with figures of their cascades on rows.

    Their true labels are those of the protocol, but for one in ten.
    """
    protocol, rng = make_protocol(n_models=n_models), np.random.default_rng(7)
    scalings = [part.pieces[0].scaling for part in parts_of(protocol.models)]

    def chain(stages):
        """A cascade with the scaling of the protocol's first stage, as of one fit."""
        cascade = make_cascade(stages)
        models = [make_cascade(stages, seed=k).models for k in range(n_models)]
        own = zip(models, scalings, strict=True)
        return replace(cascade, models=averaged([replace(m, scaling=s) for m, s in own]))

    cheap, everything = chain((0, 1, -1, -1)), chain((0,) * len(NAMES))
    rows = make_rows(n_rows, seed=3)
    guesses = protocol.decide(rows).guesses
    truth = np.where(rng.random(n_rows) < 0.9, guesses, 1 - guesses)

    def figures(cascade):
        decisions = cascade.decide(rows)
        return decisions, figures_of(truth, decisions.given(cascade.classes), decisions.cost)

    every = figures(everything)[1]

    def judged(cascade):
        decisions, of_rows = figures(cascade)
        accepted, n_stages = decisions.accepted, cascade.n_stages
        left, confidence = decisions.stage[accepted] - 1, decisions.confidence[accepted]
        is_correct = decisions.guesses[accepted] == truth[accepted]
        exits = np.bincount(left, minlength=n_stages)
        sure = np.bincount(left, confidence, n_stages) / np.maximum(exits, 1)
        return ParetoPoint(
            design=cascade.design,
            coverage=float(accepted.mean()),
            accuracy=float(is_correct.mean()),
            cost=float(decisions.cost.mean()),
            n_tied=1,
            n_rows=n_rows,
            exits=tuple(exits.tolist()),
            correct_exits=tuple(np.bincount(left[is_correct], minlength=n_stages).tolist()),
            exit_confidence=tuple(sure.tolist()),
            by_class=ByClass.from_labels((0, 1), truth, decisions.given(cascade.classes)),
            versus_everything=of_rows.minus(every),
            rejected_exits=()
            if cascade.design.is_chain
            else tuple(np.bincount(decisions.stage[~accepted] - 1, minlength=n_stages).tolist()),
        )

    cascades = (cheap, protocol)
    return ParetoFront(
        points=tuple(map(judged, cascades)),
        costs=protocol.costs,
        min_confidence=protocol.min_confidence,
        models=FrontModels(
            protocol.classes,
            protocol.encoding,
            tuple(one.models for one in cascades),
            everything.models,
        ),
        references=measure_references(everything, 1, rows, truth),
    )


def plain_encoding(names):
    """Each column a number, and a feature of its own."""
    return Encoding(tuple(map(ColumnCode, names)), tuple(names), tuple(range(len(names))))


def make_front(classes=(0, 1), names=NAMES, n_tied=(1, 3), by_class=None):
    """Two points, each with a fitted cascade."""
    designs = np.array([STAGES, (1, 0, 0, 0)], dtype=np.int16)
    exits, correct_exits = (
        np.array([[40, 30, 20], [50, 25, 0]]),
        np.array([[39, 28, 13], [50, 20, 0]]),
    )
    costs = FeatureCosts.from_array(COSTS, names)
    front = ParetoFront.from_scores(
        Designs.of(designs),
        Counts(100, exits, correct_exits, np.array([2150, 5300]), by_class=by_class),
        costs,
        0.8,
        np.array(n_tied),
        proven=True,
    )
    parts = [make_cascade(design, names, classes=classes) for design in designs]
    shared = parts[0].models.scaling  # as of one fit
    of_points = tuple(replace(part.models, scaling=shared) for part in parts)
    models = FrontModels(np.asarray(classes), parts[0].encoding, of_points)
    return ParetoFront(front.points, costs, 0.8, proven=True, models=models)


def make_assessed_front():
    """The same points as after a fit: judged row by row, with references and their model."""
    front, rng = make_front(), np.random.default_rng(5)
    truth, ones = rng.integers(0, 2, 100), np.ones(100)
    every = figures_of(truth, truth, 53.5 * ones)

    def judged(point, confidence, **marks):
        given = rng.permutation(np.repeat([0, 1, 2], [45, 45, 10]))
        figures = figures_of(truth, given, point.cost * ones)
        return replace(
            point,
            exit_confidence=confidence,
            by_class=ByClass.from_labels((0, 1), truth, given),
            versus_everything=figures.minus(every),
            **marks,
        )

    points = (
        judged(front[0], (0.95, 0.875, 0.8125), shortlisted=False),
        judged(front[1], (0.9, 0.85), is_simplified=True),
    )
    whole = make_cascade((0,) * len(NAMES))
    fitted = replace(whole.models, scaling=front.models.of_points[0].scaling)
    return replace(
        front,
        points=points,
        models=replace(front.models, everything=fitted),
        references=measure_references(whole, 1, make_rows(40), np.arange(40) % 2),
    )


def with_expected(front, luck=0.05, reach=0.04):
    """The same points, each with expected figures: accuracy less some luck, in its interval."""

    def around(value, most=1.0):
        return Estimate(value, max(0.0, value - reach), min(most, value + reach))

    points = tuple(
        replace(
            point,
            expected=Expected(
                around(point.coverage),
                around(point.accuracy - luck),
                around(point.cost, np.inf),
                ()
                if point.by_class is None
                else tuple(around(max(0.0, one - luck)) for one in point.by_class.recall.tolist()),
            ),
        )
        for point in front
    )
    return replace(front, points=points)


def with_money(front, error_cost, reject_cost=8.0):
    """The same front, as if searched for the lowest total: expected totals are 1 above the scored.

    Confidence is that of weighted rows, so nobody knows it.
    """
    money = ErrorCosts.from_parameters(error_cost, reject_cost, front.labels)
    points = []
    for point in front:
        total = point.cost + money.mean(point.by_class) + 1
        expected = point.expected and replace(
            point.expected, total=Estimate(total, total - 2, total + 2)
        )
        points.append(replace(point, exit_confidence=None, expected=expected))
    return replace(front, points=tuple(points), money=money)


def make_balanced_front():
    """The same points, scored by balanced accuracy."""
    return make_front(by_class=np.array([[[80, 10], [76, 4]], [[70, 5], [66, 4]]]))


def make_rich_cascade(gaps="impute", seed=0, wards=("A", "B", "ICU")):
    """Three classes, a group, a category, a truth value, gaps, all at once."""
    rng = np.random.default_rng(seed)
    codes = (
        ColumnCode("age", marks_missing=gaps == "impute"),
        ColumnCode("sodium"),
        ColumnCode("ward", "category", wards),
        ColumnCode("potassium"),
        ColumnCode("smokes", "truth"),
    )
    encoding = Encoding(codes, ("age", "blood", "ward", "smokes"), (0, 1, 2, 1, 3), gaps)
    columns = tuple(map(encoding.needs, encoding.features))
    costs = FeatureCosts(encoding.features, [1, 20.5, 0, 2], 0.25, columns, encoding.columns)
    design = Design((0, 1, 0, -1), encoding.features)
    reads = design.subsets()[:, encoding.input_feature]
    coefs = rng.normal(size=(2, 3, encoding.n_inputs + 1))
    coefs[:, :, 1:] = np.where(reads[:, None], coefs[:, :, 1:], 0.0)
    scaling = Scaling(rng.normal(size=len(reads.T)), rng.uniform(0.5, 2, size=len(reads.T)))
    return Cascade(
        design=design,
        costs=costs,
        classes=np.array(["ill", "unclear", "well"]),
        min_confidence={"ill": 0.6, "unclear": 0.7, "well": 0.65},
        encoding=encoding,
        models=LinearModels(scaling, reads, coefs),
    )


def make_rich_rows(n, seed=0):
    """Rows for such a cascade, as a data frame with gaps."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n, 3)), columns=["age", "sodium", "potassium"])
    table["ward"] = rng.choice(["A", "B", "ICU", "maternity"], size=n)
    table["smokes"] = rng.choice([True, False], size=n)
    table.loc[::5, "age"] = np.nan
    return table


def make_rows(n, n_features=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, n_features), scale=1.5)


@st.composite
def cascades_and_rows(draw):
    """Any small cascade, and a few rows of which some are extreme."""
    n = draw(st.integers(1, 9))
    stages = compress(draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n)))
    cascade = make_cascade(
        stages,
        tuple(f"x{i}" for i in range(n)),
        draw(st.lists(st.sampled_from([0.1, 0.2, 0.7, 3, 1e6]), min_size=n, max_size=n)),
        min_confidence=draw(st.sampled_from([0.5, 0.75, 0.9, 0.999999, 1.0])),
        seed=draw(st.integers(0, 2**32 - 1)),
    )
    rows = make_rows(draw(st.sampled_from([1, 2, 5, 67])), n, draw(st.integers(0, 2**32 - 1)))
    rows *= draw(st.sampled_from([0.0, 1e-300, 1.0, 1.0, 1.0, 30.0, 1e99]))
    return cascade, rows


def assert_same_bits(some: Decisions, other: Decisions) -> None:
    """Labels, acceptance, confidence, stage and cost are the same to the last bit."""
    for name in ("guesses", "accepted", "confidence", "stage", "cost"):
        one, two = getattr(some, name), getattr(other, name)
        assert one.dtype == two.dtype, name
        if one.dtype == object:  # whose bytes are addresses
            assert one.tolist() == two.tolist()
        else:
            assert one.tobytes() == two.tobytes(), name
