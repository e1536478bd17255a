"""Whole populations of designs: compression, crossover, mutation, sums over stages."""

from emsco.kernels.compiling import helper, kernel


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
        number[gene] = 1
    used = 0
    for stage in range(n_stages):
        used += number[stage]
        number[stage] = used - 1
    for i in range(len(row)):
        row[i] = number[row[i]]


@kernel()
def compress_rows(designs, number):
    """Compress each design in place; `number` is scratch for as many stages as there may be."""
    for row in designs:
        _compress_row(row, number)


@kernel()
def cross_rows(first, second, draws, crossover_rate, children):
    """One child per pair; `draws` holds, per pair, three uniforms and one for each gene."""
    for d in range(len(first)):
        a, b = _count_stages(first[d]), _count_stages(second[d])
        third = 3.0 * draws[d, 1]
        n_stages = a if third < 1.0 else b if third < 2.0 else (a + b + 1) // 2
        crossed = draws[d, 0] < crossover_rate
        for i in range(first.shape[1]):
            toss = draws[d, 3 + i] if crossed else draws[d, 2]
            gene, n_parent = (first[d, i], a) if toss < 0.5 else (second[d, i], b)
            if crossed:
                gene = max(0, (2 * (gene + 1) * n_stages + n_parent) // (2 * n_parent) - 1)
            children[d, i] = gene


@kernel()
def mutate_rows(designs, draws, rate, cumulative, number):
    """Redraw genes whose uniform is below `rate`, then compress, all in place.

    `cumulative[h]` is the distribution function over stages 0..h; a uniform below `rate`,
    divided by it, is uniform again and looks the new stage up.
    """
    for d in range(len(designs)):
        highest = min(_count_stages(designs[d]), len(cumulative) - 1)
        for i in range(designs.shape[1]):
            if draws[d, i] < rate:
                level, stage = draws[d, i] / rate, 0
                while stage < highest and level >= cumulative[highest, stage]:
                    stage += 1
                designs[d, i] = stage
        _compress_row(designs[d], number)


@kernel()
def add_up_stages(designs, values, totals):
    """Running sums, over stages, of `values` of the features bought at each."""
    for d in range(len(designs)):
        for i in range(designs.shape[1]):
            totals[d, designs[d, i]] += values[i]
        for j in range(1, totals.shape[1]):
            totals[d, j] += totals[d, j - 1]


@kernel()
def measure_gaps(points, front, slope, gaps):
    """How far each point lies behind the front; 0 for one that nothing in it dominates.

    Behind a point that dominates it, that is the smallest of its shortfalls plus `slope` times
    their sum; behind several, the largest of these.
    """
    for i in range(len(points)):
        gaps[i] = 0.0
        for f in range(len(front)):
            a = front[f, 0] - points[i, 0]
            b = front[f, 1] - points[i, 1]
            c = front[f, 2] - points[i, 2]
            least = a if a < b else b
            least = c if c < least else least
            if least >= 0.0:
                gap = least + slope * (a + b + c)
                gaps[i] = gap if gap > gaps[i] else gaps[i]
