"""Certify designs of a run on the labelled rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from emsco._base.documents import Fields, PathLike, read_document, write_document
from emsco._base.text import counted
from emsco._base.typing import FloatArray
from emsco.app.files.reading import Reading
from emsco.app.files.table_files import by_line, read_ids
from emsco.app.runs.run import CERTIFICATE, SPENT, Run
from emsco.cascade import Cascade
from emsco.data.row_prints import RowPrints
from emsco.errors import DataError, FileError, Parameter
from emsco.front import Certificate
from emsco.front.certificate import certify
from emsco.front.rules import rule_of
from emsco.stats.promises import promises_from_dict

_SPENT_FORMAT = 1


def certify_run(
    run: Run,
    path: PathLike,
    groups: str | None = None,
    *,
    delta: float = 0.05,
    max_weight: float | None = None,
    order: Any = None,
    random_state: int = 0,
    reading: Reading | None = None,
    **limits: Any,
) -> Certificate:
    """Test designs of a run on fresh rows of a file.

    The run keeps a list of the rows that were spent, and on what: a second test of the same rows
    with other promises is refused, and its result is not told.

    Parameters
    ----------
    run : Run
    path : path
        CSV or Parquet with the columns of the run, in any order, and the labels.
    groups : str, optional
        Column with the group of each row, such as the patient.
    delta, max_weight, order, random_state
        As for `ParetoFront.certify`.
    reading : Reading, optional
        How to read the file, where that differs from the files of the run.
    **limits
        Promises, as for `ParetoFront.certify`. Labels in them may also be text.
    """
    wanted = run.front.promises(**limits)
    known = (reading or Reading()).over(run.reading)
    table, y, weights = run.labelled(path, known)
    rule: Any = run.about["settings"]["prefer"]
    with by_line(path, known):
        certificate = certify(
            run.front,
            table,
            y,
            wanted,
            delta=delta,
            groups=None if groups is None else read_ids(path, groups, known),
            sample_weight=weights,
            max_weight=max_weight,
            order=order,
            prefer=rule_of(rule) or "accurate",
            random_state=random_state,
            what=str(path),
            first_row=1,
        )
    _spend(run, path, certificate, groups, run.cascade.encoding.rows(table))
    return certificate


def _spend(
    run: Run, path: PathLike, certificate: Certificate, groups: str | None, inputs: FloatArray
) -> None:
    """Note that rows are spent; refuse those that were spent on something else, or some of them."""
    file, rows = run.folder / SPENT, certificate.rows
    tests: list[Fields] = []
    if file.exists():
        tests = read_document(file, "list of spent rows", _SPENT_FORMAT).many_fields("tests")
    asked = {
        "rows": rows.digest,
        "promises": [promise.to_dict() for promise in certificate.promises],
        "delta": certificate.delta,
        "order": list(certificate.order),
        "groups": groups,
        "seed": rows.seed,
    }
    for test in tests:
        if all(test.get(name) == value for name, value in asked.items()):
            return  # the same question about the same rows
        prints = RowPrints.from_dict(test.fields("prints"))
        if n_spent := len(prints.seen_again(inputs)):
            spent = promises_from_dict(test, run.cascade.classes.tolist())
            words = " and ".join(map(str, spent))
            raise DataError(
                f"{path} must hold rows that no test has seen, got {counted(n_spent, 'row')} of "
                f"{test.text('date')}, spent on {words}; collect fresh rows."
            )
    now = {**asked, "prints": RowPrints.from_rows(inputs).to_dict(), "date": certificate.date}
    body = {"tests": [*(test.values for test in tests), now]}
    write_document(file, "list of spent rows", _SPENT_FORMAT, body)


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
