"""Whole populations of designs: compression, crossover, mutation, sums over stages.

A gene of -1 says that a feature is never bought.
"""

from __future__ import annotations

import cython
from cython.cimports.emsco._kernels.arrays import (
    Floats1,
    Floats2,
    Ints1,
    OutBytes1,
    OutFloats1,
    OutFloats2,
    OutInts1,
    OutStages2,
    Stages2,
)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _count_stages(designs: Stages2, d: cython.Py_ssize_t) -> cython.longlong:
    highest: cython.longlong = 0
    for i in range(designs.shape[1]):
        highest = max(highest, designs[d, i])
    return highest + 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _compress_row(designs: OutStages2, d: cython.Py_ssize_t, number: OutInts1) -> cython.void:
    """Renumber the stages of one design 0, 1, 2, …; `number` is scratch for as many stages."""
    n_stages = _count_stages(designs, d)
    used: cython.longlong = 0
    for stage in range(n_stages):
        number[stage] = 0
    for i in range(designs.shape[1]):
        if designs[d, i] >= 0:
            number[designs[d, i]] = 1
    for stage in range(n_stages):
        used += number[stage]
        number[stage] = used - 1
    for i in range(designs.shape[1]):
        if designs[d, i] >= 0:
            designs[d, i] = number[designs[d, i]]


def compress_rows(designs: OutStages2, number: OutInts1) -> None:
    """Compress each design in place; `number` is scratch for as many stages as there may be."""
    with cython.nogil:
        for d in range(designs.shape[0]):
            _compress_row(designs, d, number)


def cross_rows(
    first: Stages2,
    second: Stages2,
    draws: Floats2,
    crossover_rate: cython.double,
    children: OutStages2,
) -> None:
    """One child per pair; `draws` holds, per pair, three uniforms and one for each gene.

    A child that would buy nothing is a copy of the first parent.
    """
    gene: cython.longlong
    crossed: cython.bint
    with cython.nogil:
        for d in range(first.shape[0]):
            a, b = _count_stages(first, d), _count_stages(second, d)
            third = 3.0 * draws[d, 1]
            n_stages = a if third < 1.0 else b if third < 2.0 else (a + b + 1) // 2
            crossed = draws[d, 0] < crossover_rate
            for i in range(first.shape[1]):
                toss = draws[d, 3 + i] if crossed else draws[d, 2]
                gene, n_parent = second[d, i], b
                if toss < 0.5:
                    gene, n_parent = first[d, i], a
                if crossed and gene >= 0:
                    gene = max(0, (2 * (gene + 1) * n_stages + n_parent) // (2 * n_parent) - 1)
                children[d, i] = gene
            if _buys_nothing(children, d):
                for i in range(first.shape[1]):
                    children[d, i] = first[d, i]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _buys_nothing(designs: Stages2, d: cython.Py_ssize_t) -> cython.bint:
    nothing: cython.bint = True
    for i in range(designs.shape[1]):
        nothing &= designs[d, i] < 0
    return nothing


def mutate_rows(
    designs: Stages2,
    draws: Floats2,
    rate: cython.double,
    cumulative: Floats2,
    exclusion: cython.bint,
    first: cython.longlong,
    mutants: OutStages2,
    number: OutInts1,
) -> None:
    """Redraw genes whose uniform is below `rate`, then compress, into `mutants`.

    `cumulative[h]` is the distribution function over stages 0..h; a uniform below `rate`,
    divided by it, is uniform again and looks the new stage up. With `exclusion`, "never" takes
    one part in h + 2 of it first. The gene of feature `first`, if not -1, becomes 0. A mutant
    that would buy nothing is a copy.
    """
    highest: cython.longlong
    level: cython.double
    with cython.nogil:
        for d in range(designs.shape[0]):
            highest = min(_count_stages(designs, d), cumulative.shape[0] - 1)
            never = 1.0 / (highest + 2) if exclusion else 0.0
            for i in range(designs.shape[1]):
                mutants[d, i] = designs[d, i]
                if draws[d, i] < rate:
                    level, stage = draws[d, i] / rate, 0
                    if exclusion:
                        level = (level - never) / (1.0 - never)
                    while stage < highest and level >= cumulative[highest, stage]:
                        stage += 1
                    mutants[d, i] = stage if level >= 0.0 else -1
            if first >= 0:
                mutants[d, first] = 0
            if _buys_nothing(mutants, d):
                for i in range(designs.shape[1]):
                    mutants[d, i] = designs[d, i]
            _compress_row(mutants, d, number)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _take_step(
    designs: OutStages2,
    d: cython.Py_ssize_t,
    step: cython.longlong,
    n_places: cython.longlong,
    exclusion: cython.bint,
) -> cython.void:
    """One step, with stage j at place 2 j + 1, new stages between, never at -1."""
    n_features = designs.shape[1]
    for i in range(n_features):
        designs[d, i] = 2 * designs[d, i] + 1
    feature, place = step // n_places, step % n_places
    if feature < n_features:
        designs[d, feature] = -1 if exclusion and place == n_places - 1 else place
        return
    stage = (step - n_features * n_places) // 2
    exchanged = (step - n_features * n_places) % 2
    here = 2 * stage + 1
    for i in range(n_features):
        if designs[d, i] == here + 2:
            designs[d, i] = here
        elif designs[d, i] == here and exchanged == 1:
            designs[d, i] = here + 2


def take_steps(
    designs: Stages2,
    parent: Ints1,
    steps: Ints1,
    n_places: Ints1,
    max_stages: cython.longlong,
    exclusion: cython.bint,
    first: cython.longlong,
    children: OutStages2,
    allowed: OutBytes1,
    number: OutInts1,
) -> None:
    """Children one step away from their parents, compressed; and which of them are to be had.

    Not those that leave the space (too many stages, a feature left out without `exclusion` or
    all of them, feature `first` bought later), nor those equal to their parents. `number` is
    scratch for twice as many stages as designs have, and one.
    """
    highest: cython.longlong
    lowest: cython.longlong
    differs: cython.bint
    inside: cython.bint
    with cython.nogil:
        for m in range(parent.shape[0]):
            p = parent[m]
            for i in range(children.shape[1]):
                children[m, i] = designs[p, i]
            _take_step(children, m, steps[m], n_places[p], exclusion)
            _compress_row(children, m, number)
            highest, lowest, differs = -1, 0, False
            for i in range(children.shape[1]):
                highest, lowest = max(highest, children[m, i]), min(lowest, children[m, i])
                differs |= children[m, i] != designs[p, i]
            inside = 0 <= highest < max_stages and (exclusion or lowest >= 0)
            allowed[m] = differs and inside and (first < 0 or children[m, first] == 0)


def add_up_stages(designs: Stages2, values: Floats1, totals: OutFloats2) -> None:
    """Running sums, over stages, of `values` of the features bought at each."""
    with cython.nogil:
        for d in range(designs.shape[0]):
            for i in range(designs.shape[1]):
                if designs[d, i] >= 0:
                    totals[d, designs[d, i]] += values[i]
            for j in range(1, totals.shape[1]):
                totals[d, j] += totals[d, j - 1]


def measure_distances(
    points: Floats2, front: Floats2, slope: cython.double, distances: OutFloats1
) -> None:
    """How far each point lies behind the front; 0 for one that nothing in it dominates.

    Behind a point that dominates it, that is the smallest of its shortfalls plus `slope` times
    their sum; behind several, the largest of these.
    """
    smallest: cython.double
    largest: cython.double
    with cython.nogil:
        for i in range(points.shape[0]):
            largest = 0.0
            for f in range(front.shape[0]):
                a = front[f, 0] - points[i, 0]
                b = front[f, 1] - points[i, 1]
                c = front[f, 2] - points[i, 2]
                smallest = a if a < b else b
                smallest = c if c < smallest else smallest
                # Multiplied by 0 or 1, not in a branch, which processors would guess wrong.
                counted = 1.0 if smallest >= 0.0 else 0.0
                distance = counted * (smallest + slope * (a + b + c))
                largest = distance if distance > largest else largest
            distances[i] = largest
