"""Names of the devices that stage models may be fitted on."""

from __future__ import annotations

import re
from typing import Any

from emsco._base.checks import refused

CPU = "cpu"
_OTHERS = re.compile(r"cuda(:\d+)?|torch")


def check_device(value: Any) -> str:
    """Return the name of a device that is there: "cpu", "cuda", "cuda:1" and so on, or "torch".

    "cpu" is this library's own code. The others need PyTorch: "cuda" is a GPU, and "torch" runs
    the code for GPUs on the CPU, slowly, as tests do.

    Raises
    ------
    ParameterError
        If it is none of these, or no such GPU is there.
    EMSCOError
        If PyTorch is not installed.
    """
    if value == CPU:
        return CPU
    if not isinstance(value, str) or not _OTHERS.fullmatch(value):
        raise refused("device", 'be "cpu", "cuda" or a GPU by number such as "cuda:1"', value)
    from emsco.scale.cuda.library import open_device  # late: it imports PyTorch

    open_device(value)
    return value
