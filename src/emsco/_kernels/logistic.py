"""Many penalised logistic regressions at once: sums over rows, and steps towards each optimum.

A step is that of a quasi-Newton method (L-BFGS) in coordinates in which the loss is nearly round:
those that the factor of a Hessian gives, of the model itself or of a larger one around it. With a
Hessian of its own in each pass, it is Newton's method. Two classes have one output, the logit of
the second class; more have one each, whose common part stays where it starts, at 0.

Sums run block by block in row order, each block added to a running total. So a model depends
neither on the others beside it nor on the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import cython
from cython.cimports.emsco._kernels.arrays import (
    Bytes1,
    Floats1,
    Floats2,
    Floats3,
    Ints1,
    Ints2,
    OutBytes1,
    OutFloats1,
    OutFloats2,
    OutFloats3,
    OutFloats4,
    OutInts1,
)
from cython.cimports.emsco._kernels.bits import power_of_two
from cython.cimports.libc.math import fabs, floor, sqrt

BLOCK = 256  # rows; a block of 50 columns stays in a 256 KiB cache

_BLOCK = cython.declare(cython.Py_ssize_t, BLOCK)
_LOG2_E = cython.declare(cython.double, 1.4426950408889634)
_LN2 = cython.declare(cython.double, 0.6931471805599453)
_LARGEST = cython.declare(cython.double, 700.0)
_INFINITY = cython.declare(cython.double, float("inf"))
_CURVED = cython.declare(cython.Py_ssize_t, 2)  # first passes with a Hessian, if it is cheap
_STALLED = cython.declare(cython.double, 0.3)  # it is renewed if gradients shrink by less
_PATIENCE = cython.declare(cython.Py_ssize_t, 30)  # passes between others


@cython.cclass
@dataclass(eq=False, repr=False)
class Rows:
    """Rows to fit on."""

    columns: Floats2  # inputs × rows, after a line of ones
    labels: Bytes1
    weights: Floats1


@cython.cclass
@dataclass(eq=False, repr=False)
class Fits:
    """Models of equally many columns, and how far their fits have come.

    A metric sums up a Hessian while a model is `curved`, and is its Cholesky factor afterwards. It
    has a single block, or one for each output where those between outputs would be too many.
    Parameters of a model are those of its first output, the intercept first, then the next's.
    """

    columns: Ints2  # lines of the rows that each model reads, (n_models, size)
    coefs: OutFloats3  # (n_models, n_outputs, size)
    gradient: OutFloats3
    metric: OutFloats4  # (n_models, n_blocks, side, side)
    curved: OutBytes1  # whether the next pass sums up a Hessian
    step: OutFloats2  # the last one, (n_models, n_parameters)
    slope: OutFloats1  # of the loss where that began, along it; it is negative
    largest: OutFloats1  # component of the gradient
    passes: OutInts1
    turned: OutFloats3  # step, then gradient where it began, in round coordinates
    steps: OutFloats3  # earlier steps in round coordinates, (n_models, most pairs, n_parameters)
    changes: OutFloats3  # by which these changed the gradient
    n_pairs: OutInts1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _exp_of_minus(x: cython.double) -> cython.double:
    """e⁻ˣ for x ≥ 0 to 2e-13, as good as the fits need."""
    t = -min(x, _LARGEST)
    k = floor(t * _LOG2_E + 0.5)
    r = t - k * _LN2
    p = 1 / 3628800.0
    p = p * r + 1 / 362880.0
    p = p * r + 1 / 40320.0
    p = p * r + 1 / 5040.0
    p = p * r + 1 / 720.0
    p = p * r + 1 / 120.0
    p = p * r + 1 / 24.0
    p = p * r + 1 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    return p * power_of_two(k)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fill_logits(
    rows: Floats2,
    columns: Ints1,
    coefs: OutFloats1,
    start: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    out: OutFloats1,
) -> cython.void:
    """Intercept + coefs · columns of a block of `n` rows."""
    b1: cython.double
    size = columns.shape[0]
    for r in range(n):
        out[r] = coefs[0]
    for i in range(1, size, 2):
        # An odd column out is paired with the line of ones, at weight 0.
        b0, b1, c0, c1 = coefs[i], 0.0, columns[i], 0
        if i + 1 < size:
            b1, c1 = coefs[i + 1], columns[i + 1]
        for r in range(n):
            out[r] += b0 * rows[c0, start + r] + b1 * rows[c1, start + r]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _to_probabilities(
    lines: OutFloats2, n_outputs: cython.Py_ssize_t, n: cython.Py_ssize_t
) -> cython.void:
    """Turn logits of each output into probabilities; the line after them is scratch."""
    top = n_outputs
    if n_outputs == 1:
        for r in range(n):
            q = _exp_of_minus(fabs(lines[0, r]))
            d = 1.0 / (1.0 + q)
            lines[0, r] = d if lines[0, r] >= 0 else q * d
        return
    for r in range(n):
        lines[top, r] = lines[0, r]
    for k in range(1, n_outputs):
        for r in range(n):
            lines[top, r] = lines[k, r] if lines[k, r] > lines[top, r] else lines[top, r]
    for k in range(n_outputs):
        for r in range(n):
            lines[k, r] = _exp_of_minus(lines[top, r] - lines[k, r])
    for r in range(n):
        lines[top, r] = 0.0
    for k in range(n_outputs):
        for r in range(n):
            lines[top, r] += lines[k, r]
    for r in range(n):
        lines[top, r] = 1.0 / lines[top, r]
    for k in range(n_outputs):
        for r in range(n):
            lines[k, r] *= lines[top, r]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_gradient(
    rows: Floats2,
    columns: Ints1,
    start: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    residual: OutFloats1,
    gradient: OutFloats1,
) -> cython.void:
    """Add Σ residual · x of each column.

    Sums go on in as many lanes as a vector may have, so that no compiler need reorder them.
    """
    lanes = cython.declare(cython.double[16])
    total: cython.double
    whole = n - n % 16
    for i in range(columns.shape[0]):
        c = columns[i]
        for lane in range(16):
            lanes[lane] = 0.0
        for r in range(0, whole, 16):
            for lane in range(16):
                lanes[lane] += residual[r + lane] * rows[c, start + r + lane]
        for r in range(whole, n):
            lanes[r - whole] += residual[r] * rows[c, start + r]
        total = 0.0
        for lane in range(16):
            total += lanes[lane]
        gradient[i] += total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_products(
    rows: Floats2,
    columns: Ints1,
    start: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    weight: OutFloats1,
    weighted: OutFloats2,
    row: cython.Py_ssize_t,
    column: cython.Py_ssize_t,
    hessian: OutFloats2,
) -> cython.void:
    """Add Σ w x xᵀ to a Hessian, from a row and a column on: its lower triangle.

    Sums of two lines at a time stay in registers. `weighted` has room for a line per column.
    """
    upper = cython.declare(cython.double[16])
    lower = cython.declare(cython.double[16])
    above: cython.double
    below: cython.double
    size = columns.shape[0]
    whole = n - n % 16
    for i in range(size):
        c = columns[i]
        for r in range(n):
            weighted[i, r] = weight[r] * rows[c, start + r]
    for i in range(0, size, 2):
        last = min(i + 1, size - 1)
        for j in range(last + 1):
            c = columns[j]
            for lane in range(16):
                upper[lane] = lower[lane] = 0.0
            for r in range(0, whole, 16):
                for lane in range(16):
                    upper[lane] += weighted[i, r + lane] * rows[c, start + r + lane]
                    lower[lane] += weighted[last, r + lane] * rows[c, start + r + lane]
            for r in range(whole, n):
                upper[r - whole] += weighted[i, r] * rows[c, start + r]
                lower[r - whole] += weighted[last, r] * rows[c, start + r]
            above = below = 0.0
            for lane in range(16):
                above += upper[lane]
                below += lower[lane]
            hessian[row + i, column + j] += above
            if last > i:
                hessian[row + last, column + j] += below


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_hessian(
    rows: Rows,
    columns: Ints1,
    start: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    lines: OutFloats2,
    n_outputs: cython.Py_ssize_t,
    hessian: OutFloats3,
) -> cython.void:
    """Add Σ w x xᵀ of each pair of outputs that have a place in the Hessian.

    Between outputs, w is -p q: the lower triangle of a matrix that is its own mirror image. `lines`
    has the probabilities of each output, then scratch for a weight and a line per column.
    """
    size = columns.shape[0]
    together: cython.bint = hessian.shape[0] == 1
    weight: OutFloats1 = lines[n_outputs]
    weighted: OutFloats2 = lines[n_outputs + 1 :]
    for k in range(n_outputs):
        row = k * size if together else 0
        for other in range(0 if together else k, k + 1):
            for r in range(n):
                rest = 1.0 - lines[k, r] if other == k else -lines[other, r]
                weight[r] = rows.weights[start + r] * lines[k, r] * rest
            _add_products(
                rows.columns, columns, start, n, weight, weighted, row,
                other * size if together else 0, hessian[0 if together else k],
            )  # fmt: skip


def sum_up(rows: Rows, fits: Fits, live: Ints1, work: OutFloats2) -> None:
    """Add up the gradient of each model in `live`, and its Hessian if it is `curved`.

    `work` has two lines of a block more than there are outputs and columns of a model.
    """
    with cython.nogil:
        _sum_up(rows, fits, live, work)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sum_up(rows: Rows, fits: Fits, live: Ints1, work: OutFloats2) -> cython.void:
    n_rows, n_outputs = rows.columns.shape[1], fits.coefs.shape[1]
    residual: OutFloats1 = work[n_outputs]
    for block in range((n_rows + _BLOCK - 1) // _BLOCK):
        start = block * _BLOCK
        n = min(_BLOCK, n_rows - start)
        for i in range(live.shape[0]):
            m = live[i]
            columns: Ints1 = fits.columns[m]
            for k in range(n_outputs):
                _fill_logits(rows.columns, columns, fits.coefs[m, k], start, n, work[k])
            _to_probabilities(work, n_outputs, n)
            for k in range(n_outputs):
                own = 1 if n_outputs == 1 else k
                for r in range(n):
                    truth = 1.0 if rows.labels[start + r] == own else 0.0
                    residual[r] = rows.weights[start + r] * (work[k, r] - truth)
                _add_gradient(rows.columns, columns, start, n, residual, fits.gradient[m, k])
            if fits.curved[m]:
                _add_hessian(rows, columns, start, n, work, n_outputs, fits.metric[m])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _factorise(
    hessian: OutFloats2, size: cython.Py_ssize_t, penalty: cython.double, line: OutFloats1
) -> cython.void:
    """Cholesky factor of a lower triangle and a penalty, into the upper.

    All but the first of each `size` parameters are penalised. A pivot lost to rounding becomes a
    small positive one. Line by line: all sums of a line go on side by side, each in the order of
    the lines above, four of them at a time. `line` is scratch.
    """
    side = hessian.shape[0]
    for i in range(side):
        for j in range(i + 1):
            # Between two outputs, only a triangle of a mirrored square is there.
            lift = max(j % size - i % size, 0)
            hessian[j, i] = hessian[i + lift, j - lift]
    # The common part of all intercepts changes nothing, and needs a curvature of its own.
    common = hessian[0, 0] if side > size else 0.0
    for k in range(side // size):
        for other in range(k + 1):
            hessian[other * size, k * size] += common
    for j in range(side):
        n = side - j
        for i in range(n):
            line[i] = hessian[j, j + i]
        if j % size > 0:
            line[0] += penalty
        whole = j // 4 * 4
        for k in range(0, whole, 4):
            t0, t1 = hessian[k, j], hessian[k + 1, j]
            t2, t3 = hessian[k + 2, j], hessian[k + 3, j]
            for i in range(n):
                line[i] = (
                    line[i]
                    - hessian[k, j + i] * t0
                    - hessian[k + 1, j + i] * t1
                    - hessian[k + 2, j + i] * t2
                    - hessian[k + 3, j + i] * t3
                )
        for k in range(whole, j):
            t0 = hessian[k, j]
            for i in range(n):
                line[i] -= hessian[k, j + i] * t0
        pivot = sqrt(max(line[0], 1e-10 * (1.0 + hessian[j, j])))
        hessian[j, j] = pivot
        for i in range(1, n):
            hessian[j, j + i] = line[i] / pivot


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _turn(metric: OutFloats3, vector: OutFloats1) -> cython.void:
    """Turn a gradient into round coordinates, in place: solve by the factor's mirror image."""
    side = metric.shape[1]
    for b in range(metric.shape[0]):
        first = b * side
        for k in range(side):
            vector[first + k] /= metric[b, k, k]
            t = vector[first + k]
            for i in range(k + 1, side):
                vector[first + i] -= metric[b, k, i] * t


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _turn_back(metric: OutFloats3, vector: OutFloats1, step: OutFloats1) -> cython.void:
    """Turn what is in round coordinates into a step: solve by the factor."""
    total: cython.double
    side = metric.shape[1]
    for b in range(metric.shape[0]):
        first = b * side
        for i in range(side - 1, -1, -1):
            total = vector[first + i]
            for k in range(i + 1, side):
                total -= metric[b, i, k] * step[first + k]
            step[first + i] = total / metric[b, i, i]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _dot(one: OutFloats1, other: OutFloats1) -> cython.double:
    total: cython.double = 0.0
    for i in range(one.shape[0]):
        total += one[i] * other[i]
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _bend(
    direction: OutFloats1,
    steps: OutFloats2,
    changes: OutFloats2,
    n_pairs: cython.Py_ssize_t,
    shares: OutFloats1,
) -> cython.void:
    """Turn a gradient into a step by what earlier steps changed (L-BFGS), in round coordinates."""
    most, size = steps.shape[0], direction.shape[0]
    oldest = max(0, n_pairs - most)
    for q in range(n_pairs - 1, oldest - 1, -1):
        step: OutFloats1 = steps[q % most]
        change: OutFloats1 = changes[q % most]
        shares[q % most] = _dot(step, direction) / _dot(step, change)
        for i in range(size):
            direction[i] -= shares[q % most] * change[i]
    scale = -1.0
    if n_pairs > 0:
        last = (n_pairs - 1) % most
        scale = -_dot(steps[last], changes[last]) / _dot(changes[last], changes[last])
    for i in range(size):
        direction[i] *= scale
    for q in range(oldest, n_pairs):
        step = steps[q % most]
        change = changes[q % most]
        share = shares[q % most] + _dot(change, direction) / _dot(step, change)
        for i in range(size):
            direction[i] -= share * step[i]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _move(fits: Fits, m: cython.Py_ssize_t, share: cython.double) -> cython.void:
    """Go a share of the last step."""
    size = fits.coefs.shape[2]
    for k in range(fits.coefs.shape[1]):
        for i in range(size):
            fits.coefs[m, k, i] += share * fits.step[m, k * size + i]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_cheap(n_outputs: cython.Py_ssize_t, size: cython.Py_ssize_t) -> cython.bint:
    """Whether a Hessian takes at most some three times as long as a gradient."""
    return (n_outputs + 1) * size * size <= 9 * (2 * size + 35)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _begin_hessian(fits: Fits, m: cython.Py_ssize_t) -> cython.void:
    fits.curved[m] = True
    for b in range(fits.metric.shape[1]):
        for i in range(fits.metric.shape[2]):
            for j in range(fits.metric.shape[3]):
                fits.metric[m, b, i, j] = 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _complete(
    fits: Fits, m: cython.Py_ssize_t, penalty: cython.double, whole: OutFloats1
) -> cython.double:
    """Copy a gradient with the part of the penalty; return its largest component."""
    largest: cython.double = 0.0
    size = fits.coefs.shape[2]
    for k in range(fits.coefs.shape[1]):
        for i in range(size):
            part = fits.gradient[m, k, i] + (penalty * fits.coefs[m, k, i] if i > 0 else 0.0)
            whole[k * size + i] = part
            largest = max(largest, fabs(part))
            fits.gradient[m, k, i] = 0.0
    return largest


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _remember(
    fits: Fits, m: cython.Py_ssize_t, gradient: OutFloats1, before: OutFloats1
) -> cython.void:
    """Note by how much the last step changed the gradient, if the loss is curved along it."""
    place = fits.n_pairs[m] % fits.steps.shape[1]
    step: OutFloats1 = fits.steps[m, place]
    change: OutFloats1 = fits.changes[m, place]
    for i in range(gradient.shape[0]):
        step[i] = fits.turned[m, 0, i]
        change[i] = gradient[i] - before[i]
    fits.n_pairs[m] += _dot(step, change) > 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _advance(
    fits: Fits,
    m: cython.Py_ssize_t,
    penalty: cython.double,
    tolerance: cython.double,
    whole: OutFloats1,
    scratch: OutFloats1,
) -> cython.bint:
    """Take a guarded step; whether the model is at its optimum.

    The loss is convex, so its slope along the last step tells whether that went too far: it did if
    the slope has turned round to more than half its first size, and the step is then cut back to
    where a straight line through both slopes meets zero.
    """
    n_outputs, size, metric = fits.coefs.shape[1], fits.coefs.shape[2], fits.metric[m]
    largest = _complete(fits, m, penalty, whole)
    along = _dot(whole, fits.step[m])
    fits.passes[m] += 1
    if along > -0.5 * fits.slope[m] and largest > tolerance:
        keep = max(0.1, fits.slope[m] / (fits.slope[m] - along))
        _move(fits, m, keep - 1.0)
        for i in range(whole.shape[0]):
            fits.step[m, i] *= keep
            fits.turned[m, 0, i] *= keep
        fits.slope[m] *= keep
        if fits.curved[m]:
            _begin_hessian(fits, m)
        return False
    was_curved: cython.bint = fits.curved[m]
    if was_curved:
        for b in range(metric.shape[0]):
            _factorise(metric[b], size, penalty, scratch)
        fits.n_pairs[m] = 0
        fits.curved[m] = False
    direction: OutFloats1 = fits.turned[m, 0]
    for i in range(whole.shape[0]):
        scratch[i] = whole[i]
    _turn(metric, scratch)
    is_first: cython.bint = fits.largest[m] == _INFINITY
    if not was_curved and not is_first:
        _remember(fits, m, scratch[: whole.shape[0]], fits.turned[m, 1])
    for i in range(whole.shape[0]):
        fits.turned[m, 1, i] = direction[i] = scratch[i]
    _bend(direction, fits.steps[m], fits.changes[m], fits.n_pairs[m], scratch)
    _turn_back(metric, direction, fits.step[m])
    _move(fits, m, 1.0)
    fits.slope[m] = _dot(whole, fits.step[m])
    # The next step shrinks the gradient at least about as much as the last did.
    shrink = 1.0 if is_first else largest / fits.largest[m]
    fits.largest[m] = largest
    if largest <= tolerance or largest * shrink <= 0.1 * tolerance:
        return True
    early: cython.bint = fits.passes[m] < _CURVED or shrink > _STALLED
    if (early and _is_cheap(n_outputs, size)) or fits.passes[m] % _PATIENCE == 0:
        _begin_hessian(fits, m)
    return False


def begin(
    gradient_0: Floats2,
    offset: Floats2,
    hessian: Floats3,
    penalty: cython.double,
    fits: Fits,
    work: OutFloats2,
) -> None:
    """Put each model where a quadratic of the full model, cut down to its columns, is least.

    No row is read. The quadratic is that around the full model's optimum: `offset` is its gradient
    at zero, `hessian` its Hessian by blocks, lower triangles without penalty. `gradient_0`, the
    loss's own gradient at zero, tells how far that is to be trusted: as far as any step.
    """
    n_outputs, size, side = fits.coefs.shape[1], fits.coefs.shape[2], fits.metric.shape[2]
    n_inputs = gradient_0.shape[1]
    with cython.nogil:
        for m in range(fits.coefs.shape[0]):
            metric, columns = fits.metric[m], fits.columns[m]
            for b in range(metric.shape[0]):
                for i in range(side):
                    for j in range(i + 1):
                        row = i // size * n_inputs + columns[i % size]
                        metric[b, i, j] = hessian[b, row, j // size * n_inputs + columns[j % size]]
                _factorise(metric[b], size, penalty, work[0])
            for k in range(n_outputs):
                for i in range(size):
                    fits.turned[m, 0, k * size + i] = -offset[k, columns[i]]
            _turn(metric, fits.turned[m, 0])
            _turn_back(metric, fits.turned[m, 0], fits.step[m])
            fits.slope[m] = 0.0
            for k in range(n_outputs):
                for i in range(size):
                    fits.slope[m] += gradient_0[k, columns[i]] * fits.step[m, k * size + i]
            if fits.slope[m] < 0.0:
                _move(fits, m, 1.0)
            else:
                fits.slope[m] = -_INFINITY
            if _is_cheap(n_outputs, size):
                _begin_hessian(fits, m)


def advance(
    rows: Rows,
    penalty: cython.double,
    tolerance: cython.double,
    fits: Fits,
    live: OutInts1,
    passes: cython.Py_ssize_t,
    work: OutFloats2,
    line: OutFloats2,
) -> int:
    """Take so many steps of each live model; those that go on, first in `live`.

    `work` has a line of a block for each output and column, and two more; `line` two lines of as
    many numbers as a model has parameters.
    """
    n_live: cython.Py_ssize_t = live.shape[0]
    n_kept: cython.Py_ssize_t
    whole: OutFloats1 = line[0, : fits.step.shape[1]]
    with cython.nogil:
        for _ in range(passes):
            _sum_up(rows, fits, live[:n_live], work)
            n_kept = 0
            for i in range(n_live):
                m = live[i]
                if not _advance(fits, m, penalty, tolerance, whole, line[1]):
                    live[n_kept] = m
                    n_kept += 1
            n_live = n_kept
            if n_live == 0:
                break
    return n_live
