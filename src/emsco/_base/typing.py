"""Types that several modules share."""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
SingleArray: TypeAlias = NDArray[np.float32]
IntArray: TypeAlias = NDArray[np.int64]
SmallIntArray: TypeAlias = NDArray[np.int32]
StageArray: TypeAlias = NDArray[np.int16]
BoolArray: TypeAlias = NDArray[np.bool_]
AnyArray: TypeAlias = NDArray[Any]
LabelArray: TypeAlias = NDArray[np.uint8]
WordArray: TypeAlias = NDArray[np.uint64]
Kind: TypeAlias = Literal["number", "truth", "category"]
Report: TypeAlias = Callable[[int, int], None]  # (done, total)
