"""Fit on files, and keep the results in a run folder."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from emsco._base.documents import UNFINISHED, PathLike, write_document
from emsco._base.locks import LOCK, SHORT_PATIENCE, locked_folder
from emsco._base.progress import JobProgress
from emsco._base.typing import AnyArray
from emsco.app.files.sources import FitFiles, RowsOfFiles
from emsco.app.files.table_files import by_line, read_ids, write_table
from emsco.app.runs.run import (
    CASCADE,
    CHECKPOINT,
    FORMAT,
    FRONT,
    HISTORY,
    RUN,
    Run,
    file_digest,
)
from emsco.data.labels import of_labels
from emsco.data.splits import check_simple_cv
from emsco.errors import DataError, FileError, NoSuchDesign, ParameterError
from emsco.estimator import EMSCOClassifier
from emsco.front.history import history_columns
from emsco.front.rules import plain_preference
from emsco.scoring.error_costs import plain_costs
from emsco.search.settings import PaperSearch

_LIBRARIES = ("emsco", "numpy", "scikit-learn", "scipy")


def fit_files(
    files: FitFiles,
    out: PathLike,
    *,
    seed: int = 0,
    cv: str | float = "auto",
    groups: str | None = None,
    resume: bool = False,
    verbose: int = 0,
    **settings: Any,
) -> Run:
    """Fit `EMSCOClassifier` on files, and keep the results in a run folder.

    Parameters
    ----------
    files : FitFiles
    out : path
        New or empty folder for the run. It holds the checkpoint during the search.
    seed : int
    cv : "auto", float or int
        Rows that score designs, as for `EMSCOClassifier`: a share held out or a number of folds.
        Not used if `files` names a file of scored rows.
    groups : str, optional
        Column with the group of each row, such as the patient; not a feature. Rows of a group are
        scored by models that have seen none of them. Needs `cv` "auto" and one file that is split.
    resume : bool
        Continue a search that was killed or interrupted. If the folder has none, a new search
        begins with a warning.
    verbose : int
    **settings
        Parameters of `EMSCOClassifier`. Class labels in them may also be text.

    Raises
    ------
    NoSuchDesign
        If no design is within the limits of `prefer`; the run is kept, and deploys the best
        balanced design.
    """
    path = Path(out)
    cv = check_simple_cv(_plain(cv))
    # Before any data is read: a place that cannot be written to is found out in a second.
    with _usable(path):
        _check_place(path, resume)
    if groups is not None:
        _check_groups(files, groups, cv)
        if groups not in files.drop:
            # A group says whose row it is, and must not be bought as a feature.
            files = replace(files, drop=(*files.drop, groups))
    rows = files.read(cv, settings.get("gaps", "refuse"))
    of_rows = None
    if groups is not None and files.data is not None:
        of_rows = read_ids(files.data, groups, files.reading)
        with by_line(files.data, files.reading):
            if (missing := of_rows == None).any():  # noqa: E711 - an array
                raise DataError(
                    f"{files.data} must have a group in column {groups!r} for every row, got none "
                    f"in row {int(missing.argmax()) + 1}.",
                    row=int(missing.argmax()) + 1,
                )
    labels = np.unique(rows.rows.y).tolist()
    # Labels on a command line are text; here they become those of the data.
    for name in ("min_confidence", "reject_below", "class_weight"):
        if isinstance(given := settings.get(name), dict):
            settings[name] = of_labels(given, labels)
    if resume and not (path / CHECKPOINT).exists():
        warnings.warn(f"nothing to resume in {path}: a new search begins.", stacklevel=2)
    with _usable(path):
        # Only now: a mistake in the files leaves no folder behind.
        path.mkdir(parents=True, exist_ok=True)
    classifier = EMSCOClassifier(
        costs=rows.costs,
        cv=rows.cv,
        checkpoint=path / CHECKPOINT,
        random_state=_plain(seed),
        verbose=verbose,
        **{name: _plain(value) for name, value in settings.items()},
    )
    with _claimed(path, resume):
        lacking = _fit(classifier, rows, of_rows)
        front = classifier.front_
        if rows.test is not None:
            with JobProgress("tests of designs") if verbose else nullcontext() as progress:
                test, report = rows.test, progress.job if progress else None
                front = front.with_seen(test.table, test.y, test.weights, report=report)
        about = _about(files, rows, classifier, _plain(seed), cv)
        if groups is not None:
            about["groups"] = groups
        # The last file marks the run as complete.
        for name in (FRONT, CASCADE, HISTORY, RUN):
            for left in path.glob(f"{name}.*{UNFINISHED}"):  # left by a killed process
                left.unlink()
        front.save(path / FRONT)
        classifier.cascade_.save(path / CASCADE)
        with write_table(path / HISTORY) as table:
            table.write(history_columns(classifier.history_))
        about["history"] = file_digest(path / HISTORY)
        write_document(path / RUN, "run", FORMAT, about)
        if not classifier.stop_reason_.is_interrupted:
            (path / CHECKPOINT).unlink()  # an interrupted search keeps it, so that it can go on
    # All is written by now. The limits come last, so that a long search is not lost to them.
    if lacking:
        raise NoSuchDesign(
            f"{lacking} {path} keeps all that was found, and deploys the economical design: emsco "
            "choose takes other limits."
        )
    return Run(path, about, front, classifier.cascade_)


def _check_groups(files: FitFiles, groups: str, cv: str | float) -> None:
    """Refuse what cannot keep groups together."""
    if files.data is None:
        raise ParameterError(f"groups must be left out beside train, got {groups!r}.")
    if cv != "auto":
        raise ParameterError(f"cv must be auto beside groups, got {cv!r}.")


def _fit(
    classifier: EMSCOClassifier, rows: RowsOfFiles, groups: AnyArray | None
) -> NoSuchDesign | None:
    """Fit; return the error if no design is within the limits, since the front is worth keeping."""
    try:
        classifier.fit(rows.rows.table, rows.rows.y, rows.rows.weights, groups)
    except NoSuchDesign as error:
        if not hasattr(classifier, "front_"):
            raise
        classifier.choose("economical")
        return error
    return None


def _plain(value: Any) -> Any:
    """Convert a NumPy number to a Python one, which a file can hold."""
    return value.item() if isinstance(value, np.generic) else value


@contextmanager
def _usable(folder: Path) -> Iterator[None]:
    """Turn failures of the file system into one sentence."""
    try:
        yield
    except OSError as error:
        why = error.strerror or error
        raise FileError(f"out must be a folder, got {str(folder)!r} ({why}).") from None


@contextmanager
def _claimed(folder: Path, resume: bool) -> Iterator[None]:
    """Keep other processes from writing to the folder; in the end, remove it if it is empty."""
    try:
        with locked_folder(folder, SHORT_PATIENCE, make=True):
            _check_place(folder, resume)  # again: another fit may have come first
            yield
    finally:
        with suppress(OSError):
            folder.rmdir()  # fails, on purpose, if anything was written


def _check_place(folder: Path, resume: bool) -> None:
    """Refuse to write over another run."""
    if folder.exists() and not folder.is_dir():
        raise FileError(f"out must be a folder, got the file {str(folder)!r}.")
    there = {file.name for file in folder.iterdir()} if folder.exists() else set()
    there.discard(LOCK)
    if resume and RUN in there and CHECKPOINT not in there:
        raise FileError(
            f"out must be a run that has not ended for resume, got {str(folder)!r}, which is "
            "complete."
        )
    if there and not (resume and CHECKPOINT in there):
        way_out = "resume goes on with it" if CHECKPOINT in there else "name another"
        raise FileError(
            f"out must be a new or empty folder, got {str(folder)!r}, which has "
            f"{sorted(there)[0]!r}; {way_out}."
        )


def _about(
    files: FitFiles, rows: RowsOfFiles, classifier: EMSCOClassifier, seed: int, cv: str | float
) -> dict[str, Any]:
    settings = classifier.get_params(deep=False)
    # What is about this run alone, or is written elsewhere, is no setting.
    for name in ("costs", "delays", "cv", "checkpoint", "random_state", "verbose", "n_jobs"):
        settings.pop(name)
    if settings["estimator"] is not None:
        settings["estimator"] = str(settings["estimator"])
    for name in ("min_confidence", "reject_below", "class_weight"):
        if isinstance(given := settings[name], dict):
            settings[name] = {str(label): number for label, number in given.items()}
    settings["prefer"] = plain_preference(settings["prefer"])
    for name in ("error_cost", "reject_cost"):
        settings[name] = plain_costs(settings[name])
    if isinstance(search := settings["search"], PaperSearch):
        # Flat, as on the command line.
        settings |= {"search": "paper", **search.get_params()}
    plain_files: dict[str, Any] = {
        name: list(given) if isinstance(given, tuple) else given and str(given)
        for name, given in asdict(files).items()
    }
    choice, finish = classifier.model_choice_, classifier.refinement_
    return {
        "files": {
            **plain_files,
            "left_out": [issue.to_dict() for issue in rows.left_out],
            "reading": rows.reading.to_dict(),
        },
        "data": rows.data,
        "n_rows": len(rows.rows.y),
        "features": list(rows.costs.names),
        "cv": cv if files.val is None else None,
        "n_splits": classifier.n_splits_,
        "seed": seed,
        "settings": settings,
        "model_choice": None if choice is None else {**choice.to_dict(), "in_words": str(choice)},
        "finish": None if finish is None else {**finish.to_dict(), "in_words": str(finish)},
        "stop_reason": str(classifier.stop_reason_),
        "data_issues": [issue.to_dict() for issue in classifier.data_issues_],
        "stopped_by": classifier.stop_reason_.cause.value,
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in _LIBRARIES},
    }
