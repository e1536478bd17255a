"""Newton steps for many logistic regressions at once, from sums that shards have added up.

A model's parameters stand in one line, the `n_free` without a penalty first: one intercept for two
classes, one per direction for more. What one model does never depends on the others.
"""

from __future__ import annotations

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray
from emsco._kernels.compiling import helper, kernel

_MOST_COARSE = 8  # float32 passes before float64 takes over regardless
_COARSE_STEP = 0.01  # float32 has done its work once a step is this small
_LONG_REACH = 1.5  # a mean change of logits past which a step of many classes is shortened
_LARGE = 256  # parameters, from which factors are computed with sums in any order
_STALLED = 0.03  # refresh the Hessian where a pass shrank the gradient by less than this


@helper()
def _clear(matrix):
    for i in range(matrix.shape[0]):  # an assignment to a slice compiles four times as long
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
                    found = hessian[row + k - 1, column + other]
                    laplacian[k * n_classes + other] = laplacian[other * n_classes + k] = -found
                    laplacian[k * n_classes + k] += found
                    laplacian[other * n_classes + other] += found
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
                    found = (total - less) / np.sqrt((a + 1.0) * (a + 2.0))
                    if i > j or a >= b:
                        hessian[row + a, column + b] = found


@helper(fastmath={"reassoc", "contract", "nsz"})
def _factorise_large(hessian, size, penalty, n_free):
    """Do what `_factorise` does, with sums in any order, which large systems need for speed."""
    for j in range(size):
        line = hessian[j, :j]
        total = hessian[j, j]
        if j >= n_free:
            total += penalty
        for k in range(j):
            total -= line[k] * line[k]
        floor = 1e-10 * (1.0 + hessian[j, j])
        pivot = np.sqrt(max(total, floor))
        hessian[j, j] = pivot
        for i in range(j + 1, size):
            other = hessian[i, :j]
            total = 0.0
            for k in range(j):
                total += other[k] * line[k]
            hessian[i, j] = (hessian[i, j] - total) / pivot


@helper()
def _factorise(hessian, size, penalty, n_free):
    """Cholesky factor in place; a pivot lost to rounding becomes a small positive one.

    Column by column, four rows side by side, so that their sums do not wait for one another.
    """
    if size > _LARGE:
        _factorise_large(hessian, size, penalty, n_free)
        return
    last = size - 1
    for j in range(size):
        total = hessian[j, j]
        if j >= n_free:
            total += penalty
        for k in range(j):
            total -= hessian[j, k] * hessian[j, k]
        floor = 1e-10 * (1.0 + hessian[j, j])
        pivot = np.sqrt(max(total, floor))
        hessian[j, j] = pivot
        for i in range(j + 1, size, 4):
            i1, i2, i3 = min(i + 1, last), min(i + 2, last), min(i + 3, last)
            t0, t1, t2, t3 = hessian[i, j], hessian[i1, j], hessian[i2, j], hessian[i3, j]
            for k in range(j):
                pivoted = hessian[j, k]
                t0 -= hessian[i, k] * pivoted
                t1 -= hessian[i1, k] * pivoted
                t2 -= hessian[i2, k] * pivoted
                t3 -= hessian[i3, k] * pivoted
            hessian[i, j], hessian[i1, j] = t0 / pivot, t1 / pivot
            hessian[i2, j], hessian[i3, j] = t2 / pivot, t3 / pivot


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
def _solve_block(gradient, hessian, columns, size, penalty, n_free, work, factor, step):
    """Minimum of a quadratic of the full model, cut down to some columns."""
    for i in range(size):
        work[i] = gradient[columns[i]]
        for j in range(i + 1):
            factor[i, j] = hessian[columns[i], columns[j]]
    _factorise(factor, size, penalty, n_free)
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
                _factorise(hessian[m], size, penalty, n_free)
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
