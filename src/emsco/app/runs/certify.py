"""Certify designs of a run on the labelled rows of a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from emsco._base.documents import Fields, PathLike, read_document, write_document
from emsco._base.locks import locked_folder
from emsco._base.text import counted
from emsco._base.typing import Report
from emsco.app.files.reading import Reading
from emsco.app.files.table_files import by_line, read_ids
from emsco.app.runs.run import CERTIFICATE, SPENT, Run
from emsco.cascade import Cascade
from emsco.data.row_prints import RowPrints
from emsco.errors import DataError, FileError
from emsco.front import Certificate
from emsco.front.certificate import FreshRows, certify
from emsco.front.certificate.plan import wanted_order
from emsco.front.rules import rule_to_certify
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
    report: Report | None = None,
    begin: Callable[[tuple[int, ...], int], None] | None = None,
    **limits: Any,
) -> Certificate:
    """Test designs of a run on fresh rows of a file, the deployed one first if it may well pass.

    The run keeps a list of the rows that were spent, and on what: a second test of the same rows
    with other promises is refused. The same question gets the same answer again, whichever design
    is deployed by then.

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
    report : callable, optional
        Called as ``report(done, total)`` after each design.
    begin : callable, optional
        Called as ``begin(order, n_rows)`` before the first test, with the designs in the order in
        which they are tested, and the number of rows.
    **limits
        Promises, as for `ParetoFront.certify`. Labels in them may also be text.
    """
    wanted = run.front.promises(**limits)
    known = (reading or Reading()).over(run.reading)
    table, y, weights = run.labelled(path, known)
    # Locked until it is noted what the rows were spent on, so that nobody else spends them.
    with by_line(path, known), locked_folder(run.folder):
        rows = FreshRows.from_table(
            run.front,
            table,
            y,
            groups=None if groups is None else read_ids(path, groups, known),
            sample_weight=weights,
            max_weight=max_weight,
            random_state=random_state,
            what=str(path),
            first_row=1,
        )
        question = {
            "rows": rows.about.digest,
            "promises": [promise.to_dict() for promise in wanted],
            "delta": delta,
            "groups": groups,
            "seed": random_state,
            "named": None if order is None else list(wanted_order(run.front, order)),
        }
        earlier = _earlier_tests(run)
        same = [one for one in earlier if question.items() <= one.values.items()]
        if same:
            order = same[0].wholes("order", len(same[0].items("order")), 0, len(run.front) - 1)
        else:
            _refuse_spent(earlier, rows, run.cascade.classes.tolist())
        certificate = certify(
            run.front,
            rows,
            wanted,
            delta=delta,
            order=order,
            deployed=run.chosen,
            prefer=rule_to_certify(run.preference),
            report=report,
            begin=None if begin is None else lambda numbers: begin(numbers, len(rows.truth)),
        )
        if not same:
            spent = {
                **question,
                "order": list(certificate.order),
                "prints": RowPrints.from_rows(rows.given).to_dict(),
                "date": certificate.date,
            }
            body = {"tests": [*(one.values for one in earlier), spent]}
            write_document(run.folder / SPENT, "list of spent rows", _SPENT_FORMAT, body)
    return certificate


def _earlier_tests(run: Run) -> list[Fields]:
    """Return what rows were spent on so far."""
    file = run.folder / SPENT
    if not file.exists():
        return []
    return read_document(file, "list of spent rows", _SPENT_FORMAT).many_fields("tests")


def _refuse_spent(earlier: list[Fields], rows: FreshRows, labels: list[Any]) -> None:
    """Refuse rows if some of them were spent on another question."""
    for test in earlier:
        prints = RowPrints.from_dict(test.fields("prints"), rows.given.shape[1])
        if n_spent := len(prints.seen_again(rows.given).rows):
            words = " and ".join(map(str, promises_from_dict(test, labels)))
            raise DataError(
                f"{rows.what} must hold rows that no test has seen, got "
                f"{counted(n_spent, 'row')} of {test.text('date')}, spent on {words}; collect "
                "fresh rows."
            )


def require_certificate(cascade: Cascade, place: Path, file: PathLike | None = None) -> None:
    """Raise an error unless a certificate covers a cascade.

    The certificate is `file`, or else the one in the run folder `place`.
    """
    if file is None and not place.is_dir():
        raise FileError(
            f"certificate must name the certificate of a cascade file, got none for {str(place)!r}."
        )
    path = Path(file) if file is not None else place / CERTIFICATE
    if file is None and not path.exists():
        raise FileError(f"{str(place)!r} must have a {CERTIFICATE}, got none; certify it first.")
    Certificate.load(path).require(cascade)
