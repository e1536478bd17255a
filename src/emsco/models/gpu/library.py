"""PyTorch if it is installed, and the devices that a fit may name."""

from __future__ import annotations

from typing import Any

from emsco._base.checks import refused
from emsco.errors import not_installed

try:
    import torch as _torch
except ImportError:
    _torch = None

torch: Any = _torch

__all__ = ["is_cuda", "open_device", "torch"]


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
        most = f"cuda:{n_devices - 1}"
        raise refused("device", f'name a GPU that is there, at most "{most}"', name)
    return device


def is_cuda(tensor: Any) -> bool:
    """Whether a tensor is on a GPU."""
    return bool(tensor.device.type == "cuda")
