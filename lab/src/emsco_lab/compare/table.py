"""A table in a file, with its costs, for a comparison."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from emsco import FeatureCosts
from emsco.errors import DataError
from emsco_lab.compare.trials import CostedRows, LabelledRows


def read_table(path: Path, target: str, costs: Path) -> CostedRows:
    """Read a CSV or Parquet file whose column `target` has the labels, and the file of costs.

    `FeatureCosts.from_file` documents the forms of costs.
    """
    try:
        frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    except ValueError as error:  # also of Parquet, text and cells that cannot be read
        reason = str(error).partition("\n")[0]
        raise DataError(f"{path} must be a CSV or Parquet file: {reason}.") from None
    if target not in frame:
        listed = ", ".join(map(str, frame.columns))
        raise DataError(f"target must be a column of {path} ({listed}), got {target!r}.")
    labels = frame.pop(target)
    if labels.isna().any():
        row = int(labels.isna().argmax())
        raise DataError(f"{path} must have a label in every row, got none in row {row}.")
    names = list(map(str, frame.columns))
    rows = LabelledRows(frame, np.array(labels.tolist()))
    return CostedRows(rows, FeatureCosts.from_file(costs, names, dropped=[target]))
