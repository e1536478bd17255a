"""Sums over training rows, for many logistic regressions at once.

Sums run block by block in row order, each block added to a running total. A total therefore
depends neither on the other models of a batch, nor on the number of threads, nor on where rows
are cut into shards, as long as the cuts fall between blocks.
"""

from __future__ import annotations

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, SingleArray
from emsco._kernels.bits import double_from_bits, single_from_bits
from emsco._kernels.compiler import helper, kernel

BLOCK = 256  # rows; a block of 50 columns stays in a 256 KiB cache

# A row sum may be reordered for SIMD (the compiled order is fixed); NaN never gets this far.
_FAST = {"reassoc", "nsz", "contract", "arcp", "nnan", "ninf"}

_LOG2_E = 1.4426950408889634
_LN2 = 0.6931471805599453
_LARGEST_64 = 700.0
_LARGEST_32 = np.float32(80.0)
_ONE = np.float32(1.0)
_HALF = np.float32(0.5)
_LOG2_E_32 = np.float32(_LOG2_E)
_LN2_32 = np.float32(_LN2)
_SIXTH = np.float32(1 / 6)
_24TH = np.float32(1 / 24)
_120TH = np.float32(1 / 120)
_720TH = np.float32(1 / 720)
_MOST_COARSE = 8  # float32 passes before float64 takes over regardless
_COARSE_STEP = 0.01  # float32 has done its work once a step is this small
_LONG_REACH = 1.5  # a mean change of logits past which a step of many classes is shortened
_STALLED = 0.03  # refresh the Hessian where a pass shrank the gradient by less than this


@helper(fastmath=_FAST)
def _fast_exp_of_minus(x):
    """e⁻ˣ for x ≥ 0 to 2e-13, as good as the fits need."""
    t = -min(x, _LARGEST_64)
    k = np.floor(t * _LOG2_E + 0.5)
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
    return p * double_from_bits((np.int64(k) + 1023) << 52)


@helper(fastmath=_FAST)
def _exp_of_minus_32(x):
    t = -min(x, _LARGEST_32)
    k = np.floor(t * _LOG2_E_32 + _HALF)
    r = t - k * _LN2_32
    p = _720TH
    p = p * r + _120TH
    p = p * r + _24TH
    p = p * r + _SIXTH
    p = p * r + _HALF
    p = p * r + _ONE
    p = p * r + _ONE
    return p * single_from_bits((np.int32(k) + np.int32(127)) << np.int32(23))


@helper(fastmath=_FAST)
def _logits(rows, columns, coefs, size, start, stop, out):
    """`out` = intercept + coefs · columns for rows start..stop, in the type of `rows`."""
    n = stop - start
    kind = out.dtype.type
    b0 = kind(coefs[0])
    for r in range(n):
        out[r] = b0
    for i in range(1, size, 2):
        b0, x0 = kind(coefs[i]), rows[columns[i], start:stop]
        # An odd column out is paired with the line of ones, at weight 0.
        paired = i + 1 < size
        b1 = kind(coefs[i + 1]) if paired else kind(0)
        x1 = rows[columns[i + 1] if paired else 0, start:stop]
        for r in range(n):
            out[r] += b0 * x0[r] + b1 * x1[r]


@helper(fastmath=_FAST)
def _residuals(logit, target, out):
    for r in range(len(target)):
        q = _fast_exp_of_minus(abs(logit[r]))
        d = 1.0 / (1.0 + q)
        out[r] = (d if logit[r] >= 0 else q * d) - target[r]


@helper(fastmath=_FAST)
def _residuals_32(logit, target, out, weight):
    for r in range(len(target)):
        q = _exp_of_minus_32(abs(logit[r]))
        d = _ONE / (_ONE + q)
        out[r] = (d if logit[r] >= 0 else q * d) - target[r]
        weight[r] = q * d * d


@helper(fastmath=_FAST)
def _add_gradient(rows, columns, size, start, stop, residual, gradient):
    n = stop - start
    zero = residual.dtype.type(0)
    for i in range(0, size, 2):
        paired = i + 1 < size
        x0 = rows[columns[i], start:stop]
        x1 = rows[columns[i + 1] if paired else 0, start:stop]
        s0, s1 = zero, zero
        for r in range(n):
            e = residual[r]
            s0 += e * x0[r]
            s1 += e * x1[r]
        gradient[i] += s0
        if paired:
            gradient[i + 1] += s1


@helper(fastmath=_FAST)
def _add_hessian(rows, columns, size, start, stop, weight, weighted, hessian):
    """Lower triangle of Σ w x xᵀ, in tiles of 4 × 2 so that eight sums stay in registers."""
    n = stop - start
    last = size - 1
    for i in range(size):
        x0 = rows[columns[i], start:stop]
        for r in range(n):
            weighted[i, r] = weight[r] * x0[r]
    for i in range(0, size, 4):
        a0, a1 = weighted[i], weighted[min(i + 1, last)]
        a2, a3 = weighted[min(i + 2, last)], weighted[min(i + 3, last)]
        for j in range(0, min(i + 4, size), 2):
            x0 = rows[columns[j], start:stop]
            x1 = rows[columns[min(j + 1, last)], start:stop]
            zero = np.float32(0)
            s00, s10, s20, s30 = zero, zero, zero, zero
            s01, s11, s21, s31 = zero, zero, zero, zero
            for r in range(n):
                u, v = x0[r], x1[r]
                s00 += a0[r] * u
                s10 += a1[r] * u
                s20 += a2[r] * u
                s30 += a3[r] * u
                s01 += a0[r] * v
                s11 += a1[r] * v
                s21 += a2[r] * v
                s31 += a3[r] * v
            # Rows and columns beyond the last repeat it; hessian has room for them.
            hessian[i, j] += s00
            hessian[i + 1, j] += s10
            hessian[i + 2, j] += s20
            hessian[i + 3, j] += s30
            hessian[i, j + 1] += s01
            hessian[i + 1, j + 1] += s11
            hessian[i + 2, j + 1] += s21
            hessian[i + 3, j + 1] += s31


@helper(fastmath=_FAST)
def _scale(line, factors):
    for r in range(len(factors)):
        line[r] *= factors[r]


@kernel(fastmath=_FAST)
def add_terms(
    rows: FloatArray,
    targets: FloatArray,
    row_weights: FloatArray,
    rows32: SingleArray,
    targets32: SingleArray,
    row_weights32: SingleArray,
    columns: IntArray,
    sizes: IntArray,
    coefs: FloatArray,
    fine: BoolArray,
    curved: BoolArray,
    live: IntArray,
    gradient: FloatArray,
    hessian: FloatArray,
    work: FloatArray,
    work32: SingleArray,
) -> None:
    """Add this shard's Σ gradient, and Σ Hessian where `curved`, of each model in `live`.

    `rows` is inputs × rows with a first line of ones; `row_weights` is empty where each row
    counts once. Models that are not `fine` are worked in float32 throughout; Hessians always
    are, with float64 totals over blocks. `work` has two lines of a block, `work32` three more
    than the widest model has columns.
    """
    n_rows, is_weighted = rows.shape[1], len(row_weights) > 0
    logit, residual = work[0], work[1]
    logit32, residual32, weight, weighted = work32[0], work32[1], work32[2], work32[3:]
    for start in range(0, n_rows, BLOCK):
        stop = min(start + BLOCK, n_rows)
        target, target32 = targets[start:stop], targets32[start:stop]
        for m in live:
            size, column, sums = sizes[m], columns[m], gradient[m]
            if fine[m]:
                _logits(rows, column, coefs[m], size, start, stop, logit)
                _residuals(logit, target, residual)
                if is_weighted:
                    _scale(residual, row_weights[start:stop])
                _add_gradient(rows, column, size, start, stop, residual, sums)
                for r in range(stop - start):
                    logit32[r] = logit[r]
            else:
                _logits(rows32, column, coefs[m], size, start, stop, logit32)
            if curved[m] or not fine[m]:
                _residuals_32(logit32, target32, residual32, weight)
                if is_weighted:
                    _scale(residual32, row_weights32[start:stop])
                    _scale(weight, row_weights32[start:stop])
            if not fine[m]:
                _add_gradient(rows32, column, size, start, stop, residual32, sums)
            if curved[m]:
                _add_hessian(rows32, column, size, start, stop, weight, weighted, hessian[m])


@helper(fastmath=_FAST)
def _weights_of_classes(coefs, basis, size, out):
    """Weights by class, from those along the directions of `basis`."""
    n_classes, n_directions = basis.shape
    for k in range(n_classes):
        for i in range(size):
            out[k, i] = 0.0
            for a in range(n_directions):
                out[k, i] += basis[k, a] * coefs[i * n_directions + a]


@helper(fastmath=_FAST)
def _fill_distances(rows, columns, size, start, stop, weights, lines):
    """How far the logit of each class is below the largest; the line after them is scratch."""
    n, n_classes = stop - start, len(weights)
    top = lines[n_classes]
    for k in range(n_classes):
        _logits(rows, columns, weights[k], size, start, stop, lines[k])
    for r in range(n):
        top[r] = lines[0, r]
    for k in range(1, n_classes):
        for r in range(n):
            top[r] = max(top[r], lines[k, r])
    for k in range(n_classes):
        for r in range(n):
            lines[k, r] = top[r] - lines[k, r]


@helper(fastmath=_FAST)
def _to_probabilities(lines, n_classes, n):
    """Divide what stands there for each class by its sum; the line after them is scratch."""
    total = lines[n_classes]
    for r in range(n):
        total[r] = 0
    for k in range(n_classes):
        for r in range(n):
            total[r] += lines[k, r]
    for k in range(n_classes):
        for r in range(n):
            lines[k, r] /= total[r]


@helper(fastmath=_FAST)
def _along_directions(probabilities, basis, n, out):
    """`out` = basisᵀ · probabilities, directions × rows."""
    n_classes, n_directions = basis.shape
    for a in range(n_directions):
        for r in range(n):
            out[a, r] = 0
        for k in range(n_classes):
            t = basis[k, a]
            for r in range(n):
                out[a, r] += t * probabilities[k, r]


@helper(fastmath=_FAST)
def _add_gradients(data, columns, size, start, stop, lines, gradient):
    """Gradients along all directions, in the precision of `data`.

    `lines` has the probabilities of each class, then scratch for each direction.
    """
    rows, targets, row_weights, basis = data
    n = stop - start
    n_classes, n_directions = basis.shape
    residuals = lines[n_classes:]
    _along_directions(lines[:n_classes], basis, n, residuals)
    for a in range(n_directions):
        residual, target = residuals[a], targets[a, start:stop]
        for r in range(n):
            residual[r] -= target[r]
        if len(row_weights) > 0:
            _scale(residual, row_weights[start:stop])
        _add_gradient(rows, columns, size, start, stop, residual, gradient[a::n_directions])


@helper(fastmath=_FAST)
def _empty_into(hessian, block, size, a, b, n_directions):
    """Add the lower triangle of the block of a pair to its places in a Hessian, and empty it."""
    for i in range(size):
        for j in range(i + 1):
            hessian[i * n_directions + a, j * n_directions + b] += block[i, j]
    tiled = (size + 3) // 4 * 4
    for i in range(tiled):
        for j in range(tiled):
            block[i, j] = 0.0


@helper(fastmath=_FAST)
def _add_hessians(data, columns, size, start, stop, lines, block, hessian):
    """Σ p_k p_l x xᵀ of each pair of classes, k > l, in the places of directions k - 1 and l.

    Products, not differences: where a row is all but certain, those would be mere rounding.
    `lines` has the probabilities of each class, then scratch for a weight and a line per column.
    """
    rows, _, row_weights, basis = data
    n = stop - start
    n_classes, n_directions = basis.shape
    weight, weighted = lines[n_classes], lines[n_classes + 1 :]
    for k in range(1, n_classes):
        for other in range(k):
            for r in range(n):
                weight[r] = lines[k, r] * lines[other, r]
            if len(row_weights) > 0:
                _scale(weight, row_weights[start:stop])
            _add_hessian(rows, columns, size, start, stop, weight, weighted, block)
            _empty_into(hessian, block, size, k - 1, other, n_directions)


@kernel(fastmath=_FAST)
def add_terms_many(
    double: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    single: tuple[SingleArray, SingleArray, SingleArray, SingleArray],
    columns: IntArray,
    sizes: IntArray,
    coefs: FloatArray,
    fine: BoolArray,
    curved: BoolArray,
    live: IntArray,
    gradient: FloatArray,
    hessian: FloatArray,
    work: FloatArray,
    work32: SingleArray,
    weights: FloatArray,
    block: FloatArray,
) -> None:
    """Add gradients and Hessians, as `add_terms` does, for three classes or more.

    Weights that are equal for all classes change no probability, so a model has parameters along
    the n_classes - 1 columns of an orthonormal basis of what is left: the one of column i and
    direction a at i · (n_classes - 1) + a. Hessians are added up by pairs of classes, for
    `turn_hessian` to make them those of the parameters.

    `double` has the rows, the line of the basis of each row's class (directions × rows), the
    weights of the rows and the basis; `single` the same in float32. Scratch: `work` has two lines
    of a block for each class, `work32` one more for each column; `weights` is classes × columns,
    `block` a Hessian in whole tiles, all 0.
    """
    n_rows, n_classes = double[0].shape[1], len(double[3])
    for start in range(0, n_rows, BLOCK):
        stop = min(start + BLOCK, n_rows)
        n = stop - start
        for m in live:
            size, column, sums = sizes[m], columns[m], gradient[m]
            _weights_of_classes(coefs[m], double[3], size, weights)
            if fine[m]:
                _fill_distances(double[0], column, size, start, stop, weights, work)
                for k in range(n_classes):
                    for r in range(n):
                        work[k, r] = _fast_exp_of_minus(work[k, r])
                _to_probabilities(work, n_classes, n)
                _add_gradients(double, column, size, start, stop, work, sums)
                for k in range(n_classes):
                    for r in range(n):
                        work32[k, r] = work[k, r]
            else:
                _fill_distances(single[0], column, size, start, stop, weights, work32)
                for k in range(n_classes):
                    for r in range(n):
                        work32[k, r] = _exp_of_minus_32(work32[k, r])
                _to_probabilities(work32, n_classes, n)
                _add_gradients(single, column, size, start, stop, work32, sums)
            if curved[m]:
                _add_hessians(single, column, size, start, stop, work32, block, hessian[m])


@helper()
def _clear(matrix):
    for i in range(matrix.shape[0]):  # an assignment to a slice takes far longer to compile
        for j in range(matrix.shape[1]):
            matrix[i, j] = 0.0


@kernel()
def turn_hessian(
    hessian: FloatArray,
    size: int,
    n_directions: int,
    mixing: FloatArray,
    sums: FloatArray,
    turned: FloatArray,
) -> None:
    """Turn sums by pairs of classes, as shards add them up, into the Hessian of the parameters.

    Both are lower triangles, of `size` parameters, `n_directions` a column. Line p of `mixing` is
    what pair p of classes adds to each pair of directions. It has no lines where classes are many:
    then running sums do the same, with less care for the last digits. `sums` and `turned` are
    scratch, of as many numbers as there are pairs, or of the square of the number of classes.
    """
    if len(mixing) == 0:
        _turn_many(hessian, size, n_directions, sums, turned)
        return
    for i in range(size // n_directions):
        for j in range(i + 1):
            row, column, p = i * n_directions, j * n_directions, 0
            for a in range(n_directions):
                for b in range(a + 1):
                    sums[p] = hessian[row + a, column + b]
                    turned[p] = 0.0
                    p += 1
            for p in range(len(sums)):
                for q in range(len(sums)):
                    turned[q] += mixing[p, q] * sums[p]
            p = 0
            for a in range(n_directions):
                for b in range(a + 1):
                    hessian[row + a, column + b] = turned[p]
                    if i > j:
                        hessian[row + b, column + a] = turned[p]
                    p += 1


@helper()
def _turn_many(hessian, size, n_directions, laplacian, half):
    """Turn sums by pairs of classes along the directions of `orthonormal_basis`.

    A pair of classes adds its sum at both of its places on the diagonal, and takes it off between
    them. Direction a sums up the first a + 1 classes, less a + 1 times the next.
    """
    n_classes = n_directions + 1
    for i in range(size // n_directions):
        for j in range(i + 1):
            row, column = i * n_directions, j * n_directions
            for k in range(n_classes):
                laplacian[k * n_classes + k] = 0.0
            for k in range(1, n_classes):
                for other in range(k):
                    pair = hessian[row + k - 1, column + other]
                    laplacian[k * n_classes + other] = laplacian[other * n_classes + k] = -pair
                    laplacian[k * n_classes + k] += pair
                    laplacian[other * n_classes + other] += pair
            for k in range(n_classes):
                total = 0.0
                for a in range(n_directions):
                    total += laplacian[k * n_classes + a]
                    less = (a + 1) * laplacian[k * n_classes + a + 1]
                    half[a * n_classes + k] = (total - less) / np.sqrt((a + 1.0) * (a + 2.0))
            for b in range(n_directions):
                total = 0.0
                for a in range(n_directions):
                    total += half[b * n_classes + a]
                    less = (a + 1) * half[b * n_classes + a + 1]
                    turned = (total - less) / np.sqrt((a + 1.0) * (a + 2.0))
                    if i > j or a >= b:
                        hessian[row + a, column + b] = turned


@helper()
def _factorise(hessian, size, penalty, n_free, line):
    """Cholesky factor of a lower triangle, into the upper; `line` is scratch.

    A pivot lost to rounding becomes a small positive one. Line by line: all sums of a line go on
    side by side, each in the order of the lines above, four of them at a time.
    """
    for i in range(size):
        for j in range(i):
            hessian[j, i] = hessian[i, j]
    for j in range(size):
        n = size - j
        for i in range(n):
            line[i] = hessian[j, j + i]
        if j >= n_free:
            line[0] += penalty
        whole = j // 4 * 4
        for k in range(0, whole, 4):
            u0, u1 = hessian[k, j:size], hessian[k + 1, j:size]
            u2, u3 = hessian[k + 2, j:size], hessian[k + 3, j:size]
            t0, t1, t2, t3 = u0[0], u1[0], u2[0], u3[0]
            for i in range(n):
                line[i] = line[i] - u0[i] * t0 - u1[i] * t1 - u2[i] * t2 - u3[i] * t3
        for k in range(whole, j):
            above = hessian[k, j:size]
            t0 = above[0]
            for i in range(n):
                line[i] -= above[i] * t0
        pivot = np.sqrt(max(line[0], 1e-10 * (1.0 + hessian[j, j])))
        hessian[j, j] = pivot
        for i in range(1, n):
            hessian[j, j + i] = line[i] / pivot


@helper()
def _solve(factor, size, gradient, step):
    """`step` = -H⁻¹ gradient, by the upper factor; returns gradient · step, which is negative."""
    for i in range(size):
        step[i] = -gradient[i]
    for k in range(size):
        step[k] /= factor[k, k]
        for i in range(k + 1, size):
            step[i] -= factor[k, i] * step[k]
    for i in range(size - 1, -1, -1):
        total = step[i]
        for k in range(i + 1, size):
            total -= factor[i, k] * step[k]
        step[i] = total / factor[i, i]
    slope = 0.0
    for i in range(size):
        slope += gradient[i] * step[i]
    return slope


@helper()
def _solve_block(gradient, hessian, columns, size, penalty, n_free, work, factor, step):
    """Minimum of a quadratic of the full model, cut down to some columns."""
    for i in range(size):
        work[i] = gradient[columns[i]]
        for j in range(i + 1):
            factor[i, j] = hessian[columns[i], columns[j]]
    _factorise(factor, size, penalty, n_free, step)
    return _solve(factor, size, work, step)


@kernel()
def start_models(
    gradient_0: FloatArray,
    hessian_0: FloatArray,
    bound: float,
    gradient: FloatArray,
    hessian: FloatArray,
    penalty: float,
    n_free: int,
    columns: IntArray,
    sizes: IntArray,
    coefs: FloatArray,
    step: FloatArray,
    slope: FloatArray,
    factor: FloatArray,
) -> None:
    """Put each model where a quadratic of the full model, cut down to its columns, is least.

    No row is read. The quadratic around the full model's optimum is nearer to the truth; the
    one around zero (`gradient_0`, `hessian_0`), with `bound` times its curvature, bounds it from
    above, so it tells whether the first start is too bold to be trusted. Where it is, the second
    one's minimum is taken.
    """
    for m in range(len(sizes)):
        size = sizes[m]
        column, move, work = columns[m], step[m], coefs[m]
        _solve_block(gradient, hessian, column, size, penalty, n_free, work, factor[m], move)
        bend = 0.0
        for i in range(n_free):
            bend -= penalty * move[i] * move[i]
        slope[m] = 0.0
        for i in range(size):
            slope[m] += gradient_0[column[i]] * move[i]
            bend += penalty * move[i] * move[i]
            for j in range(size):
                bend += bound * (move[i] * hessian_0[column[i], column[j]] * move[j])
        if slope[m] + 0.25 * bend >= 0.0:
            slope[m] = _solve_block(
                gradient_0, hessian_0, column, size, penalty, n_free, work, factor[m], move
            )
        for i in range(size):
            coefs[m, i] = move[i]
        _clear(factor[m])


@helper()
def _look_back(gradient, coefs, step, size, penalty, n_free):
    """Complete the gradient; its largest component, and the slope along the last step."""
    largest, along = 0.0, 0.0
    for i in range(size):
        if i >= n_free:
            gradient[i] += penalty * coefs[i]
        largest = max(largest, abs(gradient[i]))
        along += gradient[i] * step[i]
    return largest, along


@helper()
def _shorten(step, columns, size, hessian_0):
    """Cut a far-reaching step to a length that is sure to help; the share that is left.

    Where classes are all but certain the Hessian knows little, and Newton's step goes far beyond
    the optimum. As long as logits change by r, a share log(1 + r) / r of it goes down hill; the
    Hessian at zero, which is Σ x xᵀ along each direction, tells the mean change.
    """
    reach = 0.0
    for i in range(size):
        for j in range(size):
            reach += step[i] * hessian_0[columns[i], columns[j]] * step[j]
    reach = np.sqrt(reach / hessian_0[0, 0])
    if not reach > _LONG_REACH:
        return 1.0
    share = _LONG_REACH * (1.0 + np.log(reach / _LONG_REACH)) / reach
    for i in range(size):
        step[i] *= share
    return share


@helper()
def _move(coefs, step, size, share):
    """Go a share of a step; how far the whole of it reaches."""
    longest = 0.0
    for i in range(size):
        coefs[i] += share * step[i]
        longest = max(longest, abs(step[i]))
    return longest


@helper()
def _settle(m, largest, longest, tolerance, slope, norm, fine, curved, passes):
    """Whether model m is done; if not, how its next pass is to be made."""
    if fine[m]:
        # A step with an unchanged Hessian shrinks the gradient about as much as the last, if
        # that is known from float64; a float32 norm is kept as a negative number.
        shrink = largest / abs(norm[m])
        soon = norm[m] > 0.0 and largest * shrink <= 0.1 * tolerance
        curved[m] = shrink > _STALLED
        norm[m] = largest
        return largest <= tolerance or soon
    if longest <= _COARSE_STEP or passes[m] >= _MOST_COARSE:
        fine[m] = True
        curved[m] = False
        slope[m] = -np.inf  # the float32 slope is no measure for float64 ones
        norm[m] = -largest
    return False


@kernel()
def advance_models(
    penalty: float,
    n_free: int,
    tolerance: float,
    hessian_0: FloatArray,
    mixing: FloatArray,
    live: IntArray,
    columns: IntArray,
    sizes: IntArray,
    coefs: FloatArray,
    gradient: FloatArray,
    hessian: FloatArray,
    step: FloatArray,
    slope: FloatArray,
    norm: FloatArray,
    fine: BoolArray,
    curved: BoolArray,
    passes: IntArray,
    work: FloatArray,
) -> int:
    """One guarded Newton step for each live model; the live ones that go on, first in `live`.

    The objective is convex, so its slope along the last step tells whether the step went too
    far: it does where the slope has turned round to more than half its first size, and the
    step is then cut back to where a straight line through both slopes meets zero. Steps of more
    than two classes go astray more easily, and are shortened beforehand.
    """
    n_live = 0
    for m in live:
        size = sizes[m]
        largest, along = _look_back(gradient[m], coefs[m], step[m], size, penalty, n_free)
        passes[m] += 1
        done = False
        if along > -0.5 * slope[m] and largest > tolerance:
            keep = max(0.1, slope[m] / (slope[m] - along))
            _move(coefs[m], step[m], size, keep - 1.0)
            for i in range(size):
                step[m, i] *= keep
            slope[m] *= keep
            if not fine[m]:  # what looks like too far may be noise
                fine[m] = True
                slope[m] = -np.inf
        else:
            if curved[m] and n_free > 1:
                turn_hessian(hessian[m], size, n_free, mixing, work[0], work[1])
            if curved[m]:
                _factorise(hessian[m], size, penalty, n_free, step[m])
            slope[m] = _solve(hessian[m], size, gradient[m], step[m])
            if n_free > 1:
                slope[m] *= _shorten(step[m], columns[m], size, hessian_0)
            longest = _move(coefs[m], step[m], size, 1.0)
            done = _settle(m, largest, longest, tolerance, slope, norm, fine, curved, passes)
        if curved[m]:
            _clear(hessian[m])
        if not done:
            for i in range(size):
                gradient[m, i] = 0.0
            live[n_live] = m
            n_live += 1
    return n_live
