"""PyTorch if it is installed, and the devices that a fit may name."""

from __future__ import annotations

from functools import cache
from typing import Any

from emsco._base.checks import refused
from emsco.errors import not_installed

try:
    import torch as _torch
except ImportError:
    _torch = None

torch: Any = _torch

_RIDGES = (1e-10, 1e-6, 1e-2, 1e3)  # of the diagonal, where rounding has made a matrix singular


def open_device(name: str) -> Any:
    """Return PyTorch's device of this name: "cuda", "cuda:1" and so on, or "torch", its CPU.

    Raises
    ------
    ParameterError
        If PyTorch is not installed, or sees no such GPU.
    """
    if torch is None:
        raise not_installed("torch", "'emsco[cuda]'") from None
    if name == "torch":
        return torch.device("cpu")
    n_devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if not n_devices:
        rule = 'be "cpu" where PyTorch finds no CUDA GPU'
        raise refused("device", rule, name)
    device = torch.device(name)
    if (device.index or 0) >= n_devices:
        last = f"cuda:{n_devices - 1}"
        raise refused("device", f'name a GPU that is there, at most "{last}"', name)
    return device


def is_cuda(tensor: Any) -> bool:
    """Whether a tensor is on a GPU."""
    return bool(tensor.device.type == "cuda")


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


def factorise(hessians: Any, penalties: Any, used: Any) -> Any:
    """Cholesky factors of penalised Hessians; parameters that a model lacks have 1 alone.

    A matrix that rounding has made singular is given a larger diagonal.

    Parameters
    ----------
    hessians : tensor of shape (n_models, n_parameters, n_parameters)
    penalties : tensor of shape (n_parameters,)
    used : tensor of bool, shape (n_models, n_parameters)
    """
    of_used = torch.where(used[:, :, None] & used[:, None, :], hessians, 0.0)
    sizes = torch.diagonal(of_used, dim1=1, dim2=2).clone()
    diagonal = torch.where(used, penalties, 1.0)
    factors, failed = torch.linalg.cholesky_ex(of_used + torch.diag_embed(diagonal))
    for ridge in _RIDGES:
        if not bool(failed.any()):
            break
        larger = of_used + torch.diag_embed(diagonal + ridge * (1.0 + sizes))
        others, failed_again = torch.linalg.cholesky_ex(larger)
        is_bad = failed > 0
        factors = torch.where(is_bad[:, None, None], others, factors)
        failed = torch.where(is_bad, failed_again, failed)
    return factors


def solve(factors: Any, gradients: Any) -> Any:
    """Newton steps, -H⁻¹ gradient, from Cholesky factors: (n_models, n_parameters)."""
    return -torch.cholesky_solve(gradients[:, :, None], factors)[:, :, 0]
