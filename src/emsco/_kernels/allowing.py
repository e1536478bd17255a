"""The look-up in a table of allowances, which `emsco.search.allowances` makes."""

from __future__ import annotations

from emsco._kernels.compiling import helper

__all__ = ["allowance"]


@helper()
def allowance(known, accepted, wrong, shift):
    """Least known cost at no less coverage and accuracy than these; infinity if there is none.

    Allowances are coarse: accepted rows are rounded up and wrong ones down, to a line that is
    better than what was asked for. What beats the line beats what was asked for.
    """
    up = (accepted + (1 << shift) - 1) >> shift
    return known[up, wrong >> shift]
