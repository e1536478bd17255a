"""Chromosomes whose stages have levels, compared with loops over genes."""

from __future__ import annotations

import numpy as np
import pytest

from emsco.designs.chromosomes import (
    MOST_LEVELS,
    chromosome_numbers,
    compress,
    design_keys,
    designs_of_keys,
    levels_of,
    stage_counts,
    stages_of,
    with_levels,
)

SHIFT = 10  # bits of a gene that hold the stage


def random_case(seed, n_designs=40, n_features=6, n_levels=9):
    """Designs of up to five stages, some features left out, and random levels."""
    rng = np.random.default_rng(seed)
    genes = rng.integers(-1, 5, size=(n_designs, n_features))
    genes[:, 0] = np.maximum(genes[:, 0], 0)
    return compress(genes), rng.integers(0, n_levels, size=(n_designs, 5))


def plain_genes(stages, levels):
    """Genes, one by one."""
    return [
        [-1 if stage < 0 else stage + (levels_of_stages[stage] << SHIFT) for stage in design]
        for design, levels_of_stages in zip(stages.tolist(), levels.tolist(), strict=True)
    ]


@pytest.mark.parametrize("seed", range(3))
def test_a_gene_is_the_stage_with_the_level_in_the_bits_above(seed):
    stages, levels = random_case(seed)
    genes = with_levels(stages, levels)
    assert genes.dtype == np.int16
    assert genes.tolist() == plain_genes(stages, levels)


@pytest.mark.parametrize("seed", range(3))
def test_stages_and_levels_are_read_back_from_genes(seed):
    stages, levels = random_case(seed)
    genes = with_levels(stages, levels)
    assert stages_of(genes).tolist() == stages.tolist()
    for design, given, read in zip(stages, levels, levels_of(genes, 5), strict=True):
        n_stages = design.max() + 1
        assert read.tolist() == [*given[:n_stages].tolist(), *[0] * (5 - n_stages)]


def test_the_highest_level_of_the_deepest_stage_fits_into_a_gene():
    stages = np.array([[0, 1023]], dtype=np.int16)
    levels = np.full((1, 1024), MOST_LEVELS - 1)
    genes = with_levels(stages, levels)
    assert genes.min() > 0
    assert stages_of(genes).tolist() == [[0, 1023]]
    assert levels_of(genes, 1024)[0, [0, 1023]].tolist() == [MOST_LEVELS - 1] * 2


def test_designs_at_level_0_are_the_plain_chromosomes():
    stages, levels = random_case(0)
    genes = with_levels(stages, 0 * levels)
    assert np.array_equal(genes, stages)
    assert not levels_of(genes, 5).any()
    assert stages_of(genes) is genes


def test_stages_are_counted_whatever_their_levels():
    stages, levels = random_case(1)
    assert stage_counts(with_levels(stages, levels)).tolist() == (stages.max(axis=1) + 1).tolist()


def test_numbers_order_designs_by_stages_and_then_by_levels():
    stages, levels = random_case(2, n_designs=80, n_features=3, n_levels=3)
    genes = with_levels(stages, levels)
    keys = [tuple(a) + tuple(b) for a, b in zip(stages.tolist(), genes.tolist(), strict=True)]
    rank = {key: i for i, key in enumerate(sorted(set(keys)))}
    numbers = chromosome_numbers(genes)
    assert np.unique(numbers, return_inverse=True)[1].tolist() == [rank[key] for key in keys]
    assert len(rank) < len(keys)  # some designs repeat


def test_numbers_of_many_genes_keep_the_same_order():
    stages, levels = random_case(3, n_designs=60, n_features=12)
    genes = with_levels(stages, levels)
    keys = [tuple(a) + tuple(b) for a, b in zip(stages.tolist(), genes.tolist(), strict=True)]
    by_number = np.argsort(chromosome_numbers(genes), kind="stable").tolist()
    assert by_number == sorted(range(60), key=keys.__getitem__)


def test_designs_that_differ_only_in_levels_have_keys_and_numbers_of_their_own():
    stages = np.tile(np.array([[0, 1, 1, -1, 0]], dtype=np.int16), (12, 1))
    levels = np.array([[i, j] for i in range(4) for j in range(3)])
    genes = with_levels(stages, levels)
    keys = design_keys(genes)
    assert len(np.unique(keys, axis=0)) == len(set(chromosome_numbers(genes).tolist())) == 12
    assert np.array_equal(designs_of_keys(keys, 5), genes)
