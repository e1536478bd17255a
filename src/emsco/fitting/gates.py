"""Gates of a table: what may be asked about its rows, and where they go after that.

What the parts of a gate gain is told by `emsco.search.gates`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray
from emsco.cascade.branching import BranchReader
from emsco.data.columns import ColumnCode
from emsco.designs.chromosomes import nested_subsets
from emsco.designs.design import Branch
from emsco.designs.population import Designs
from emsco.fitting.workbench import Workbench
from emsco.scoring.walk import Walk
from emsco.search.gates import SMALLEST, Bins, Gate, PricedSubsets
from emsco.search.sums import in_layers

_MOST_SUBSETS = 2000  # that gates are tried with
_MOST_COLUMNS, _MOST_PANELS = 40, 20  # that are tried as gates
_MOST_COST = 0.25  # of a gate, as a share of the cost of everything
_BINS = 9  # of a number; cuts are between them
_MOST_CATEGORIES = 8  # that get a bin of their own
_NEAR = 0.02  # of the rows, within which a cut may move to a wider gap
_WIDE = 0.1  # of the range without outliers: a gap where values part by themselves


def distinct(subsets: BoolArray, most: int) -> BoolArray:
    """Return the distinct ones of some subsets; a sample of them if there are more than `most`."""
    subsets = np.unique(subsets, axis=0)
    return subsets[np.sort(np.random.default_rng(len(subsets)).permutation(len(subsets))[:most])]


def priced_subsets(bench: Workbench, walk: Walk, scored: Designs) -> PricedSubsets:
    """Price the subsets that a search has looked at; `scored` are its designs."""
    costs = bench.blocks.costs(bench.data.costs)
    known = nested_subsets(scored.stages, int(scored.n_stages.max(initial=1)))
    subsets = distinct(known[known.any(axis=2)], _MOST_SUBSETS)
    half = np.random.default_rng(len(walk.scored)).random(int(walk.scored.rows.max()) + 1) < 0.5
    return PricedSubsets(
        subsets=subsets,
        costs=costs.paid(subsets) / (costs.total or 1.0),
        correct=walk.guesses(subsets) == walk.scored.truth,
        weights=walk.scored.weights,
        half=half[walk.scored.rows],
        n_rows=len(half),
    )


def find_gate(bench: Workbench, walk: Walk, priced: PricedSubsets, max_ways: int) -> Gate | None:
    """Return the gate that gains most; None if none gains anything beyond noise."""
    gates = [priced.gate(bins, bought, max_ways) for bins, bought in _askable(bench, walk, priced)]
    found = [gate for gate in gates if gate is not None]
    return max(found, key=lambda one: one.gain, default=None)


def _askable(
    bench: Workbench, walk: Walk, priced: PricedSubsets
) -> Iterator[tuple[Bins, BoolArray]]:
    """Iterate over what may be asked about the scored rows, with the blocks to buy for that.

    Columns of cheap features come first, then the likeliest class by the models of cheap subsets,
    the most accurate for their cost.
    """
    data, blocks, limits = bench.data, bench.blocks, bench.limits
    costs = blocks.costs(data.costs)
    # Nobody may pay more for a gate than for a whole design.
    most = min(_MOST_COST * costs.total, *limits.most[:2])
    inputs_of_rows = data.rows[scored_places(bench)]
    needed = np.arange(blocks.n_blocks) == blocks.of_feature[:, None]
    needed |= np.arange(blocks.n_blocks) == blocks.first
    cost = costs.paid(needed)
    columns = [
        (column, needed[i])
        for i in np.argsort(cost, kind="stable").tolist()
        if cost[i] <= most
        for column in data.encoding.needs(data.costs.names[i])
    ]
    for column, bought in columns[:_MOST_COLUMNS]:
        inputs, code = data.encoding.inputs_of(column), data.encoding.code_of[column]
        values = inputs_of_rows[:, inputs.start : inputs.start + code.n_values]
        yield bins_of_column(code, values), bought
    cheap = np.flatnonzero(priced.costs * costs.total <= most)
    right = priced.correct[cheap] @ priced.weights
    best = in_layers(right, priced.costs[cheap], _MOST_PANELS)[:_MOST_PANELS]
    panels, names = priced.subsets[cheap[best]], tuple(data.classes.tolist())
    for panel, guesses in zip(panels, walk.guesses(panels), strict=True):
        yield Bins(guesses.astype(np.int64), None, None, names), panel


def bins_of_column(code: ColumnCode, values: FloatArray) -> Bins:
    """Cut the inputs of a column, (n_rows, n_values), into bins."""
    missing = np.isnan(values[:, 0])
    ends: FloatArray | None = None
    names: tuple[object, ...] = ()
    if code.kind == "number":
        known = np.sort(values[~missing, 0])
        shares = np.arange(1, _BINS) / _BINS
        cuts = [*np.quantile(known, shares), *_before_wide_gap(known)] if known.size else []
        ends = np.unique([_end(known, cut) for cut in cuts if cut < known[-1]])
        of_row = np.searchsorted(ends, values[:, 0], side="left")
    elif code.kind == "truth":
        of_row, names = values[:, 0] == 1, (False, True)
    else:
        often = np.argsort(-np.nansum(values, axis=0), kind="stable")[:_MOST_CATEGORIES].tolist()
        names = tuple(code.categories[place] for place in often)
        is_often = values[:, often] == 1
        of_row = np.where(is_often.any(axis=1), is_often.argmax(axis=1), len(often))
    return Bins(np.where(missing, -1, of_row), code.name, ends, names)


def parts_of_rows(gate: Gate, bench: Workbench, walk: Walk) -> tuple[IntArray, IntArray, int]:
    """Ask all rows the questions of a gate.

    Returns the part of each row, for the models that are fitted on the rows of a part; the part of
    each scored row, split after split; and the part of rows that lack the value.
    """
    data, every = bench.data, scored_places(bench)
    branch = Branch(gate.questions, tuple(range(1, len(gate.questions) + 2)))
    reader = BranchReader(branch, data.encoding, data.classes.tolist())
    if gate.questions[0].column is None:
        labels = np.arange(len(data.classes))
        of_label, _ = reader.parts(np.zeros((len(labels), 0)), labels, np.zeros(len(labels)))
        guesses = walk.guesses(gate.blocks[None])[0].astype(np.int64)
        of_row = of_label[_usual_guesses(gate, bench, guesses)]
        return of_row, of_label[guesses], int(np.bincount(of_row).argmax())
    nobody = np.zeros(len(data.labels), dtype=np.int64)
    of_row, lacking = reader.parts(np.asarray(data.rows), nobody, nobody.astype(np.float64))
    usual = int(np.bincount(of_row[~lacking]).argmax())
    of_row[lacking] = usual
    return of_row, of_row[every], usual


def scored_places(bench: Workbench) -> IntArray:
    """Return the number of each scored row, split after split."""
    return np.concatenate([scored for _, scored in bench.splits])


def _usual_guesses(gate: Gate, bench: Workbench, guesses: IntArray) -> IntArray:
    """Likeliest class of each row by the gate, by most models that were not fitted on the row.

    A model is too often right about rows that it was fitted on, so that they would tell the models
    of a part little about the rows that go there by mistake. A row that no split scores has no
    other guess.
    """
    data = bench.data
    votes = np.zeros((len(data.labels), len(data.classes)))
    np.add.at(votes, (scored_places(bench), guesses), 1.0)
    never = np.flatnonzero(votes.sum(axis=1) == 0)
    if never.size:
        (models,) = bench.models_of([gate.blocks[bench.blocks.of_feature][None]], "first")
        votes[never] = models.probabilities(models.filled(np.asarray(data.rows[never])), 0)
    usual: IntArray = votes.argmax(axis=1)
    return usual


def _before_wide_gap(known: FloatArray) -> FloatArray:
    """The last number before the widest gap, if it is wide; parts beside it may not be small."""
    outside = int(SMALLEST * len(known))
    inside = known[outside : len(known) - outside]
    gaps = np.diff(inside)
    if not gaps.size or gaps.max() <= _WIDE * np.ptp(inside):
        return inside[:0]
    return inside[[int(np.argmax(gaps))]]


def _end(known: FloatArray, cut: float) -> float:
    """Move a cut to the middle of the widest gap near it, and to a round number in that gap."""
    at = int(np.searchsorted(known, cut, side="right"))
    reach = max(1, int(_NEAR * len(known)))
    near = known[max(0, at - reach) : at + reach + 1]
    widest = int(np.argmax(np.diff(near)))
    return round_between(float(near[widest]), float(near[widest + 1]))


def round_between(low: float, high: float) -> float:
    """Return the number with the fewest digits from `low` up to, but not including, `high`.

    Examples
    --------
    >>> round_between(6.083, 6.127), round_between(0.97, 1.4), round_between(3.0, 4.0)
    (6.1, 1.0, 3.0)
    """
    if low.is_integer() and high.is_integer():  # a column of whole numbers
        return low
    middle = (low + high) / 2
    for digits in range(-int(np.ceil(np.log10(max(abs(low), abs(high), 1e-300)))), 17):
        rounded = round(middle, digits)
        if low <= rounded < high:
            return float(rounded)
    return low
