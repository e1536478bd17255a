"""The walk: what it does with each row, beside a loop over rows and stages and beside the bits."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.drawn import MAX_STAGES, Drawn, DrawnFitter
from support.kernels import frozen

from emsco.designs.population import Designs
from emsco.scoring import walk as walk_of_rows
from emsco.scoring.scores import Counts
from emsco.scoring.walk import Fork, Part

SEEDS = st.integers(0, 10**6)


def as_rows(one):
    """What happens to each row, in plain numbers."""
    return list(zip(one.given.tolist(), one.stage.tolist(), one.paid.tolist(), strict=True))


def told(outcomes):
    return [(as_rows(one), one.confidence.tolist()) for one in outcomes]


@given(SEEDS)
def test_each_row_has_the_label_the_stage_and_the_cost_that_a_loop_finds(seed):
    drawn = Drawn.of(seed)
    designs, no_label = drawn.designs(seed=seed), drawn.scored.n_classes
    for i, one in enumerate(drawn.walk().outcomes(designs)):
        stages, levels = designs.stages[i].tolist(), designs.levels[i].tolist()
        plain = list(drawn.walked(stages, levels))
        assert one.given.tolist() == [no_label if a is None else a for a, _, _ in plain]
        assert one.stage.tolist() == [j for _, j, _ in plain]
        np.testing.assert_allclose(one.paid, [paid for _, _, paid in plain], atol=1e-12)
        known = [[0 <= at <= j for at in stages] for j in range(max(stages) + 1)]
        sure = [drawn.answer(known[j])[1][row] for row, (_, j, _) in enumerate(plain)]
        assert one.confidence.tolist() == sure


@given(SEEDS, st.booleans())
def test_counts_of_bits_are_those_of_a_loop_and_of_the_walk_unless_refused(seed, by_class):
    drawn = Drawn.of(seed)
    designs = drawn.designs(seed=seed)
    frozen(designs.stages, designs.levels)
    evaluator = drawn.evaluator(drawn.bits(by_class=by_class))
    of_bits = evaluator.score(designs)
    exits, of_classes, spent = drawn.counted(designs)
    assert [of_bits.exits.tolist(), of_bits.correct_exits.tolist()] == exits.tolist()
    np.testing.assert_allclose(of_bits.spent / of_bits.per_one, spent, rtol=1e-9)
    assert not by_class or of_bits.by_class.tolist() == of_classes.tolist()
    refused = [
        any(drawn.refuses([0 <= at <= j for at in one], v[j]) for j in range(max(one) + 1))
        for one, v in zip(designs.stages.tolist(), designs.levels.tolist(), strict=True)
    ]
    assert evaluator.refused(designs).tolist() == refused
    kept = np.flatnonzero(np.logical_not(refused))
    walk, metric = drawn.walk(), of_bits.metric
    some = of_bits[kept]
    other = Counts.of_outcomes(walk.outcomes(designs), drawn.scored, metric)[kept]
    n_stages = other.exits.shape[1]
    assert some.n_rows == other.n_rows == drawn.scored.units.sum()
    assert some.exits[:, :n_stages].tolist() == other.exits.tolist()
    assert some.correct_exits[:, :n_stages].tolist() == other.correct_exits.tolist()
    np.testing.assert_allclose(some.cost, other.cost, rtol=1e-9)
    assert some.accuracy.tolist() == other.accuracy.tolist()


@given(SEEDS)
def test_counts_add_up_the_weights_of_rows_by_class_stage_and_outcome(seed):
    drawn = Drawn.of(seed)
    scored, rng = drawn.scored, np.random.default_rng(seed)
    weights = rng.integers(0, 9, size=len(scored))
    for one in drawn.walk().outcomes(drawn.designs(3)):
        plain = np.zeros((2, scored.n_classes, MAX_STAGES, scored.n_classes + 1))
        for row, (label, stage, _) in enumerate(as_rows(one)):
            plain[:, scored.labels[row], stage, label] += 1, weights[row]
        plain = plain[:, :, : len(one.after)]
        assert one.counts(scored).tolist() == plain[0].tolist()
        assert one.counts(scored, weights).tolist() == plain[1].tolist()
        scores = Counts.of_outcomes([one], replace(scored, units=weights))
        assert scores.rejected_exits[0].tolist() == plain[1, :, :, -1].sum(axis=0).tolist()
        assert scores.exits[0].tolist() == plain[1, :, :, :-1].sum(axis=(0, 2)).tolist()


@given(SEEDS, st.booleans())
def test_shares_are_means_over_the_decisions_about_a_row_or_a_block_of_rows(seed, in_blocks):
    drawn = Drawn.of(seed)
    scored, designs = drawn.scored, drawn.designs(4)
    places = np.arange(scored.rows.max() + 1) // 3 if in_blocks else None
    at = scored.rows if places is None else places[scored.rows]
    # Rows at a place of their own count in all, whatever they weigh.
    alone = len(np.unique(at)) == len(np.unique(scored.rows))
    weights = np.ones(len(scored)) if alone else scored.weights
    whole = np.bincount(at, weights)
    found = drawn.walk().shares(designs, places)
    for i, one in enumerate(drawn.walk().outcomes(designs)):
        figures = one.given < scored.n_classes, one.given == scored.labels, one.paid
        for k, figure in enumerate(figures):
            plain = np.bincount(at, weights * figure) / np.where(whole > 0, whole, 1)
            np.testing.assert_allclose(found[k, i], plain, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_and_what_is_kept_of_earlier_designs_change_nothing(n_jobs, monkeypatch):
    drawn = Drawn.of(2, missing=None)
    designs, whole = drawn.designs(60), drawn.walk()
    few = drawn.walk(drawn.bank(2000), n_jobs)
    monkeypatch.setattr(walk_of_rows, "_WORTH_THREADS", 0)
    monkeypatch.setattr(walk_of_rows, "_AT_ONCE", 3)
    monkeypatch.setattr(walk_of_rows, "_MOST_BYTES", 1)
    tight = drawn.walk(drawn.bank(2000), n_jobs)
    for walk in (few, tight):
        assert told(walk.outcomes(designs)) == told(whole.outcomes(designs))
        assert walk.shares(designs).tolist() == whole.shares(designs).tolist()


# Branches


def forked(seed):
    """A walk with two parts, a fork for each of some trunks, and what a loop says of the rows."""
    drawn = Drawn.of(seed, have_weights=True, sizes=[20, 33])
    rng = np.random.default_rng(seed)
    scored, grid = drawn.scored, drawn.grid
    side = rng.permutation(len(scored)) % 2
    parts, ways = [], []
    for k in range(2):
        places = np.flatnonzero(side == k)
        missing, later = scored.missing, drawn.priced != 0
        # What the trunk buys at the price of the row is paid there.
        prices = None if drawn.prices is None else drawn.prices[places][:, later]
        rows = replace(
            scored,
            labels=scored.labels[places],
            ends=np.array([len(places)]),
            rows=np.arange(len(places)),
            weights=scored.weights[places],
            units=scored.units[places],
            missing=None if missing is None else missing[places],
        )
        fitters = [DrawnFitter(len(places), scored.n_classes, seed + 10 + k)]
        ways.append(Drawn(rows, fitters, grid, drawn.costs, prices, drawn.priced[later]))
        parts.append(Part(ways[k].walk(), places))
    trunks = Designs.of(np.array([[0, -1, -1, -1], [0, 1, -1, -1]], dtype=np.int16), [[0, 0]])
    chains = [one.designs(2, seed=seed + k) for k, one in enumerate(ways)]
    forks, plain = [], []
    for i in range(2):
        trunk, after = trunks[[i]], [one[[i]] for one in chains]
        sizes = [int(one.n_stages[0]) for one in (trunk, *after)]
        paid = rng.integers(1, 9, size=sum(sizes)).astype(float)
        design = SimpleNamespace(n_stages=sum(sizes))
        forks.append(Fork(tuple(after), design, paid))
        rows = list(zip(*walked(drawn, trunk), strict=True))
        for k, (one, way) in enumerate(zip(after, ways, strict=True)):
            of_part = zip(*walked(way, one), strict=True)
            for place, (label, stage, own) in zip(parts[k].places, of_part, strict=True):
                given, _, before = rows[place]
                if given is None:
                    rows[place] = label, sum(sizes[: k + 1]) + stage, before + own
        plain.append([(label, stage, paid[stage] + own) for label, stage, own in rows])
    return drawn, parts, Designs(trunks.stages, trunks.levels, tuple(forks)), plain


def walked(drawn, design):
    """Labels, stages, and what rows pay by prices of their own."""
    stages = design.stages[0].tolist()
    labels, last, _ = zip(*drawn.walked(stages, design.levels[0].tolist()), strict=True)
    prices, own = drawn.prices, [0.0] * len(labels)
    for f, line in [] if prices is None else zip(drawn.priced, prices.T, strict=True):
        for i, price in enumerate(line.tolist()):
            own[i] += price * (0 <= stages[f] <= last[i])
    return labels, last, own


@given(SEEDS)
def test_after_a_branch_a_row_goes_the_way_of_its_part_and_pays_along_it(seed):
    drawn, parts, trees, plain = forked(seed)
    no_label, walk, chains = drawn.scored.n_classes, drawn.walk().through(parts), drawn.designs(3)
    mixed = Designs.concatenate([chains[:1], trees, chains[1:]])
    assert walk.shares(mixed)[:, 1:3].tolist() == walk.shares(trees).tolist()
    for one, rows in zip([*walk.outcomes(mixed)][1:3], plain, strict=True):
        assert one.given.tolist() == [no_label if a is None else a for a, _, _ in rows]
        assert one.stage.tolist() == [stage for _, stage, _ in rows]
        np.testing.assert_allclose(one.paid, [paid for _, _, paid in rows], atol=1e-12)


@given(SEEDS)
def test_what_is_kept_for_later_walks_alike_without_the_bank(seed):
    drawn, parts, trees, _ = forked(seed)
    walk = drawn.walk().through(parts)
    designs = Designs.concatenate([drawn.designs(3), trees])
    later = walk.for_later(designs)
    everything = Designs.of(np.zeros((1, 4), dtype=np.int16))
    for some in (designs, everything):
        assert told(later.outcomes(some)) == told(walk.outcomes(some))
    assert walk.for_later(designs, max_bytes=100) is None
