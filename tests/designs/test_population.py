"""Stages and levels apart are the designs that genes hold together."""

import numpy as np
from support.leveled import grid_of, random_genes

from emsco.designs.chromosomes import levels_of, stages_of, subset_words
from emsco.designs.population import Designs

GENES = random_genes(grid_of(), n_designs=60)


def test_genes_are_taken_apart_and_packed_again():
    designs = Designs.from_packed(GENES)
    assert designs.stages.tolist() == np.asarray(designs).tolist() == stages_of(GENES).tolist()
    assert designs.levels.tolist() == levels_of(GENES, 5).tolist()
    assert designs.packed().tolist() == GENES.tolist()
    assert designs.subsets().tolist() == subset_words(stages_of(GENES), 3).tolist()
    again = Designs.of(designs.stages, designs.levels[:, :3])
    assert again.packed().tolist() == GENES.tolist()
    past = Designs.of(designs.stages, np.full((1, 5), 7))
    assert ((past.levels == 7).sum(axis=1) == designs.n_stages).all()


def test_distinct_designs_come_in_their_order_each_once():
    designs = Designs.from_packed(GENES)
    twice = Designs.concatenate([designs[:7], designs, designs[3:9]])
    kept = twice[twice.distinct()].packed().tolist()
    assert kept == [list(one) for one in dict.fromkeys(map(tuple, GENES.tolist()))]
