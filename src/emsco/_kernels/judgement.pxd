# What other kernels take from `judgement.py`.

from emsco._kernels.arrays cimport OutFloats1, OutFloats2, OutInts1

cdef void find_likeliest(
    OutFloats2 logits,
    Py_ssize_t start,
    Py_ssize_t n,
    OutFloats1 top,
    OutInts1 winner,
    OutFloats1 confidence,
) noexcept nogil

cdef void fill_probabilities(
    OutFloats2 logits,
    Py_ssize_t n,
    OutInts1 likeliest,
    OutFloats1 confidence,
    Py_ssize_t start,
    OutFloats2 probabilities,
) noexcept nogil
