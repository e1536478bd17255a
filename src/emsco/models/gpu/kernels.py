"""Element-wise steps that CUDA does in one pass; plain PyTorch does the same elsewhere."""

from __future__ import annotations

from functools import cache
from typing import Any

from emsco.models.gpu.library import is_cuda, torch

__all__ = ["count_bits", "residuals", "wide_product"]

_RESIDUAL = """
template <typename T> T residual(T logit, T target) {
    T q = exp(-abs(logit));
    T d = T(1) / (T(1) + q);
    return (logit >= T(0) ? d : q * d) - target;
}
"""
_COUNT = """
template <typename T> T count(T rows, T others) {
    return T(__popcll((unsigned long long)(rows & others)));
}
"""
# Masks of the bits that each step of a popcount adds up, as signed numbers.
_PAIRS, _FOURS = 0x5555555555555555, 0x3333333333333333
_EIGHTS, _ONES = 0x0F0F0F0F0F0F0F0F, 0x0101010101010101


@cache
def _compiled(code: str) -> Any:
    return torch.cuda.jiterator._create_jit_fn(code)


def residuals(logits: Any, targets: Any) -> Any:
    """Probability of the second class, less the target: (n_models, n_rows)."""
    if is_cuda(logits):
        return _compiled(_RESIDUAL)(logits, targets)
    return torch.sigmoid(logits).sub_(targets)


def count_bits(rows: Any, others: Any) -> Any:
    """Number of bits that are set in both of two words."""
    if is_cuda(rows):
        return _compiled(_COUNT)(rows, others)
    both = rows & others
    # A shift keeps the sign of a word, so the mask after it has to drop what came in.
    both = both - (both >> 1 & _PAIRS)
    both = (both & _FOURS) + (both >> 2 & _FOURS)
    both = both + (both >> 4) & _EIGHTS
    return both * _ONES >> 56 & 0xFF


def wide_product(left: Any, right: Any) -> Any:
    """Matrix product of float16 matrices, added up in float32."""
    if is_cuda(left):
        return torch.mm(left, right, out_dtype=torch.float32)
    return left.float() @ right.float()
