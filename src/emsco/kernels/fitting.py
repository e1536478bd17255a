"""Sums over training rows and Newton steps, for many logistic regressions at once.

Sums run block by block in row order, each block added to a running total. A total therefore
depends neither on the other models of a batch, nor on the number of threads, nor on where rows
are cut into shards, as long as the cuts fall between blocks.
"""

import numpy as np

from emsco.kernels.bits import double_from_bits, single_from_bits
from emsco.kernels.compiling import helper, kernel

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


@kernel(fastmath=_FAST)
def add_terms(
    rows,
    targets,
    rows32,
    targets32,
    columns,
    sizes,
    coefs,
    fine,
    curved,
    live,
    gradient,
    hessian,
    work,
    work32,
):
    """Add this shard's Σ gradient, and Σ Hessian where `curved`, of each model in `live`.

    `rows` is features × rows with a first line of ones. Models that are not `fine` are worked
    in float32 throughout; Hessians always are, with float64 totals over blocks. `work` has two
    lines of a block, `work32` three more than the widest model has columns.
    """
    n_rows = rows.shape[1]
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
                _add_gradient(rows, column, size, start, stop, residual, sums)
                for r in range(stop - start):
                    logit32[r] = logit[r]
            else:
                _logits(rows32, column, coefs[m], size, start, stop, logit32)
            if curved[m] or not fine[m]:
                _residuals_32(logit32, target32, residual32, weight)
            if not fine[m]:
                _add_gradient(rows32, column, size, start, stop, residual32, sums)
            if curved[m]:
                _add_hessian(rows32, column, size, start, stop, weight, weighted, hessian[m])


@helper()
def _clear(matrix):
    for i in range(matrix.shape[0]):  # an assignment to a slice compiles four times as long
        for j in range(matrix.shape[1]):
            matrix[i, j] = 0.0


@helper()
def _factorise(hessian, size, penalty):
    """Cholesky factor in place; a pivot lost to rounding becomes a small positive one."""
    for i in range(size):
        for j in range(i + 1):
            total = hessian[i, j]
            if i == j and i > 0:
                total += penalty
            for k in range(j):
                total -= hessian[i, k] * hessian[j, k]
            if i == j:
                floor = 1e-10 * (1.0 + hessian[i, i])
                hessian[i, i] = np.sqrt(max(total, floor))
            else:
                hessian[i, j] = total / hessian[j, j]


@helper()
def _solve(factor, size, gradient, step):
    """`step` = -H⁻¹ gradient; returns gradient · step, which is negative."""
    for i in range(size):
        total = -gradient[i]
        for k in range(i):
            total -= factor[i, k] * step[k]
        step[i] = total / factor[i, i]
    for i in range(size - 1, -1, -1):
        total = step[i]
        for k in range(i + 1, size):
            total -= factor[k, i] * step[k]
        step[i] = total / factor[i, i]
    slope = 0.0
    for i in range(size):
        slope += gradient[i] * step[i]
    return slope


@helper()
def _solve_block(gradient, hessian, columns, size, penalty, work, factor, step):
    """Minimum of a quadratic of the full model, cut down to some columns."""
    for i in range(size):
        work[i] = gradient[columns[i]]
        for j in range(i + 1):
            factor[i, j] = hessian[columns[i], columns[j]]
    _factorise(factor, size, penalty)
    return _solve(factor, size, work, step)


@kernel()
def start_models(
    gradient_0, hessian_0, gradient, hessian, penalty, columns, sizes, coefs, step, slope, factor
):
    """Put each model where a quadratic of the full model, cut down to its columns, is least.

    No row is read. The quadratic around the full model's optimum is nearer to the truth; the
    one around zero (`gradient_0`, `hessian_0`) bounds it from above, so it tells whether the
    first start is too bold to be trusted. Where it is, the second one's minimum is taken.
    """
    for m in range(len(sizes)):
        size = sizes[m]
        column, move, work = columns[m], step[m], coefs[m]
        _solve_block(gradient, hessian, column, size, penalty, work, factor[m], move)
        bend = -penalty * move[0] * move[0]
        slope[m] = 0.0
        for i in range(size):
            slope[m] += gradient_0[column[i]] * move[i]
            bend += penalty * move[i] * move[i]
            for j in range(size):
                bend += move[i] * hessian_0[column[i], column[j]] * move[j]
        if slope[m] + 0.25 * bend >= 0.0:
            slope[m] = _solve_block(
                gradient_0, hessian_0, column, size, penalty, work, factor[m], move
            )
        for i in range(size):
            coefs[m, i] = move[i]
        _clear(factor[m])


@helper()
def _look_back(gradient, coefs, step, size, penalty):
    """Complete the gradient; its largest component, and the slope along the last step."""
    largest, along = abs(gradient[0]), gradient[0] * step[0]
    for i in range(1, size):
        gradient[i] += penalty * coefs[i]
        largest = max(largest, abs(gradient[i]))
        along += gradient[i] * step[i]
    return largest, along


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
    penalty,
    tolerance,
    live,
    sizes,
    coefs,
    gradient,
    hessian,
    step,
    slope,
    norm,
    fine,
    curved,
    passes,
):
    """One guarded Newton step for each live model; the live ones that go on, first in `live`.

    The objective is convex, so its slope along the last step tells whether the step went too
    far: it does where the slope has turned round to more than half its first size, and the
    step is then cut back to where a straight line through both slopes meets zero.
    """
    n_live = 0
    for m in live:
        size = sizes[m]
        largest, along = _look_back(gradient[m], coefs[m], step[m], size, penalty)
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
            if curved[m]:
                _factorise(hessian[m], size, penalty)
            slope[m] = _solve(hessian[m], size, gradient[m], step[m])
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
