"""Cholesky factors of Hessians, and Newton steps."""

from __future__ import annotations

from typing import Any

from emsco.models.gpu.library import torch

__all__ = ["factorise", "solve"]

_RIDGES = (1e-10, 1e-6, 1e-2, 1e3)  # of the diagonal, where rounding has made a matrix singular


def factorise(hessians: Any, penalties: Any, used: Any) -> Any:
    """Cholesky factors of penalised Hessians; parameters that a model lacks have 1 alone.

    A matrix that rounding has made singular is given a larger diagonal.

    Parameters
    ----------
    hessians : tensor of shape (n_models, n_parameters, n_parameters)
    penalties : tensor of shape (n_parameters,)
    used : tensor of bool, shape (n_models, n_parameters)
    """
    own = torch.where(used[:, :, None] & used[:, None, :], hessians, 0.0)
    sizes = torch.diagonal(own, dim1=1, dim2=2).clone()
    diagonal = torch.where(used, penalties, 1.0)
    found, failed = torch.linalg.cholesky_ex(own + torch.diag_embed(diagonal))
    for ridge in _RIDGES:
        if not bool(failed.any()):
            break
        larger = own + torch.diag_embed(diagonal + ridge * (1.0 + sizes))
        others, failed_again = torch.linalg.cholesky_ex(larger)
        is_bad = failed > 0
        found = torch.where(is_bad[:, None, None], others, found)
        failed = torch.where(is_bad, failed_again, failed)
    return found


def solve(factors: Any, gradients: Any) -> Any:
    """Newton steps, -H⁻¹ gradient, from Cholesky factors: (n_models, n_parameters)."""
    return -torch.cholesky_solve(gradients[:, :, None], factors)[:, :, 0]
