"""A table in a file, with its costs, for a comparison."""

from __future__ import annotations

import csv
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
        if path.suffix == ".parquet":
            frame, first_row = pd.read_parquet(path), 1
        else:
            frame, first_row = pd.read_csv(path, sep=None, engine="python"), 2  # after the header
    except (OSError, ValueError, csv.Error) as error:  # also of text and cells that are damaged
        reason = str(getattr(error, "strerror", None) or error).partition("\n")[0].rstrip(".")
        raise DataError(f"{path} must be a CSV or Parquet file: {reason}.") from None
    if target not in frame:
        listed = ", ".join(map(str, frame.columns))
        raise DataError(f"target must be a column of {path} ({listed}), got {target!r}.")
    labels = frame.pop(target)
    if labels.isna().any():
        row = int(labels.isna().argmax()) + first_row
        raise DataError(f"{path} must have a label in every row, got none in row {row}.")
    for name, texts in frame.select_dtypes(["object", "string"]).items():
        numbers = pd.to_numeric(texts, errors="coerce").notna()
        if numbers.mean() > 0.5 and not (fits := numbers | texts.isna()).all():
            row = int(fits.argmin())
            raise DataError(
                f"{path} must have only numbers or only text in a column, got {texts[row]!r} among "
                f"the numbers of {name!r} in row {row + first_row}."
            )
    names = list(map(str, frame.columns))
    rows = LabelledRows(frame, np.array(labels.tolist()))
    return CostedRows(rows, FeatureCosts.from_file(costs, names, dropped=[target]))
