"""Each compiled kernel beside a plain NumPy twin; inputs are frozen to catch mutation."""

from __future__ import annotations

import numpy as np
import pytest

from emsco.kernels import breeding, deciding, fitting, hashing
from emsco.subsets.models import ModelBatch, Models

ROW_COUNTS = [1, 2, 63, 255, 256, 257, 511, 512, 513, 700]  # around blocks of 256
SIZES = np.arange(1, 18)  # columns that a model reads, intercept included: every tail of a tile


def frozen(*arrays):
    for array in arrays:
        array.setflags(write=False)
    return arrays


def random_rows(n_rows, n_features=16, seed=0):
    """Standard normal columns below a line of ones, and targets."""
    rng = np.random.default_rng(seed)
    rows = np.vstack([np.ones(n_rows), rng.normal(size=(n_features, n_rows))])
    return rows, rng.integers(0, 2, size=n_rows).astype(np.float64)


def random_batch(sizes=SIZES, n_features=16, seed=1):
    """Models of the given sizes; weights past a model's last column are there to be ignored."""
    rng = np.random.default_rng(seed)
    subsets = np.zeros((len(sizes), n_features), dtype=bool)
    for m, size in enumerate(sizes):
        subsets[m, rng.choice(n_features, size - 1, replace=False)] = True
    batch = ModelBatch.of(subsets)
    batch.models.coefs[:] = rng.normal(size=batch.models.coefs.shape)
    return batch


def add_terms(batch, rows, targets, live=None):
    live = np.arange(len(batch.passes)) if live is None else live
    inputs = frozen(
        rows,
        targets,
        rows.astype(np.float32),
        targets.astype(np.float32),
        batch.models.columns,
        batch.models.sizes,
        batch.models.coefs,
        batch.fine,
        batch.curved,
        live,
    )
    work = np.full((2, fitting.BLOCK), np.nan)
    work32 = np.full((3 + batch.models.columns.shape[1], fitting.BLOCK), np.nan, dtype=np.float32)
    fitting.add_terms(*inputs, batch.gradient, batch.hessian, work, work32)


def sigmoid(logit):
    """Without overflow, and in twice the digits where the platform has them."""
    q = np.exp(-np.abs(logit.astype(np.longdouble)))
    return np.where(logit >= 0, 1 / (1 + q), q / (1 + q))


def plain_terms(batch, rows, targets, m):
    x = rows[batch.models.columns[m, : batch.models.sizes[m]]]
    p = sigmoid(batch.models.coefs[m, : batch.models.sizes[m]] @ x).astype(np.float64)
    return x @ (p - targets), (x * (p * (1 - p))) @ x.T


class TestAddTerms:
    @pytest.mark.parametrize("n_rows", ROW_COUNTS)
    def test_fine_gradients_equal_the_plain_ones(self, n_rows):
        (rows, targets), batch = random_rows(n_rows), random_batch()
        batch.fine[:] = True
        add_terms(batch, rows, targets)
        for m, size in enumerate(SIZES):
            gradient, _ = plain_terms(batch, rows, targets, m)
            np.testing.assert_allclose(
                batch.gradient[m, :size], gradient, rtol=0, atol=2e-13 * n_rows
            )

    @pytest.mark.parametrize("n_rows", ROW_COUNTS)
    def test_coarse_gradients_equal_the_plain_ones_to_single_precision(self, n_rows):
        (rows, targets), batch = random_rows(n_rows), random_batch()
        add_terms(batch, rows, targets)
        for m, size in enumerate(SIZES):
            gradient, _ = plain_terms(batch, rows, targets, m)
            np.testing.assert_allclose(batch.gradient[m, :size], gradient, atol=3e-6 * n_rows**0.5)

    @pytest.mark.parametrize("fine", [True, False])
    @pytest.mark.parametrize("n_rows", ROW_COUNTS)
    def test_hessians_equal_the_plain_ones_to_single_precision(self, n_rows, fine):
        (rows, targets), batch = random_rows(n_rows), random_batch()
        batch.fine[:] = fine
        add_terms(batch, rows, targets)
        for m, size in enumerate(SIZES):
            lower = np.tril_indices(size)
            _, hessian = plain_terms(batch, rows, targets, m)
            found = batch.hessian[m, :size, :size]
            np.testing.assert_allclose(found[lower], hessian[lower], atol=3e-6 * n_rows**0.5)

    def test_a_model_that_is_not_curved_keeps_its_hessian(self):
        (rows, targets), batch = random_rows(300), random_batch()
        batch.curved[::2] = False
        batch.hessian[:] = 7.0
        add_terms(batch, rows, targets)
        changed = (batch.hessian != 7.0).any(axis=(1, 2))
        assert changed.tolist() == batch.curved.tolist()

    def test_only_live_models_are_touched(self):
        (rows, targets), batch = random_rows(300), random_batch()
        add_terms(batch, rows, targets, live=np.array([2, 5, 16]))
        touched = batch.gradient.any(axis=1) & batch.hessian.any(axis=(1, 2))
        assert np.flatnonzero(touched).tolist() == [2, 5, 16]
        assert np.flatnonzero(batch.gradient.any(axis=1)).tolist() == [2, 5, 16]

    @pytest.mark.parametrize("fine", [True, False])
    def test_rows_cut_between_blocks_add_up_to_the_same_bits(self, fine):
        (rows, targets), whole, cut = random_rows(700), random_batch(), random_batch()
        whole.fine[:] = cut.fine[:] = fine
        add_terms(whole, rows, targets)
        for part in (slice(0, 256), slice(256, 512), slice(512, None)):
            add_terms(cut, rows[:, part].copy(), targets[part].copy())
        assert whole.gradient.tobytes() == cut.gradient.tobytes()
        assert whole.hessian.tobytes() == cut.hessian.tobytes()

    @pytest.mark.parametrize("fine", [True, False])
    def test_a_model_adds_the_same_bits_alone_as_among_others(self, fine):
        (rows, targets), together, alone = random_rows(700), random_batch(), random_batch()
        together.fine[:] = alone.fine[:] = fine
        add_terms(together, rows, targets)
        for m in reversed(range(len(SIZES))):
            add_terms(alone, rows, targets, live=np.array([m]))
        assert together.gradient.tobytes() == alone.gradient.tobytes()
        assert together.hessian.tobytes() == alone.hessian.tobytes()

    @pytest.mark.parametrize(
        ("fine", "error", "relative"), [(True, 2e-13, 3e-13), (False, 3e-7, 1e-5)]
    )
    def test_a_probability_is_accurate_down_to_the_smallest(self, fine, error, relative):
        """One row of target 0 and intercept z adds σ(z): the exponential, seen from outside."""
        logits = np.linspace(-700 if fine else -80, 40, 20_001)
        batch = ModelBatch.of(np.zeros((len(logits), 1), dtype=bool))
        batch.models.coefs[:, 0] = logits
        batch.fine[:] = fine
        add_terms(batch, np.ones((2, 1)), np.zeros(1))
        exact = sigmoid(logits if fine else logits.astype(np.float32).astype(np.float64))
        off = np.abs(batch.gradient[:, 0] - exact)
        assert off.max() <= error
        assert (off / exact).max() <= relative

    @pytest.mark.parametrize("fine", [True, False])
    def test_absurd_logits_stay_finite(self, fine):
        batch = ModelBatch.of(np.zeros((4, 1), dtype=bool))
        batch.models.coefs[:, 0] = [-1e30, -1e3, 1e3, 1e30]
        batch.fine[:] = fine
        add_terms(batch, np.ones((2, 1)), np.zeros(1))
        np.testing.assert_allclose(batch.gradient[:, 0], [0, 0, 1, 1], atol=1e-30)
        assert np.isfinite(batch.hessian).all()


def newton_step(gradient, hessian, penalty):
    ridge = penalty * np.eye(len(gradient))
    ridge[0, 0] = 0.0  # the intercept is free
    return -np.linalg.solve(np.tril(hessian) + np.tril(hessian, -1).T + ridge, gradient)


def start(batch, at_zero, at_full, penalty=1.0):
    models = batch.models
    inputs = frozen(*at_zero, *at_full, models.columns, models.sizes)
    outputs = models.coefs, batch.step, batch.slope, batch.hessian
    fitting.start_models(*inputs[:4], penalty, *inputs[4:], *outputs)


def quadratic(seed, scale=1.0):
    """Gradient and Hessian of a convex quadratic over 17 columns."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(40, 17))
    return scale * rng.normal(size=17), root.T @ root


class TestStartModels:
    @pytest.mark.parametrize("penalty", [1.0, 0.25])
    def test_a_model_starts_at_the_minimum_of_the_full_models_quadratic(self, penalty):
        batch, (gradient, hessian) = random_batch(), quadratic(0)
        start(batch, (gradient, hessian), (1.2 * gradient, hessian), penalty)
        for m, size in enumerate(SIZES):
            c = batch.models.columns[m, :size]
            step = newton_step(1.2 * gradient[c], hessian[np.ix_(c, c)], penalty)
            np.testing.assert_allclose(batch.step[m, :size], step, rtol=1e-9, atol=1e-13)
            np.testing.assert_allclose(batch.slope[m], gradient[c] @ step, rtol=1e-9)
            assert batch.models.coefs[m, :size].tolist() == batch.step[m, :size].tolist()

    @pytest.mark.parametrize("factor", [-1.0, 5.0])
    def test_a_start_that_may_be_worse_than_zero_gives_way_to_the_quadratic_at_zero(self, factor):
        batch, (gradient, hessian) = random_batch(), quadratic(1)
        start(batch, (gradient, hessian), (factor * gradient, hessian))
        for m, size in enumerate(SIZES):
            c = batch.models.columns[m, :size]
            step = newton_step(gradient[c], hessian[np.ix_(c, c)], 1.0)
            np.testing.assert_allclose(batch.step[m, :size], step, rtol=1e-9, atol=1e-13)
            np.testing.assert_allclose(batch.slope[m], gradient[c] @ step, rtol=1e-9)

    def test_the_hessians_are_left_empty(self):
        batch = random_batch()
        batch.hessian[:] = 3.0
        start(batch, quadratic(2), quadratic(2))
        assert not batch.hessian.any()
        assert (batch.slope < 0).all()


def advance(batch, live=None, penalty=1.0, tolerance=1e-9):
    """The models that go on."""
    live = np.arange(len(batch.passes)) if live is None else live
    frozen(batch.models.sizes)
    n_live = fitting.advance_models(
        penalty,
        tolerance,
        live,
        batch.models.sizes,
        batch.models.coefs,
        batch.gradient,
        batch.hessian,
        batch.step,
        batch.slope,
        batch.norm,
        batch.fine,
        batch.curved,
        batch.passes,
    )
    return live[:n_live].tolist()


class TestAdvanceModels:
    def test_a_step_is_newtons_with_the_penalty_on_all_but_the_intercept(self):
        (rows, targets), batch = random_rows(300), random_batch()
        add_terms(batch, rows, targets)
        batch.models.coefs.setflags(write=True)
        batch.curved.setflags(write=True)
        batch.fine.setflags(write=True)
        before, gradient, hessian = (
            array.copy() for array in (batch.models.coefs, batch.gradient, batch.hessian)
        )
        assert advance(batch, penalty=0.5) == list(range(17))
        for m, size in enumerate(SIZES):
            slope = gradient[m, :size] + 0.5 * np.r_[0.0, before[m, 1:size]]
            step = newton_step(slope, hessian[m, :size, :size], 0.5)
            np.testing.assert_allclose(batch.step[m, :size], step, rtol=1e-9, atol=1e-13)
            moved = batch.models.coefs[m, :size] - before[m, :size]
            np.testing.assert_allclose(moved, step, rtol=1e-9, atol=1e-13)

    def test_a_step_that_went_too_far_is_cut_back_to_where_the_slope_vanishes(self):
        batch = ModelBatch.of(np.ones((1, 1), dtype=bool))
        batch.fine[:] = True
        batch.models.coefs[:] = batch.step[:] = [[4.0, 0.0]]
        batch.slope[:], batch.gradient[:] = -1.0, [[0.75, 0.0]]  # the slope is now 3
        assert advance(batch) == [0]
        assert batch.models.coefs.tolist() == batch.step.tolist() == [[1.0, 0.0]]
        assert batch.slope.tolist() == [-0.25]

    def test_a_fine_model_with_a_small_gradient_is_done_and_the_others_go_on(self):
        batch = random_batch([2, 3, 4])
        batch.models.coefs.fill(0.0)
        batch.hessian[:] = np.eye(4)
        batch.gradient[:, 0] = [1e-3, 1e-10, 1e-3]
        batch.fine[:] = True
        batch.norm[:] = 1.0e-3
        assert advance(batch) == [0, 2]
        assert batch.passes.tolist() == [1, 1, 1]
        assert batch.curved.tolist()[::2] == [True, True]  # no progress: a new Hessian is due
        assert not batch.gradient[[0, 2]].any()

    def test_a_short_step_or_eight_passes_end_the_coarse_part(self):
        batch = random_batch([2, 2, 2])
        batch.models.coefs.fill(0.0)
        batch.hessian[:] = np.eye(4)
        batch.gradient[:, 0] = [5e-3, 1.0, 1.0]
        batch.passes[:] = [0, 0, 7]
        advance(batch)
        assert batch.fine.tolist() == [True, False, True]


def plain_logits(models, rows, m):
    """Added up column by column, each product and sum rounded on its own."""
    logit = np.full(rows.shape[1], models.coefs[m, 0])
    for i in range(1, models.sizes[m]):
        logit = logit + models.coefs[m, i] * rows[models.columns[m, i]]
    return logit


def plain_bits(models, rows, labels, m, min_confidence):
    logit = plain_logits(models, rows, m)
    accepted = 1 / (1 + np.exp(-np.abs(logit))) >= min_confidence
    return accepted, accepted & ((logit > 0) == (labels == 1))


def as_bits(words, n_rows):
    """Table of 64-bit words → (n_models, n_rows), and whether the bits past the rows are 0."""
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little").astype(bool)
    return bits[:, :n_rows], not bits[:, n_rows:].any()


def judge(models, rows, labels, slots, min_confidence, n_slots=None):
    n_words = -(-rows.shape[1] // 64)
    accepted = np.full((n_slots or len(slots), n_words), 2**64 - 1, dtype=np.uint64)
    correct = accepted.copy()
    inputs = frozen(rows, labels, models.columns, models.sizes, models.coefs, slots)
    scratch = np.full(64, np.nan), np.full(64, 7, dtype=np.uint64)
    deciding.judge_rows(*inputs, min_confidence, accepted, correct, *scratch)
    return accepted, correct


class TestJudgeRows:
    @pytest.mark.parametrize("n_rows", [1, 2, 63, 64, 65, 128, 130, 257])
    def test_bits_equal_the_plain_ones(self, n_rows):
        (rows, targets), models = random_rows(n_rows), random_batch().models
        slots, labels = np.random.default_rng(2).permutation(17), targets.astype(np.uint8)
        words = judge(models, rows, labels, slots, 0.75)
        (accepted, clean_1), (correct, clean_2) = (as_bits(word, n_rows) for word in words)
        assert clean_1
        assert clean_2
        for m, slot in enumerate(slots):
            wanted = plain_bits(models, rows, labels, m, 0.75)
            assert accepted[slot].tolist() == wanted[0].tolist()
            assert correct[slot].tolist() == wanted[1].tolist()

    def test_slots_of_other_subsets_stay_as_they_are(self):
        (rows, targets), models = random_rows(70), random_batch([3]).models
        slots = np.array([2])
        for words in judge(models, rows, targets.astype(np.uint8), slots, 0.75, n_slots=4):
            assert (words[[0, 1, 3]] == 2**64 - 1).all()
            assert (words[2] != 2**64 - 1).all()

    def test_equal_probabilities_are_accepted_at_one_half_and_the_first_class_wins(self):
        models = Models.of(np.ones((1, 2), dtype=bool))
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


def plain_exits(accepted, correct, chain):
    undecided, exits = np.ones(accepted.shape[1], dtype=bool), []
    for slot in chain:
        exits.append(((undecided & accepted[slot]).sum(), (undecided & correct[slot]).sum()))
        undecided &= ~accepted[slot]
    return np.array(exits).T


class TestCountExits:
    @pytest.mark.parametrize("n_rows", [1, 64, 65, 200])
    def test_counts_equal_the_plain_ones_and_are_added(self, n_rows):
        rng = np.random.default_rng(3)
        accepted = rng.random((12, n_rows)) < 0.4
        correct = accepted & (rng.random((12, n_rows)) < 0.7)
        padded = np.zeros((2, 12, -(-n_rows // 64) * 64), dtype=bool)
        padded[:, :, :n_rows] = accepted, correct
        words = np.packbits(padded, axis=2, bitorder="little").view(np.uint64)
        chains, n_stages = rng.integers(0, 12, size=(50, 4)), rng.integers(1, 5, size=50)
        exits, hits = np.full((2, 50, 4), 1000)
        scratch = np.full(words.shape[2], 7, dtype=np.uint64)
        inputs = frozen(words[0], words[1], chains, n_stages)
        deciding.count_exits(*inputs, exits, hits, scratch)
        for d, n in enumerate(n_stages):
            wanted = np.zeros((2, 4), dtype=int)
            wanted[:, :n] = plain_exits(accepted, correct, chains[d, :n])
            assert [exits[d].tolist(), hits[d].tolist()] == (wanted + 1000).tolist()


def decide(X, mean, inverse, models, min_confidence):
    stage, winner = np.full((2, len(X)), -1)
    confidence = np.full(len(X), np.nan)
    inputs = frozen(X, mean, inverse, models.columns, models.sizes, models.coefs)
    deciding.decide_rows(*inputs, min_confidence, 0, len(models.sizes), stage, winner, confidence)
    return stage, winner, confidence


def random_cascade(n_stages, n_features=9, seed=4):
    """Nested models of all features, their raw rows, and how to standardise them."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(n_features)
    known = np.zeros((n_stages, n_features), dtype=bool)
    for j, part in enumerate(np.array_split(order, n_stages)):
        known[j:, part] = True
    models = Models.of(known, 0.5 * rng.normal(size=(n_stages, n_features + 1)))
    mean, deviation = rng.normal(size=n_features), rng.uniform(0.1, 9.0, size=n_features)
    X = mean + deviation * rng.normal(size=(300, n_features))
    return X, mean, 1 / deviation, models


def plain_decisions(X, mean, inverse, models, min_confidence):
    rows = np.vstack([np.ones(len(X)), ((X - mean) * inverse).T])
    n_stages = len(models.sizes)
    logits = np.array([plain_logits(models, rows, j) for j in range(n_stages)])
    confidence = 1 / (1 + np.exp(-np.abs(logits)))
    sure = confidence >= min_confidence
    stage = np.where(sure.any(axis=0), sure.argmax(axis=0), n_stages)
    seen = np.minimum(stage, n_stages - 1), np.arange(len(X))
    return stage, (logits[seen] > 0).astype(int), confidence[seen]


class TestDecideRows:
    @pytest.mark.parametrize("min_confidence", [0.5, 0.6, 0.8, 0.99])
    @pytest.mark.parametrize("n_stages", [1, 2, 3, 9])
    def test_decisions_equal_the_plain_ones(self, n_stages, min_confidence):
        given = *random_cascade(n_stages), min_confidence
        stage, winner, confidence = decide(*given)
        plain_stage, plain_winner, plain_confidence = plain_decisions(*given)
        assert stage.tolist() == plain_stage.tolist()
        assert winner.tolist() == plain_winner.tolist()
        assert (np.abs(confidence - plain_confidence) <= 2 * np.spacing(plain_confidence)).all()

    def test_a_confidence_is_within_two_units_in_the_last_place(self):
        models = Models.of(np.ones((1, 1), dtype=bool), np.array([[0.0, 1.0]]))
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


def random_keys(n_keys, n_words, seed=6):
    """Rows of words, many of them equal, which differ in one word or in many."""
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 2**64, size=(n_keys, n_words), dtype=np.uint64)
    keys[:, rng.integers(n_words)] = rng.integers(0, 20, size=n_keys)
    return keys[rng.integers(0, n_keys, size=2 * n_keys)]


class TestHashing:
    @pytest.mark.parametrize("n_words", [1, 2, 5])
    @pytest.mark.parametrize("n_index", [128, 1024])
    def test_slots_are_those_of_a_dictionary(self, n_words, n_index):
        wanted, places = random_keys(60, n_words), np.random.default_rng(7).permutation(120)
        known = {}
        for key in map(tuple, wanted.tolist()):
            known.setdefault(key, places[len(known)])
        index, keys = np.full(n_index, -1), np.zeros((120, n_words), dtype=np.uint64)
        slots, new = np.full((2, 120), -7)
        n_new = hashing.claim_slots(index, keys, *frozen(wanted, places), slots, new)
        assert n_new == len(known) < 120
        assert slots.tolist() == [known[tuple(key)] for key in wanted.tolist()]
        assert [tuple(key) for key in wanted[new[:n_new]].tolist()] == list(known)

    def test_a_claimed_key_is_found_and_another_is_not(self):
        wanted, strangers = random_keys(60, 3), random_keys(60, 3, seed=8)
        index, keys = np.full(256, -1), np.zeros((120, 3), dtype=np.uint64)
        slots, new, found = np.full((3, 120), -7)
        hashing.claim_slots(index, keys, *frozen(wanted, np.arange(120)), slots, new)
        hashing.find_slots(*frozen(index, keys, wanted), found)
        assert found.tolist() == slots.tolist()
        hashing.find_slots(*frozen(index, keys, strangers), found)
        assert found.tolist() == [-1] * 120

    def test_too_few_places_are_told_and_never_passed(self):
        index, keys = np.full(256, -1), np.zeros((3, 1), dtype=np.uint64)
        slots, new = np.full((2, 4), -7)
        wanted = np.arange(4, dtype=np.uint64)[:, None]
        assert hashing.claim_slots(index, keys, *frozen(wanted, np.arange(3)), slots, new) == -1

    def test_a_table_that_is_filled_again_knows_the_slots_that_were_entered(self):
        keys = np.unique(random_keys(60, 2), axis=0)
        index, found = np.full(256, -1), np.full(len(keys), -7)
        kept = np.flatnonzero(np.arange(len(keys)) % 3)
        slots, new = np.full((2, len(kept)), -7)
        assert hashing.claim_slots(index, keys, *frozen(keys[kept], kept), slots, new) == len(kept)
        hashing.find_slots(*frozen(index, keys, keys.copy()), found)
        assert found.tolist() == [i if i % 3 else -1 for i in range(len(keys))]


def random_designs(n_designs=200, n_features=9, max_stages=5, seed=9):
    draws = np.random.default_rng(seed).integers(0, max_stages, size=(n_designs, n_features))
    return np.array([np.unique(row, return_inverse=True)[1] for row in draws], dtype=np.int16)


def compressed(genes):
    used = sorted({gene for gene in genes.tolist() if gene >= 0})
    return [used.index(gene) if gene >= 0 else -1 for gene in genes.tolist()]


def half_up(x):
    return int(np.floor(x + 0.5))


class TestBreeding:
    def test_stages_are_renumbered_in_their_order(self):
        rows = np.random.default_rng(0).integers(-1, 40, size=(100, 6)).astype(np.int16)
        plain = [compressed(row) for row in rows]
        breeding.compress_rows(rows, np.full(100, -7))
        assert rows.tolist() == plain

    def test_sums_over_stages_equal_the_plain_ones(self):
        designs, values = random_designs(), np.random.default_rng(1).integers(0, 99, size=9) / 4
        designs[100:, 3:5] = -1
        totals = np.zeros((200, 6))
        breeding.add_up_stages(*frozen(designs, values), totals)
        known = designs[:, None, :] <= np.arange(6)[None, :, None]
        known &= (designs >= 0)[:, None, :]
        assert totals.tolist() == (known @ values).tolist()

    @pytest.mark.parametrize("rate", [0.0, 0.8, 1.0])
    @pytest.mark.parametrize("left_out", [0.0, 0.3, 0.9])
    def test_children_equal_the_plain_ones(self, rate, left_out):
        first, second = random_designs(), random_designs(seed=10)
        draws = np.random.default_rng(2).random((200, 12))
        for parents in (first, second):  # all but their last feature may be left out
            parents[:, :8][np.random.default_rng(6).random((200, 8)) < left_out] = -1
            parents[:] = [compressed(row) for row in parents]
        second[second[:, :8].max(axis=1) >= 0, 8] = -1
        second[:] = [compressed(row) for row in second]
        children = np.empty_like(first)
        breeding.cross_rows(*frozen(first, second, draws), rate, children)
        for a, b, u, child in zip(first, second, draws, children, strict=True):
            n_a, n_b = a.max() + 1, b.max() + 1
            n_child = (n_a, n_b, half_up((n_a + n_b) / 2))[int(3 * u[1])]
            takes_a = u[3:] < 0.5 if u[0] < rate else np.full(9, u[2] < 0.5)
            plain = np.where(takes_a, a, b)
            if u[0] < rate:
                ratios = (plain + 1) / np.where(takes_a, n_a, n_b)
                crossed = [max(0, half_up(ratio * n_child) - 1) for ratio in ratios]
                plain = np.where(plain < 0, -1, crossed)
            if plain.max() < 0:
                plain = a
            assert child.tolist() == plain.tolist()

    @pytest.mark.parametrize("rate", [0.1, 1.0])
    @pytest.mark.parametrize("exclusion", [False, True])
    @pytest.mark.parametrize("first", [-1, 4])
    def test_mutants_equal_the_plain_ones(self, rate, exclusion, first):
        designs, draws = random_designs(), np.random.default_rng(3).random((200, 9))
        draws[5] /= 1000 * rate  # all genes become -1 where that is a place
        cumulative = np.ones((4, 4))  # stages 0..3: the cap of four stages bites
        for highest in range(4):
            cumulative[highest, : highest + 1] = np.linspace(0, 1, highest + 2)[1:] ** 0.5
        mutants = np.empty_like(designs)
        scratch = np.full(len(cumulative) + 5, -7)
        given = (*frozen(designs, draws), rate, *frozen(cumulative))
        breeding.mutate_rows(*given, exclusion, first, mutants, scratch)
        for design, u, mutant in zip(designs, draws, mutants, strict=True):
            highest = min(design.max() + 1, 3)
            never = exclusion / (highest + 2)
            level = (u / rate - never) / (1 - never)
            drawn = np.minimum(np.searchsorted(cumulative[highest], level, side="right"), 3)
            genes = np.where(u < rate, np.where(level < 0, -1, drawn), design)
            if first >= 0:
                genes[first] = 0
            if genes.max() < 0:
                genes = design
            assert mutant.tolist() == compressed(genes)

    @pytest.mark.parametrize("slope", [0.0, 0.1])
    def test_gaps_equal_the_plain_ones(self, slope):
        rng = np.random.default_rng(4)
        points, front = (rng.integers(0, 9, size=(n, 3)) / 8 for n in (300, 12))
        gaps = np.full(300, np.nan)
        breeding.measure_gaps(*frozen(points, front), slope, gaps)
        shortfall = front - points[:, None]
        behind = shortfall.min(axis=2) + slope * shortfall.sum(axis=2)
        plain = np.where((shortfall >= 0).all(axis=2), behind, 0.0).max(axis=1)
        assert (plain == 0).any()
        assert (plain > 0.25).any()
        np.testing.assert_allclose(gaps, plain, rtol=1e-12, atol=0)

    def test_no_gap_lies_behind_an_empty_front(self):
        gaps = np.full(2, np.nan)
        breeding.measure_gaps(*frozen(np.zeros((2, 3)), np.zeros((0, 3))), 0.1, gaps)
        assert gaps.tolist() == [0.0, 0.0]
