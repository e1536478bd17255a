"""Sums over training rows, for many logistic regressions at once.

Sums run block by block in row order, each block added to a running total. A total therefore
depends neither on the other models of a batch, nor on the number of threads, nor on where rows
are cut into shards, as long as the cuts fall between blocks.
"""

from __future__ import annotations

import cython
from cython.cimports.emsco._kernels.arrays import (
    Bytes1,
    Floats1,
    Floats2,
    Ints1,
    Ints2,
    OutBytes1,
    OutFloats1,
    OutFloats2,
    OutFloats3,
    OutInts1,
    OutSingles1,
    OutSingles2,
    Singles1,
    Singles2,
)
from cython.cimports.emsco._kernels.bits import power_of_two, single_power_of_two
from cython.cimports.libc.math import INFINITY, fabs, fabsf, floor, floorf, log, sqrt

BLOCK = 256  # rows; a block of 50 columns stays in a 256 KiB cache

_BLOCK = cython.declare(cython.Py_ssize_t, BLOCK)
_LOG2_E = cython.declare(cython.double, 1.4426950408889634)
_LN2 = cython.declare(cython.double, 0.6931471805599453)
_LARGEST = cython.declare(cython.double, 700.0)
_MOST_COARSE = cython.declare(cython.int, 8)  # float32 passes before float64 takes over regardless
_COARSE_STEP = cython.declare(cython.double, 0.01)  # float32 has done its work: steps this small
_LONG_REACH = cython.declare(cython.double, 1.5)  # mean change of logits; longer steps are cut
_STALLED = cython.declare(cython.double, 0.03)  # a Hessian is renewed if gradients shrink by less


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
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _exp_of_minus_32(x: cython.float) -> cython.float:
    """e⁻ˣ for x ≥ 0 in single precision."""
    largest: cython.float = 80.0
    log2_e: cython.float = 1.4426950408889634
    ln2: cython.float = 0.6931471805599453
    one: cython.float = 1.0
    half: cython.float = 0.5
    sixth: cython.float = 1.0 / 6
    part_24: cython.float = 1.0 / 24
    part_120: cython.float = 1.0 / 120
    p: cython.float = 1.0 / 720
    t = -min(x, largest)
    k = floorf(t * log2_e + half)
    r = t - k * ln2
    p = p * r + part_120
    p = p * r + part_24
    p = p * r + sixth
    p = p * r + half
    p = p * r + one
    p = p * r + one
    return p * single_power_of_two(k)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _logits(
    rows: cython.const[cython.floating][:, ::1],
    columns: Ints1,
    coefs: Floats1,
    size: cython.Py_ssize_t,
    start: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    out: cython.floating[::1],
) -> cython.void:
    """Intercept + coefs · columns of a block of `n` rows, in the type of `rows`."""
    b0: cython.floating = coefs[0]
    b1: cython.floating = 0
    for r in range(n):
        out[r] = b0
    for i in range(1, size, 2):
        # An odd column out is paired with the line of ones, at weight 0.
        b0, b1 = coefs[i], 0
        c0, c1 = columns[i], 0
        if i + 1 < size:
            b1, c1 = coefs[i + 1], columns[i + 1]
        for r in range(n):
            out[r] += b0 * rows[c0, start + r] + b1 * rows[c1, start + r]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _residuals(
    logit: OutFloats1,
    target: Floats1,
    start: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    out: OutFloats1,
) -> cython.void:
    for r in range(n):
        q = _exp_of_minus(fabs(logit[r]))
        d = 1.0 / (1.0 + q)
        out[r] = (d if logit[r] >= 0 else q * d) - target[start + r]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _residuals_32(
    logit: OutSingles1,
    target: Singles1,
    start: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    out: OutSingles1,
    weight: OutSingles1,
) -> cython.void:
    one: cython.float = 1
    for r in range(n):
        q = _exp_of_minus_32(fabsf(logit[r]))
        d = one / (one + q)
        out[r] = (d if logit[r] >= 0 else q * d) - target[start + r]
        weight[r] = q * d * d


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_gradient(
    rows: Floats2,
    columns: Ints1,
    size: cython.Py_ssize_t,
    start: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    residual: OutFloats1,
    gradient: OutFloats1,
    step: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
) -> cython.void:
    """Add Σ residual · x of each column at every `step`-th place from the first.

    Sums go on in as many lanes as a vector may have, so that no compiler need reorder them.
    """
    lanes = cython.declare(cython.double[16])
    total: cython.double
    whole = n - n % 16
    for i in range(size):
        c = columns[i]
        for lane in range(16):
            lanes[lane] = 0
        for r in range(0, whole, 16):
            for lane in range(16):
                lanes[lane] += residual[r + lane] * rows[c, start + r + lane]
        for r in range(whole, n):
            lanes[r - whole] += residual[r] * rows[c, start + r]
        total = 0
        for lane in range(16):
            total += lanes[lane]
        gradient[first + i * step] += total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_gradient_32(
    rows: Singles2,
    columns: Ints1,
    size: cython.Py_ssize_t,
    start: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    residual: OutSingles1,
    gradient: OutFloats1,
    step: cython.Py_ssize_t,
    first: cython.Py_ssize_t,
) -> cython.void:
    """Do as `_add_gradient` does, in single precision."""
    lanes = cython.declare(cython.float[16])
    total: cython.float
    whole = n - n % 16
    for i in range(size):
        c = columns[i]
        for lane in range(16):
            lanes[lane] = 0
        for r in range(0, whole, 16):
            for lane in range(16):
                lanes[lane] += residual[r + lane] * rows[c, start + r + lane]
        for r in range(whole, n):
            lanes[r - whole] += residual[r] * rows[c, start + r]
        total = 0
        for lane in range(16):
            total += lanes[lane]
        gradient[first + i * step] += total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_hessian(
    rows: Singles2,
    columns: Ints1,
    size: cython.Py_ssize_t,
    start: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    weight: OutSingles1,
    weighted: OutSingles2,
    hessian: OutFloats2,
) -> cython.void:
    """Lower triangle of Σ w x xᵀ, in tiles of 2 × 2 whose sums stay in registers."""
    s00 = cython.declare(cython.float[16])
    s10 = cython.declare(cython.float[16])
    s01 = cython.declare(cython.float[16])
    s11 = cython.declare(cython.float[16])
    u: cython.float
    v: cython.float
    t00: cython.float
    t10: cython.float
    t01: cython.float
    t11: cython.float
    last = size - 1
    whole = n - n % 16
    for i in range(size):
        c0 = columns[i]
        for r in range(n):
            weighted[i, r] = weight[r] * rows[c0, start + r]
    for i in range(0, size, 2):
        i1 = min(i + 1, last)
        for j in range(0, i + 2, 2):
            c0, c1 = columns[j], columns[min(j + 1, last)]
            for lane in range(16):
                s00[lane] = s10[lane] = s01[lane] = s11[lane] = 0
            for r in range(0, whole, 16):
                for lane in range(16):
                    u, v = rows[c0, start + r + lane], rows[c1, start + r + lane]
                    s00[lane] += weighted[i, r + lane] * u
                    s10[lane] += weighted[i1, r + lane] * u
                    s01[lane] += weighted[i, r + lane] * v
                    s11[lane] += weighted[i1, r + lane] * v
            for r in range(whole, n):
                u, v = rows[c0, start + r], rows[c1, start + r]
                s00[r - whole] += weighted[i, r] * u
                s10[r - whole] += weighted[i1, r] * u
                s01[r - whole] += weighted[i, r] * v
                s11[r - whole] += weighted[i1, r] * v
            t00 = t10 = t01 = t11 = 0
            for lane in range(16):
                t00 += s00[lane]
                t10 += s10[lane]
                t01 += s01[lane]
                t11 += s11[lane]
            # Rows and columns beyond the last repeat it; hessian has room for them.
            hessian[i, j] += t00
            hessian[i + 1, j] += t10
            hessian[i, j + 1] += t01
            hessian[i + 1, j + 1] += t11


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _scale(
    line: cython.floating[::1],
    factors: cython.const[cython.floating][::1],
    start: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
) -> cython.void:
    for r in range(n):
        line[r] *= factors[start + r]


def add_terms(
    rows: Floats2,
    targets: Floats1,
    row_weights: Floats1,
    rows32: Singles2,
    targets32: Singles1,
    row_weights32: Singles1,
    columns: Ints2,
    sizes: Ints1,
    coefs: Floats2,
    fine: Bytes1,
    curved: Bytes1,
    live: Ints1,
    gradient: OutFloats2,
    hessian: OutFloats3,
    work: OutFloats2,
    work32: OutSingles2,
) -> None:
    """Add this shard's Σ gradient, and Σ Hessian where `curved`, of each model in `live`.

    `rows` is inputs × rows with a first line of ones; `row_weights` is empty where each row
    counts once. Models that are not `fine` are worked in float32 throughout; Hessians always
    are, with float64 totals over blocks. `work` has two lines of a block, `work32` three more
    than the widest model has columns.
    """
    n_rows = rows.shape[1]
    is_weighted: cython.bint = row_weights.shape[0] > 0
    logit, residual = work[0], work[1]
    logit32, residual32, weight, weighted = work32[0], work32[1], work32[2], work32[3:]
    with cython.nogil:
        for b in range((n_rows + _BLOCK - 1) // _BLOCK):
            start = b * _BLOCK
            n = min(_BLOCK, n_rows - start)
            for k in range(live.shape[0]):
                m = live[k]
                size, column, sums = sizes[m], columns[m], gradient[m]
                if fine[m]:
                    _logits(rows, column, coefs[m], size, start, n, logit)
                    _residuals(logit, targets, start, n, residual)
                    if is_weighted:
                        _scale(residual, row_weights, start, n)
                    _add_gradient(rows, column, size, start, n, residual, sums, 1, 0)
                    for r in range(n):
                        logit32[r] = logit[r]
                else:
                    _logits(rows32, column, coefs[m], size, start, n, logit32)
                if curved[m] or not fine[m]:
                    _residuals_32(logit32, targets32, start, n, residual32, weight)
                    if is_weighted:
                        _scale(residual32, row_weights32, start, n)
                        _scale(weight, row_weights32, start, n)
                if not fine[m]:
                    _add_gradient_32(rows32, column, size, start, n, residual32, sums, 1, 0)
                if curved[m]:
                    _add_hessian(rows32, column, size, start, n, weight, weighted, hessian[m])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _weights_of_classes(
    coefs: Floats1, basis: Floats2, size: cython.Py_ssize_t, out: OutFloats2
) -> cython.void:
    """Weights by class, from those along the directions of `basis`."""
    n_classes, n_directions = basis.shape[0], basis.shape[1]
    for k in range(n_classes):
        for i in range(size):
            out[k, i] = 0.0
            for a in range(n_directions):
                out[k, i] += basis[k, a] * coefs[i * n_directions + a]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fill_distances(
    rows: cython.const[cython.floating][:, ::1],
    columns: Ints1,
    size: cython.Py_ssize_t,
    start: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    weights: OutFloats2,
    lines: cython.floating[:, ::1],
) -> cython.void:
    """How far the logit of each class is below the largest; the line after them is scratch."""
    n_classes = weights.shape[0]
    top = n_classes
    for k in range(n_classes):
        _logits(rows, columns, weights[k], size, start, n, lines[k])
    for r in range(n):
        lines[top, r] = lines[0, r]
    for k in range(1, n_classes):
        for r in range(n):
            lines[top, r] = lines[k, r] if lines[k, r] > lines[top, r] else lines[top, r]
    for k in range(n_classes):
        for r in range(n):
            lines[k, r] = lines[top, r] - lines[k, r]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _to_probabilities(
    lines: cython.floating[:, ::1], n_classes: cython.Py_ssize_t, n: cython.Py_ssize_t
) -> cython.void:
    """Divide what stands there for each class by its sum; the line after them is scratch."""
    for r in range(n):
        lines[n_classes, r] = 0
    for k in range(n_classes):
        for r in range(n):
            lines[n_classes, r] += lines[k, r]
    for k in range(n_classes):
        for r in range(n):
            lines[k, r] /= lines[n_classes, r]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_gradients(
    rows: cython.const[cython.floating][:, ::1],
    targets: cython.const[cython.floating][:, ::1],
    row_weights: cython.const[cython.floating][::1],
    basis: cython.const[cython.floating][:, ::1],
    columns: Ints1,
    size: cython.Py_ssize_t,
    start: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    lines: cython.floating[:, ::1],
    gradient: OutFloats1,
) -> cython.void:
    """Gradients along all directions.

    `lines` has the probabilities of each class, then scratch for each direction.
    """
    n_classes, n_directions = basis.shape[0], basis.shape[1]
    for a in range(n_directions):
        residual = lines[n_classes + a]
        for r in range(n):
            residual[r] = 0
        for k in range(n_classes):
            for r in range(n):
                residual[r] += basis[k, a] * lines[k, r]
        for r in range(n):
            residual[r] -= targets[a, start + r]
        if row_weights.shape[0] > 0:
            _scale(residual, row_weights, start, n)
        if cython.floating is cython.double:
            _add_gradient(rows, columns, size, start, n, residual, gradient, n_directions, a)
        else:
            _add_gradient_32(rows, columns, size, start, n, residual, gradient, n_directions, a)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _empty_into(
    hessian: OutFloats2,
    block: OutFloats2,
    size: cython.Py_ssize_t,
    a: cython.Py_ssize_t,
    b: cython.Py_ssize_t,
    n_directions: cython.Py_ssize_t,
) -> cython.void:
    """Add the lower triangle of the block of a pair to its places in a Hessian, and empty it."""
    for i in range(size):
        for j in range(i + 1):
            hessian[i * n_directions + a, j * n_directions + b] += block[i, j]
    _clear(block)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_hessians(
    rows: Singles2,
    row_weights: Singles1,
    n_classes: cython.Py_ssize_t,
    columns: Ints1,
    size: cython.Py_ssize_t,
    start: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    lines: OutSingles2,
    block: OutFloats2,
    hessian: OutFloats2,
) -> cython.void:
    """Σ p_k p_l x xᵀ of each pair of classes, k > l, in the places of directions k - 1 and l.

    Products, not differences: where a row is all but certain, those would be mere rounding.
    `lines` has the probabilities of each class, then scratch for a weight and a line per column.
    """
    weight: OutSingles1 = lines[n_classes]
    weighted: OutSingles2 = lines[n_classes + 1 :]
    for k in range(1, n_classes):
        for other in range(k):
            for r in range(n):
                weight[r] = lines[k, r] * lines[other, r]
            if row_weights.shape[0] > 0:
                _scale(weight, row_weights, start, n)
            _add_hessian(rows, columns, size, start, n, weight, weighted, block)
            _empty_into(hessian, block, size, k - 1, other, n_classes - 1)


def add_terms_many(
    rows: Floats2,
    targets: Floats2,
    row_weights: Floats1,
    basis: Floats2,
    rows32: Singles2,
    targets32: Singles2,
    row_weights32: Singles1,
    basis32: Singles2,
    columns: Ints2,
    sizes: Ints1,
    coefs: Floats2,
    fine: Bytes1,
    curved: Bytes1,
    live: Ints1,
    gradient: OutFloats2,
    hessian: OutFloats3,
    work: OutFloats2,
    work32: OutSingles2,
    weights: OutFloats2,
    block: OutFloats2,
) -> None:
    """Add gradients and Hessians, as `add_terms` does, for three classes or more.

    Weights that are equal for all classes change no probability, so a model has parameters along
    the n_classes - 1 columns of an orthonormal basis of what is left: the one of column i and
    direction a at i · (n_classes - 1) + a. Hessians are added up by pairs of classes, for
    `turn_hessian` to make them those of the parameters.

    `targets` is the line of the basis of each row's class, directions × rows. Scratch: `work` has
    two lines of a block for each class, `work32` one more for each column; `weights` is classes ×
    columns, `block` a Hessian in whole tiles, all 0.
    """
    n_rows, n_classes = rows.shape[1], basis.shape[0]
    with cython.nogil:
        for b in range((n_rows + _BLOCK - 1) // _BLOCK):
            start = b * _BLOCK
            n = min(_BLOCK, n_rows - start)
            for i in range(live.shape[0]):
                m = live[i]
                size, column, sums = sizes[m], columns[m], gradient[m]
                _weights_of_classes(coefs[m], basis, size, weights)
                if fine[m]:
                    _fill_distances(rows, column, size, start, n, weights, work)
                    for k in range(n_classes):
                        for r in range(n):
                            work[k, r] = _exp_of_minus(work[k, r])
                    _to_probabilities(work, n_classes, n)
                    _add_gradients(
                        rows, targets, row_weights, basis, column, size, start, n, work, sums
                    )
                    for k in range(n_classes):
                        for r in range(n):
                            work32[k, r] = work[k, r]
                else:
                    _fill_distances(rows32, column, size, start, n, weights, work32)
                    for k in range(n_classes):
                        for r in range(n):
                            work32[k, r] = _exp_of_minus_32(work32[k, r])
                    _to_probabilities(work32, n_classes, n)
                    _add_gradients(
                        rows32, targets32, row_weights32, basis32, column, size, start, n, work32,
                        sums,
                    )  # fmt: skip
                if curved[m]:
                    _add_hessians(
                        rows32, row_weights32, n_classes, column, size, start, n, work32, block,
                        hessian[m],
                    )  # fmt: skip


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _clear(matrix: OutFloats2) -> cython.void:
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            matrix[i, j] = 0.0


def turn_hessian(
    hessian: OutFloats2,
    size: cython.Py_ssize_t,
    n_directions: cython.Py_ssize_t,
    mixing: Floats2,
    work: OutFloats2,
) -> None:
    """Turn sums by pairs of classes, as shards add them up, into the Hessian of the parameters.

    Both are lower triangles, of `size` parameters, `n_directions` a column. Line p of `mixing` is
    what pair p of classes adds to each pair of directions. It has no lines where classes are many:
    then running sums do the same, with less care for the last digits. `work` is scratch: two lines
    of as many numbers as there are pairs, or as the square of the number of classes.
    """
    with cython.nogil:
        _turn(hessian, size, n_directions, mixing, work[0], work[1])


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _turn(
    hessian: OutFloats2,
    size: cython.Py_ssize_t,
    n_directions: cython.Py_ssize_t,
    mixing: Floats2,
    sums: OutFloats1,
    turned: OutFloats1,
) -> cython.void:
    if mixing.shape[0] == 0:
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
            for p in range(sums.shape[0]):
                for q in range(sums.shape[0]):
                    turned[q] += mixing[p, q] * sums[p]
            p = 0
            for a in range(n_directions):
                for b in range(a + 1):
                    hessian[row + a, column + b] = turned[p]
                    if i > j:
                        hessian[row + b, column + a] = turned[p]
                    p += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _turn_many(
    hessian: OutFloats2,
    size: cython.Py_ssize_t,
    n_directions: cython.Py_ssize_t,
    laplacian: OutFloats1,
    half: OutFloats1,
) -> cython.void:
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
                    half[a * n_classes + k] = (total - less) / sqrt((a + 1.0) * (a + 2.0))
            for b in range(n_directions):
                total = 0.0
                for a in range(n_directions):
                    total += half[b * n_classes + a]
                    less = (a + 1) * half[b * n_classes + a + 1]
                    turned = (total - less) / sqrt((a + 1.0) * (a + 2.0))
                    if i > j or a >= b:
                        hessian[row + a, column + b] = turned


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _factorise(
    hessian: OutFloats2,
    size: cython.Py_ssize_t,
    penalty: cython.double,
    n_free: cython.Py_ssize_t,
    line: OutFloats1,
) -> cython.void:
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
def _slope(gradient: OutFloats1, step: OutFloats1, size: cython.Py_ssize_t) -> cython.double:
    """How steep the loss is along a step."""
    slope = 0.0
    for i in range(size):
        slope += gradient[i] * step[i]
    return slope


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _solve(
    factor: OutFloats2, size: cython.Py_ssize_t, gradient: OutFloats1, step: OutFloats1
) -> cython.double:
    """`step` = -H⁻¹ gradient, by the upper factor; returns gradient · step, which is negative."""
    total: cython.double
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
    return _slope(gradient, step, size)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _solve_block(
    gradient: Floats1,
    hessian: Floats2,
    columns: Ints1,
    size: cython.Py_ssize_t,
    penalty: cython.double,
    n_free: cython.Py_ssize_t,
    work: OutFloats1,
    factor: OutFloats2,
    step: OutFloats1,
) -> cython.double:
    """Minimum of a quadratic of the full model, cut down to some columns."""
    for i in range(size):
        work[i] = gradient[columns[i]]
        for j in range(i + 1):
            factor[i, j] = hessian[columns[i], columns[j]]
    _factorise(factor, size, penalty, n_free, step)
    return _solve(factor, size, work, step)


def start_models(
    gradient_0: Floats1,
    hessian_0: Floats2,
    bound: cython.double,
    gradient: Floats1,
    hessian: Floats2,
    penalty: cython.double,
    n_free: cython.Py_ssize_t,
    columns: Ints2,
    sizes: Ints1,
    coefs: OutFloats2,
    step: OutFloats2,
    slope: OutFloats1,
    factor: OutFloats3,
) -> None:
    """Put each model where a quadratic of the full model, cut down to its columns, is least.

    No row is read. The quadratic around the full model's optimum is nearer to the truth; the
    one around zero (`gradient_0`, `hessian_0`), with `bound` times its curvature, bounds it from
    above, so it tells whether the first start is too bold to be trusted. Where it is, the second
    one's minimum is taken.
    """
    bend: cython.double
    with cython.nogil:
        for m in range(sizes.shape[0]):
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _complete(
    gradient: OutFloats1,
    coefs: OutFloats1,
    size: cython.Py_ssize_t,
    penalty: cython.double,
    n_free: cython.Py_ssize_t,
) -> cython.double:
    """Add the penalty's part to a gradient; its largest component."""
    largest: cython.double = 0.0
    for i in range(size):
        if i >= n_free:
            gradient[i] += penalty * coefs[i]
        largest = max(largest, fabs(gradient[i]))
    return largest


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _shorten(
    step: OutFloats1, columns: Ints1, size: cython.Py_ssize_t, hessian_0: Floats2
) -> cython.double:
    """Cut a far-reaching step to a length that is sure to help; the share that is left.

    Where classes are all but certain the Hessian knows little, and Newton's step goes far beyond
    the optimum. As long as logits change by r, a share log(1 + r) / r of it goes down hill; the
    Hessian at zero, which is Σ x xᵀ along each direction, tells the mean change.
    """
    reach: cython.double = 0.0
    for i in range(size):
        for j in range(size):
            reach += step[i] * hessian_0[columns[i], columns[j]] * step[j]
    reach = sqrt(reach / hessian_0[0, 0])
    if not reach > _LONG_REACH:
        return 1.0
    share = _LONG_REACH * (1.0 + log(reach / _LONG_REACH)) / reach
    for i in range(size):
        step[i] *= share
    return share


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _move(
    coefs: OutFloats1, step: OutFloats1, size: cython.Py_ssize_t, share: cython.double
) -> cython.double:
    """Go a share of a step; how far the whole of it reaches."""
    longest: cython.double = 0.0
    for i in range(size):
        coefs[i] += share * step[i]
        longest = max(longest, fabs(step[i]))
    return longest


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _settle(
    m: cython.Py_ssize_t,
    largest: cython.double,
    longest: cython.double,
    tolerance: cython.double,
    slope: OutFloats1,
    norm: OutFloats1,
    fine: OutBytes1,
    curved: OutBytes1,
    passes: OutInts1,
) -> cython.bint:
    """Whether model m is done; if not, how its next pass is to be made."""
    if fine[m]:
        # A step with an unchanged Hessian shrinks the gradient about as much as the last, if
        # that is known from float64; a float32 norm is kept as a negative number.
        shrink = largest / fabs(norm[m])
        soon: cython.bint = norm[m] > 0.0 and largest * shrink <= 0.1 * tolerance
        curved[m] = shrink > _STALLED
        norm[m] = largest
        return largest <= tolerance or soon
    if longest <= _COARSE_STEP or passes[m] >= _MOST_COARSE:
        fine[m] = True
        curved[m] = False
        slope[m] = -INFINITY  # the float32 slope is no measure for float64 ones
        norm[m] = -largest
    return False


def advance_models(
    penalty: cython.double,
    n_free: cython.Py_ssize_t,
    tolerance: cython.double,
    hessian_0: Floats2,
    mixing: Floats2,
    live: OutInts1,
    columns: Ints2,
    sizes: Ints1,
    coefs: OutFloats2,
    gradient: OutFloats2,
    hessian: OutFloats3,
    step: OutFloats2,
    slope: OutFloats1,
    norm: OutFloats1,
    fine: OutBytes1,
    curved: OutBytes1,
    passes: OutInts1,
    work: OutFloats2,
) -> int:
    """One guarded Newton step for each live model; the live ones that go on, first in `live`.

    The objective is convex, so its slope along the last step tells whether the step went too
    far: it does where the slope has turned round to more than half its first size, and the
    step is then cut back to where a straight line through both slopes meets zero. Steps of more
    than two classes go astray more easily, and are shortened beforehand.
    """
    n_live = 0
    done: cython.bint
    with cython.nogil:
        for k in range(live.shape[0]):
            m = live[k]
            size = sizes[m]
            largest = _complete(gradient[m], coefs[m], size, penalty, n_free)
            along = _slope(gradient[m], step[m], size)
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
                    slope[m] = -INFINITY
            else:
                if curved[m] and n_free > 1:
                    _turn(hessian[m], size, n_free, mixing, work[0], work[1])
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
