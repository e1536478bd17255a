"""Certify designs of a run on the labelled rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from emsco._base.documents import PathLike
from emsco._base.typing import AnyArray
from emsco.cascade import Cascade
from emsco.data.tables import read_chunks
from emsco.errors import FileError, Parameter
from emsco.front import Certificate
from emsco.runs.layout import CERTIFICATE
from emsco.runs.run import Run

__all__ = ["certify_run", "require_certificate"]


def certify_run(run: Run, path: PathLike, groups: str | None = None, **targets: Any) -> Certificate:
    """Test designs of a run on fresh rows of a file; nothing is written.

    Parameters
    ----------
    run : Run
    path : path
        CSV or Parquet with the columns of the run, in any order, and the labels.
    groups : str, optional
        Column with the group of each row, such as the patient.
    **targets
        Targets and settings of `ParetoFront.certify`. Labels in them may also be text.
    """
    table, y, weights = run.labelled(path)
    rule: Any = run.about["settings"]["prefer"]
    rule = rule.get("rule", "balanced") if isinstance(rule, dict) else rule
    return run.front.certify(
        table,
        y,
        groups=None if groups is None else _column(path, groups),
        sample_weight=weights,
        **{"prefer": rule, **targets},
    )


def _column(path: PathLike, name: str) -> AnyArray:
    """Read a column of ids as text; missing ones are None."""
    values: list[object] = []
    for chunk in read_chunks(path, (), keep=(name,)):
        values += [None if one in (None, "") else str(one) for one in chunk.kept[name].to_pylist()]
    return np.array(values, dtype=object)


def require_certificate(cascade: Cascade, place: Path, file: PathLike | None = None) -> None:
    """Raise an error unless a certificate covers a cascade.

    The certificate is `file`, or else the one in the run folder `place`.
    """
    if file is None and not place.is_dir():
        raise FileError(
            Parameter("certificate"),
            f" must name the certificate of a cascade file, got none for {str(place)!r}.",
        )
    path = Path(file) if file is not None else place / CERTIFICATE
    if file is None and not path.exists():
        raise FileError(f"{str(place)!r} must have a {CERTIFICATE}, got none; certify it first.")
    Certificate.load(path).require(cascade)
