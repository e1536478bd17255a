"""Whole populations of designs: compression, crossover, mutation, sums over stages.

A gene of -1 says that a feature is never bought.
"""

from __future__ import annotations

from emsco._base.typing import BoolArray, FloatArray, IntArray, StageArray
from emsco._kernels.compiler import helper, kernel


@helper()
def _count_stages(row):
    highest = 0
    for gene in row:
        highest = max(highest, int(gene))
    return highest + 1


@helper()
def _compress_row(row, number):
    """Renumber the stages of one design 0, 1, 2, …; `number` is scratch for as many stages."""
    n_stages = _count_stages(row)
    for stage in range(n_stages):
        number[stage] = 0
    for gene in row:
        if gene >= 0:
            number[gene] = 1
    used = 0
    for stage in range(n_stages):
        used += number[stage]
        number[stage] = used - 1
    for i in range(len(row)):
        if row[i] >= 0:
            row[i] = number[row[i]]


@kernel()
def compress_rows(
    designs: StageArray,
    number: IntArray,
) -> None:
    """Compress each design in place; `number` is scratch for as many stages as there may be."""
    for d in range(len(designs)):  # rows of a loop over `designs` would be of another type
        _compress_row(designs[d], number)


@kernel()
def cross_rows(
    first: StageArray,
    second: StageArray,
    draws: FloatArray,
    crossover_rate: float,
    children: StageArray,
) -> None:
    """One child per pair; `draws` holds, per pair, three uniforms and one for each gene.

    A child that would buy nothing is a copy of the first parent.
    """
    for d in range(len(first)):
        a, b = _count_stages(first[d]), _count_stages(second[d])
        third = 3.0 * draws[d, 1]
        n_stages = a if third < 1.0 else b if third < 2.0 else (a + b + 1) // 2
        crossed = draws[d, 0] < crossover_rate
        for i in range(first.shape[1]):
            toss = draws[d, 3 + i] if crossed else draws[d, 2]
            gene, n_parent = (first[d, i], a) if toss < 0.5 else (second[d, i], b)
            if crossed and gene >= 0:
                gene = max(0, (2 * (gene + 1) * n_stages + n_parent) // (2 * n_parent) - 1)
            children[d, i] = gene
        if _buys_nothing(children[d]):
            for i in range(first.shape[1]):
                children[d, i] = first[d, i]


@helper()
def _buys_nothing(row):
    nothing = True
    for gene in row:
        nothing &= gene < 0
    return nothing


@kernel()
def mutate_rows(
    designs: StageArray,
    draws: FloatArray,
    rate: float,
    cumulative: FloatArray,
    exclusion: bool,
    first: int,
    mutants: StageArray,
    number: IntArray,
) -> None:
    """Redraw genes whose uniform is below `rate`, then compress, into `mutants`.

    `cumulative[h]` is the distribution function over stages 0..h; a uniform below `rate`,
    divided by it, is uniform again and looks the new stage up. With `exclusion`, "never" takes
    one part in h + 2 of it first. The gene of feature `first`, if not -1, becomes 0. A mutant
    that would buy nothing is a copy.
    """
    for d in range(len(designs)):
        highest = min(_count_stages(designs[d]), len(cumulative) - 1)
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
        if _buys_nothing(mutants[d]):
            for i in range(designs.shape[1]):
                mutants[d, i] = designs[d, i]
        _compress_row(mutants[d], number)


@helper()
def _take_step(row, step, n_places, exclusion):
    """One step, with stage j at place 2 j + 1, new stages between, never at -1."""
    n_features = len(row)
    for i in range(n_features):
        row[i] = 2 * row[i] + 1
    feature, place = step // n_places, step % n_places
    if feature < n_features:
        row[feature] = -1 if exclusion and place == n_places - 1 else place
        return
    stage, exchanged = divmod(step - n_features * n_places, 2)
    here = 2 * stage + 1
    for i in range(n_features):
        if row[i] == here + 2:
            row[i] = here
        elif row[i] == here and exchanged == 1:
            row[i] = here + 2


@kernel()
def take_steps(
    designs: StageArray,
    parent: IntArray,
    steps: IntArray,
    n_places: IntArray,
    max_stages: int,
    exclusion: bool,
    first: int,
    children: StageArray,
    allowed: BoolArray,
    number: IntArray,
) -> None:
    """Children one step away from their parents, compressed; and which of them are to be had.

    Not those that leave the space (too many stages, a feature left out without `exclusion` or
    all of them, feature `first` bought later), nor those equal to their parents. `number` is
    scratch for twice as many stages as designs have, and one.
    """
    for m in range(len(parent)):
        design, child = designs[parent[m]], children[m]
        for i in range(len(child)):
            child[i] = design[i]
        _take_step(child, steps[m], n_places[parent[m]], exclusion)
        _compress_row(child, number)
        highest, lowest, differs = -1, 0, False
        for i in range(len(child)):
            highest, lowest = max(highest, int(child[i])), min(lowest, int(child[i]))
            differs |= child[i] != design[i]
        inside = 0 <= highest < max_stages and (exclusion or lowest >= 0)
        allowed[m] = differs and inside and (first < 0 or child[first] == 0)


@kernel()
def add_up_stages(
    designs: StageArray,
    values: FloatArray,
    totals: FloatArray,
) -> None:
    """Running sums, over stages, of `values` of the features bought at each."""
    for d in range(len(designs)):
        for i in range(designs.shape[1]):
            if designs[d, i] >= 0:
                totals[d, designs[d, i]] += values[i]
        for j in range(1, totals.shape[1]):
            totals[d, j] += totals[d, j - 1]


@kernel()
def measure_distances(
    points: FloatArray,
    front: FloatArray,
    slope: float,
    distances: FloatArray,
) -> None:
    """How far each point lies behind the front; 0 for one that nothing in it dominates.

    Behind a point that dominates it, that is the smallest of its shortfalls plus `slope` times
    their sum; behind several, the largest of these.
    """
    for i in range(len(points)):
        distances[i] = 0.0
        for f in range(len(front)):
            a = front[f, 0] - points[i, 0]
            b = front[f, 1] - points[i, 1]
            c = front[f, 2] - points[i, 2]
            smallest = a if a < b else b
            smallest = c if c < smallest else smallest
            if smallest >= 0.0:
                distance = smallest + slope * (a + b + c)
                distances[i] = distance if distance > distances[i] else distances[i]
