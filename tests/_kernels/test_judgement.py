"""Rows through models, beside plain NumPy twins and the kernels uncompiled."""

from __future__ import annotations

import numpy as np
import pytest
from support.kernels import SIZES, Lines, frozen, random_rows, sigmoid
from support.plain import plain

from emsco._kernels import judgement

CLASSES = pytest.mark.parametrize("n_classes", [2, 3, 6])


def answers(models, rows, begin=0):
    """Likeliest classes and their probabilities, from a column on, between marks."""
    n_rows, coefs = rows.shape[1], models.coefs
    winner = np.full((len(models.sizes), begin + n_rows + 1), 99, dtype=np.uint8)
    confidence = np.full(winner.shape, -1.0)
    inputs = frozen(np.ascontiguousarray(rows), models.columns, models.sizes, coefs)
    scratch = np.full((coefs.shape[1] + 2, 64), np.nan), np.full(64, -7)
    judgement.answer_rows(*inputs, begin, winner, confidence, *scratch)
    outside = [*range(begin), -1]
    assert (winner[:, outside] == 99).all()
    assert (confidence[:, outside] == -1).all()
    return winner[:, begin:-1], confidence[:, begin:-1]


def by_class(models, m):
    """Weights of each class; a single output is the second of two classes."""
    coefs = models.coefs[m]
    return np.vstack([0 * coefs, coefs]) if len(coefs) == 1 else coefs


def plain_answers(models, rows, m):
    """Logits are added up column by column, each product and sum rounded on its own."""
    coefs = by_class(models, m)
    logits = np.repeat(coefs[:, :1], rows.shape[1], axis=1)
    for i in range(1, models.sizes[m]):
        logits = logits + coefs[:, i, None] * rows[models.columns[m, i]]
    shares = np.exp(logits - logits.max(axis=0))
    return shares.argmax(axis=0), 1 / shares.sum(axis=0)


class TestAnswerRows:
    @CLASSES
    @pytest.mark.parametrize("n_rows", [1, 63, 64, 65, 130, 257])
    def test_answers_equal_the_plain_ones_alone_and_among_others(self, n_rows, n_classes):
        (rows, _), models = random_rows(n_rows), Lines.of_sizes(n_classes=n_classes)
        winner, confidence = answers(models, rows, begin=n_rows % 3)
        for m in range(len(SIZES)):
            likeliest, sure = plain_answers(models, rows, m)
            assert winner[m].tolist() == likeliest.tolist()
            assert confidence[m] == pytest.approx(sure, rel=1e-15)
            part = models[[m]]
            assert [one[0].tobytes() for one in answers(part, rows)] == [
                one[m].tobytes() for one in (winner, confidence)
            ]

    def test_of_equal_probabilities_the_first_class_wins(self):
        two = Lines.of(np.ones((1, 2), dtype=bool))
        two.coefs[:] = 0
        coefs = np.array([[[0.0], [1.0], [1.0]], [[5.0], [5.0], [5.0]]])
        three = Lines(np.zeros((2, 1), dtype=int), np.ones(2, dtype=int), coefs)
        winner, confidence = answers(two, np.ones((3, 5)))
        assert (winner.tolist(), confidence.tolist()) == ([[0] * 5], [[0.5] * 5])
        winner, confidence = answers(three, np.ones((1, 1)))
        assert winner.tolist() == [[1], [0]]
        assert confidence[1, 0] == pytest.approx(1 / 3)

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_where_logits_are_not_numbers_neither_is_the_probability(self, n_classes):
        models = Lines.of_sizes([3], n_classes)
        winner, confidence = answers(models, np.full((17, 2), np.nan))
        assert winner.tolist() == [[0, 0]]
        assert np.isnan(confidence).all()


def random_cascade(n_stages, n_classes=2, n_features=9):
    """Raw rows, how to standardise them, and nested models of all features."""
    rng = np.random.default_rng(4)
    known = np.zeros((n_stages, n_features), dtype=bool)
    for j, part in enumerate(np.array_split(rng.permutation(n_features), n_stages)):
        known[j:, part] = True
    models = Lines.of(known, n_classes, seed=14)
    models.coefs[:] *= 0.5 if n_classes == 2 else 1
    mean, deviation = rng.normal(size=n_features), rng.uniform(0.1, 9.0, size=n_features)
    X = mean + deviation * rng.normal(size=(300, n_features))
    return X, mean, 1 / deviation, models


def standardised(X, mean, inverse):
    return np.vstack([np.ones(len(X)), ((X - mean) * inverse).T])


def decide(X, mean, inverse, models, thresholds):
    """Each stage and class may have its own threshold."""
    n_stages = len(models.sizes)
    least = np.zeros((n_stages, max(2, models.coefs.shape[1]))) + thresholds
    return models.decide(*frozen(X, mean, inverse, least), 0, n_stages)


def plain_decisions(X, mean, inverse, models, thresholds):
    """Stage by stage, for the rows that are left."""
    rows, n_stages = standardised(X, mean, inverse), len(models.sizes)
    least = np.broadcast_to(thresholds, (n_stages, max(2, models.coefs.shape[1])))
    stage, winner = np.full(len(X), n_stages), np.zeros(len(X), dtype=int)
    confidence = np.full(len(X), np.nan)
    for j in range(n_stages):
        likeliest, sure = plain_answers(models, rows, j)
        is_open = stage == n_stages
        winner[is_open], confidence[is_open] = likeliest[is_open], sure[is_open]
        stage[is_open & (sure >= least[j, likeliest])] = j
    return stage, winner, confidence


class TestDecideRows:
    @pytest.mark.parametrize(
        "thresholds",
        [
            *(0, 0.5, 0.6, 0.99, (0.55, 0.8), (1.5, 0.4)),
            [[0.9, 0.9], [0.7, 0.7], [0.0, 0.0]],
            [[0.6, 0.9], [0.8, 0.7], [0.0, 0.65]],
            [[1.0, 2.0], [0.0, 0.8], [0.5, 0.5]],
        ],
    )
    def test_decisions_about_two_classes_equal_the_plain_ones(self, thresholds):
        given = *random_cascade(3), np.array(thresholds)
        for found, wanted in zip(decide(*given), plain_decisions(*given), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-15)

    @CLASSES
    @pytest.mark.parametrize("n_stages", [1, 2, 9])
    def test_decisions_equal_the_plain_ones_alone_and_among_others(self, n_stages, n_classes):
        X, *rest = random_cascade(n_stages, n_classes)
        thresholds = np.random.default_rng(15).uniform(0.4, 0.8, size=(n_stages, n_classes))
        together = decide(X, *rest, thresholds)
        for found, wanted in zip(together, plain_decisions(X, *rest, thresholds), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-15)
        alone = [decide(X[[r]], *rest, thresholds) for r in range(len(X))]
        assert np.array(alone)[:, :, 0].T.tolist() == np.array(together).tolist()

    def test_a_confidence_is_within_two_units_in_the_last_place(self):
        models = Lines.of(np.ones((1, 1), dtype=bool))
        models.coefs[:] = 0.0, 1.0
        logit = np.concatenate([np.linspace(-45, 45, 50_001), [-1e4, -700.5, 700.5, 1e300]])
        _, winner, confidence = decide(logit[:, None], np.zeros(1), np.ones(1), models, 1.0)
        exact = sigmoid(np.abs(logit))
        assert np.abs((confidence - exact) / np.spacing(confidence)).max() <= 2
        assert winner.tolist() == (logit > 0).astype(int).tolist()
        assert judgement.confidence_of(logit[7]) == confidence[7]

    @CLASSES
    def test_rows_are_decided_and_answered_alike_even_at_ties(self, n_classes):
        X, mean, inverse, models = given = random_cascade(1, n_classes)
        (likeliest,), (sure,) = answers(models, standardised(X, mean, inverse))
        for tie in decide(*given, 2.0)[2][:50]:
            stage, winner, confidence = decide(*given, tie)
            assert (stage == 0).tolist() == (sure >= tie).tolist()
            assert winner.tolist() == likeliest.tolist()
            assert confidence.tobytes() == sure.tobytes()
            above = decide(*given, np.nextafter(tie, 2))[0]
            assert (above == 0).tolist() == (sure > tie).tolist()


@CLASSES
def test_probabilities_are_the_plain_ones_and_the_largest_is_the_confidence(n_classes):
    X, mean, inverse, models = random_cascade(3, n_classes)
    for j in range(3):
        found = models.probabilities(*frozen(X, mean, inverse), j)
        never = np.full((3, n_classes), 2.0)
        stage, winner, confidence = models.decide(X, mean, inverse, never, j, j + 1)
        assert (stage == 3).all()
        assert found.max(axis=1).tobytes() == confidence.tobytes()
        assert found.argmax(axis=1).tolist() == winner.tolist()
        rows, size = standardised(X, mean, inverse)[models.columns[j]], models.sizes[j]
        shares = np.exp(by_class(models, j)[:, :size] @ rows[:size])
        np.testing.assert_allclose(found, (shares / shares.sum(axis=0)).T, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_kernels_give_the_same_bits_compiled_and_not(n_classes, monkeypatch):
    X, mean, inverse, models = random_cascade(3, n_classes)
    thresholds = np.random.default_rng(3).uniform(0.4, 0.9, (3, n_classes))
    X = X[:150]

    def everything():
        decisions = decide(X, mean, inverse, models, thresholds)
        probabilities = models.probabilities(X, mean, inverse, 2)
        return *decisions, probabilities, *answers(models, standardised(X, mean, inverse))

    compiled, twins = everything(), plain("judgement")
    for name in ("answer_rows", "decide_rows", "decide_rows_many", "probabilities_of"):
        monkeypatch.setattr(judgement, name, getattr(twins, name))
    for one, other in zip(compiled, everything(), strict=True):
        np.testing.assert_array_equal(one, other)
