"""Rows through models, beside plain NumPy twins."""

from __future__ import annotations

import numpy as np
import pytest
from support.kernels import SIZES, frozen, random_batch, random_rows, sigmoid
from support.plain import plain

from emsco._kernels import judgement
from emsco.models import batches
from emsco.models.batches import Models


def plain_logits(models, rows, m):
    """Added up column by column, each product and sum rounded on its own."""
    logit = np.full(rows.shape[1], models.coefs[m, 0])
    for i in range(1, models.sizes[m]):
        logit = logit + models.coefs[m, i] * rows[models.columns[m, i]]
    return logit


def plain_bits(models, rows, labels, m, thresholds):
    logit = plain_logits(models, rows, m)
    accepted = 1 / (1 + np.exp(-np.abs(logit))) >= np.where(logit > 0, thresholds[1], thresholds[0])
    return accepted, accepted & ((logit > 0) == (labels == 1))


def as_bits(words, n_rows):
    """Table of 64-bit words → (n_models, n_rows), and whether the bits past the rows are 0."""
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little").astype(bool)
    return bits[:, :n_rows], not bits[:, n_rows:].any()


def judge(models, rows, labels, slots, thresholds, n_slots=None, valid=None):
    """A threshold for each class, or one for both of two."""
    thresholds = np.broadcast_to(thresholds, models.coefs.shape[1:-1] or 2).copy()
    n_words = -(-rows.shape[1] // 64)
    accepted = np.full((n_slots or len(slots), n_words), 2**64 - 1, dtype=np.uint64)
    correct = accepted.copy()
    valid = np.full(n_words, 2**64 - 1, dtype=np.uint64) if valid is None else valid
    coefs = models.coefs if models.coefs.ndim == 3 else models.coefs[:, None]
    rows = np.ascontiguousarray(rows)
    inputs = frozen(rows, labels, models.columns, models.sizes, coefs, slots, thresholds, valid)
    scratch = np.full((models.n_outputs + 2, 64), np.nan), np.full(64, -7)
    judgement.judge_rows(*inputs, accepted, correct, *scratch)
    return accepted, correct


class TestJudgeRows:
    @pytest.mark.parametrize("thresholds", [(0.75, 0.75), (0.6, 0.9), (0.0, 2.0)])
    @pytest.mark.parametrize("n_rows", [1, 2, 63, 64, 65, 128, 130, 257])
    def test_bits_equal_the_plain_ones(self, n_rows, thresholds):
        (rows, targets), models = random_rows(n_rows), random_batch().models
        slots, labels = np.random.default_rng(2).permutation(17), targets.astype(np.uint8)
        words = judge(models, rows, labels, slots, thresholds)
        (accepted, clean_1), (correct, clean_2) = (as_bits(word, n_rows) for word in words)
        assert clean_1
        assert clean_2
        for m, slot in enumerate(slots):
            wanted = plain_bits(models, rows, labels, m, thresholds)
            assert accepted[slot].tolist() == wanted[0].tolist()
            assert correct[slot].tolist() == wanted[1].tolist()

    def test_slots_of_other_subsets_stay_as_they_are(self):
        (rows, targets), models = random_rows(70), random_batch([3]).models
        slots = np.array([2])
        for words in judge(models, rows, targets.astype(np.uint8), slots, 0.75, n_slots=4):
            assert (words[[0, 1, 3]] == 2**64 - 1).all()
            assert (words[2] != 2**64 - 1).all()

    def test_equal_probabilities_are_accepted_at_one_half_and_the_first_class_wins(self):
        models = Models.from_subsets(np.ones((1, 2), dtype=bool))
        labels = np.array([0, 1, 1, 0, 1], dtype=np.uint8)
        accepted, correct = judge(models, np.ones((3, 5)), labels, np.array([0]), 0.5)
        assert accepted.tolist() == [[0b11111]]
        assert correct.tolist() == [[0b01001]]

    def test_a_model_makes_the_same_bits_alone_as_among_others(self):
        (rows, targets), models = random_rows(257), random_batch().models
        labels, slots = targets.astype(np.uint8), np.arange(17)
        together = judge(models, rows, labels, slots, 0.6)
        for m in range(17):
            part = Models(models.columns[m : m + 1], models.sizes[m : m + 1], models.coefs[[m]])
            alone = judge(part, rows, labels, np.array([0]), 0.6)
            assert [words[0].tolist() for words in alone] == [
                words[m].tolist() for words in together
            ]

    def test_a_bit_that_is_no_row_is_never_accepted(self):
        (rows, targets), models = random_rows(130), random_batch().models
        labels, valid = targets.astype(np.uint8), np.array([5, 2**63, 2], dtype=np.uint64)
        everything = judge(models, rows, labels, np.arange(17), 0.6)
        for part, whole in zip(
            judge(models, rows, labels, np.arange(17), 0.6, valid=valid), everything, strict=True
        ):
            assert part.tolist() == (whole & valid).tolist()


def models_of_classes(n_classes, seed=12):
    few = random_batch(seed=seed).models
    coefs = np.random.default_rng(seed).normal(size=(len(SIZES), n_classes, few.columns.shape[1]))
    return Models(few.columns, few.sizes, coefs)


def plain_likeliest(coefs, columns, rows):
    """Likeliest class and its probability; logits are added up column by column."""
    logits = np.repeat(coefs[:, :1], rows.shape[1], axis=1)
    for i, column in enumerate(columns[1:], start=1):
        logits = logits + coefs[:, i, None] * rows[column]
    shares = np.exp(logits - logits.max(axis=0))
    return shares.argmax(axis=0), 1 / shares.sum(axis=0)


class TestJudgeRowsOfManyClasses:
    @pytest.mark.parametrize("n_classes", [3, 7])
    @pytest.mark.parametrize("n_rows", [1, 64, 130])
    def test_bits_equal_the_plain_ones(self, n_rows, n_classes):
        (rows, _), models, rng = random_rows(n_rows), models_of_classes(n_classes), np.random
        slots, labels = (
            rng.default_rng(2).permutation(17),
            rng.default_rng(3).integers(0, 3, n_rows),
        )
        thresholds = rng.default_rng(4).uniform(0.3, 0.9, size=n_classes)
        words = judge(models, rows, labels.astype(np.uint8), slots, thresholds)
        (accepted, clean_1), (correct, clean_2) = (as_bits(word, n_rows) for word in words)
        assert clean_1
        assert clean_2
        for m, slot in enumerate(slots):
            columns = models.columns[m, : models.sizes[m]]
            winner, confidence = plain_likeliest(models.coefs[m], columns, rows)
            wanted = confidence >= thresholds[winner]
            assert accepted[slot].tolist() == wanted.tolist()
            assert correct[slot].tolist() == (wanted & (winner == labels)).tolist()

    def test_of_equal_probabilities_the_first_class_wins(self):
        coefs = np.array([[[0.0], [1.0], [1.0]], [[5.0], [5.0], [5.0]]])
        models = Models(np.zeros((2, 1), dtype=int), np.ones(2, dtype=int), coefs)
        labels = np.array([0, 1, 2], dtype=np.uint8)
        accepted, correct = judge(models, np.ones((1, 3)), labels, np.arange(2), np.full(3, 1 / 3))
        assert accepted.tolist() == [[0b111], [0b111]]
        assert correct.tolist() == [[0b010], [0b001]]


def decide(X, mean, inverse, models, min_confidence):
    stage, winner = np.full((2, len(X)), -1)
    confidence = np.full(len(X), np.nan)
    thresholds = np.full((len(models.sizes), 2), min_confidence, dtype=np.float64)
    inputs = frozen(X, mean, inverse, models.columns, models.sizes, models.coefs, thresholds)
    judgement.decide_rows(*inputs, 0, len(models.sizes), stage, winner, confidence)
    return stage, winner, confidence


def random_cascade(n_stages, n_features=9, seed=4):
    """Nested models of all features, their raw rows, and how to standardise them."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(n_features)
    known = np.zeros((n_stages, n_features), dtype=bool)
    for j, part in enumerate(np.array_split(order, n_stages)):
        known[j:, part] = True
    models = Models.from_subsets(known, 0.5 * rng.normal(size=(n_stages, n_features + 1)))
    mean, deviation = rng.normal(size=n_features), rng.uniform(0.1, 9.0, size=n_features)
    X = mean + deviation * rng.normal(size=(300, n_features))
    return X, mean, 1 / deviation, models


def plain_decisions(X, mean, inverse, models, min_confidence):
    rows = np.vstack([np.ones(len(X)), ((X - mean) * inverse).T])
    n_stages = len(models.sizes)
    logits = np.array([plain_logits(models, rows, j) for j in range(n_stages)])
    confidence = 1 / (1 + np.exp(-np.abs(logits)))
    thresholds = np.broadcast_to(min_confidence, (n_stages, 2))
    sure = confidence >= np.take_along_axis(thresholds, (logits > 0).astype(int), axis=1)
    stage = np.where(sure.any(axis=0), sure.argmax(axis=0), n_stages)
    seen = np.minimum(stage, n_stages - 1), np.arange(len(X))
    return stage, (logits[seen] > 0).astype(int), confidence[seen]


class TestDecideRows:
    @pytest.mark.parametrize(
        "min_confidence", [0, 0.3, 0.5, 0.6, 0.8, 0.99, (0.55, 0.8), (1.5, 0.4), (0, 0.9)]
    )
    @pytest.mark.parametrize("n_stages", [1, 2, 3, 9])
    def test_decisions_equal_the_plain_ones(self, n_stages, min_confidence):
        given = *random_cascade(n_stages), min_confidence
        stage, winner, confidence = decide(*given)
        plain_stage, plain_winner, plain_confidence = plain_decisions(*given)
        assert stage.tolist() == plain_stage.tolist()
        assert winner.tolist() == plain_winner.tolist()
        assert (np.abs(confidence - plain_confidence) <= 2 * np.spacing(plain_confidence)).all()

    @pytest.mark.parametrize(
        "thresholds",
        [
            [[0.9, 0.9], [0.7, 0.7], [0.0, 0.0]],
            [[0.6, 0.9], [0.8, 0.7], [0.0, 0.65]],
            [[1.0, 2.0], [0.0, 0.8], [0.5, 0.5]],
        ],
    )
    def test_every_stage_and_class_may_have_its_own_threshold(self, thresholds):
        given = *random_cascade(3), np.array(thresholds)
        decisions, plain = decide(*given), plain_decisions(*given)
        assert decisions[0].tolist() == plain[0].tolist()
        assert decisions[1].tolist() == plain[1].tolist()
        assert len({*decisions[0].tolist()}) > 1

    def test_rows_leave_early_even_if_a_later_stage_asks_for_less(self):
        X, mean, inverse, models = random_cascade(3)
        thresholds = np.array([[0.8, 0.8], [0.99, 0.99], [0.0, 0.0]])
        (stage, _, _), first = decide(X, mean, inverse, models, thresholds), thresholds[:1]
        alone = decide(X, mean, inverse, models, first)[0]
        assert (stage == 0).tolist() == (alone == 0).tolist()
        assert (stage < 3).all()

    def test_a_confidence_is_within_two_units_in_the_last_place(self):
        models = Models.from_subsets(np.ones((1, 1), dtype=bool), np.array([[0.0, 1.0]]))
        logit = np.concatenate([np.linspace(-45, 45, 50_001), [-1e4, -700.5, 700.5, 1e300]])
        _, winner, confidence = decide(logit[:, None], np.zeros(1), np.ones(1), models, 1.0)
        exact = sigmoid(np.abs(logit))
        assert np.abs((confidence - exact) / np.spacing(confidence)).max() <= 2
        assert winner.tolist() == (logit > 0).astype(int).tolist()

    def test_a_confidence_equal_to_the_threshold_is_accepted(self):
        X, mean, inverse, models = random_cascade(1)
        confidence = decide(X, mean, inverse, models, 0.5)[2]
        for row in range(20):
            stage, _, _ = decide(X, mean, inverse, models, confidence[row])
            assert stage[row] == 0
            above = np.nextafter(confidence[row], 1)
            assert decide(X, mean, inverse, models, above)[0][row] == 1

    def test_rows_are_decided_and_judged_alike_even_at_ties(self):
        X, mean, inverse, models = random_cascade(1)
        rows = np.vstack([np.ones(len(X)), ((X - mean) * inverse).T])
        labels = np.random.default_rng(5).integers(0, 2, size=len(X)).astype(np.uint8)
        for tie in decide(X, mean, inverse, models, 0.5)[2]:
            stage, winner, _ = decide(X, mean, inverse, models, tie)
            words = judge(models, rows, labels, np.array([0]), tie)
            accepted, correct = (as_bits(word, len(X))[0][0] for word in words)
            assert accepted.tolist() == (stage == 0).tolist()
            assert correct.tolist() == ((stage == 0) & (winner == labels)).tolist()


def cascade_of_classes(n_classes, n_stages=3):
    """A random cascade of so many classes; of two, as one output."""
    X, mean, inverse, models = random_cascade(n_stages)
    if n_classes > 2:
        shape = n_stages, n_classes, models.coefs.shape[1]
        coefs = np.random.default_rng(14).normal(size=shape)
        models = Models(models.columns, models.sizes, coefs)
    return X, mean, inverse, models


def plain_decisions_many(X, mean, inverse, models, thresholds):
    """Row by row and stage by stage."""
    rows = np.vstack([np.ones(len(X)), ((X - mean) * inverse).T])
    stage, winner, confidence = (
        np.full(len(X), len(models.sizes)),
        np.zeros(len(X)),
        np.full(len(X), np.nan),
    )
    for j, size in enumerate(models.sizes):
        coefs = models.coefs[j]
        if models.n_outputs == 1:
            coefs = np.vstack([0 * coefs, coefs])
        likeliest, surety = plain_likeliest(coefs, models.columns[j, :size], rows)
        open_ = stage == len(models.sizes)
        winner[open_], confidence[open_] = likeliest[open_], surety[open_]
        stage[open_ & (surety >= thresholds[j, likeliest])] = j
    return stage, winner, confidence


class TestDecideRowsMany:
    @pytest.mark.parametrize("n_classes", [2, 3, 6])
    def test_decisions_equal_the_plain_ones(self, n_classes):
        given = cascade_of_classes(n_classes)
        thresholds = np.random.default_rng(15).uniform(0.4, 0.8, size=(3, n_classes))
        decisions = given[3].decide(*frozen(*given[:3], thresholds), 0, 3)
        plain = plain_decisions_many(*given, thresholds)
        assert decisions[0].tolist() == plain[0].tolist()
        assert decisions[1].tolist() == plain[1].tolist()
        np.testing.assert_allclose(decisions[2], plain[2], rtol=1e-15, atol=0)

    @pytest.mark.parametrize("n_classes", [3, 5])
    def test_rows_are_decided_and_judged_alike_even_at_ties(self, n_classes):
        X, mean, inverse, models = cascade_of_classes(n_classes, n_stages=1)
        rows = np.vstack([np.ones(len(X)), ((X - mean) * inverse).T])
        labels = np.random.default_rng(5).integers(0, n_classes, size=len(X)).astype(np.uint8)
        nothing = np.zeros((1, n_classes))
        for tie in models.decide(X, mean, inverse, nothing, 0, 1)[2][:100]:
            thresholds = np.full(n_classes, tie)
            stage, winner, _ = models.decide(X, mean, inverse, thresholds[None], 0, 1)
            words = judge(models, rows, labels, np.array([0]), thresholds)
            accepted, correct = (as_bits(word, len(X))[0][0] for word in words)
            assert accepted.tolist() == (stage == 0).tolist()
            assert correct.tolist() == ((stage == 0) & (winner == labels)).tolist()

    def test_a_row_is_decided_alike_alone_and_among_others(self):
        X, mean, inverse, models = cascade_of_classes(3)
        thresholds = np.full((3, 3), 0.6)
        together = np.array(models.decide(X, mean, inverse, thresholds, 0, 3))
        alone = [models.decide(X[[r]], mean, inverse, thresholds, 0, 3) for r in range(len(X))]
        assert np.array(alone)[:, :, 0].T.tolist() == together.tolist()


class TestProbabilities:
    @pytest.mark.parametrize("n_classes", [2, 3, 6])
    def test_the_largest_is_the_confidence_to_the_last_bit(self, n_classes):
        X, mean, inverse, models = cascade_of_classes(n_classes)
        for j in range(3):
            probabilities = models.probabilities(*frozen(X, mean, inverse), j)
            stage, winner, confidence = models.decide(
                X, mean, inverse, np.full((3, n_classes), 2.0), j, j + 1
            )
            assert (stage == 3).all()
            assert probabilities.max(axis=1).tobytes() == confidence.tobytes()
            assert probabilities.argmax(axis=1).tolist() == winner.tolist()

    @pytest.mark.parametrize("n_classes", [2, 3, 6])
    def test_they_equal_the_plain_ones(self, n_classes):
        X, mean, inverse, models = cascade_of_classes(n_classes, n_stages=1)
        rows = np.vstack([np.ones(len(X)), ((X - mean) * inverse).T])
        coefs = models.coefs[0] if n_classes > 2 else np.vstack([0 * models.coefs, models.coefs])
        shares = np.exp(coefs @ rows[models.columns[0]])
        probabilities = models.probabilities(X, mean, inverse, 0)
        np.testing.assert_allclose(
            probabilities, (shares / shares.sum(axis=0)).T, rtol=1e-12, atol=1e-15
        )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_kernels_give_the_same_bits_compiled_and_not(n_classes, monkeypatch):
    X, mean, inverse, models = cascade_of_classes(n_classes)
    X, rows = X[:150], np.vstack([np.ones(150), ((X[:150] - mean) * inverse).T])
    rng = np.random.default_rng(3)
    labels, thresholds = rng.integers(0, n_classes, 150), rng.uniform(0.4, 0.9, (3, n_classes))

    def everything():
        decisions = models.decide(X, mean, inverse, thresholds, 0, 3)
        words = judge(models, rows, labels.astype(np.uint8), np.arange(3), thresholds[0])
        return *decisions, models.probabilities(X, mean, inverse, 2), *words

    compiled, twins = everything(), plain("judgement")
    monkeypatch.setattr(judgement, "judge_rows", twins.judge_rows)
    for name in ("decide_rows", "decide_rows_many", "probabilities_of"):
        monkeypatch.setattr(batches, name, getattr(twins, name))
    for one, other in zip(compiled, everything(), strict=True):
        np.testing.assert_array_equal(one, other)
