"""Runs: a search over files, kept in a folder; what to choose from it, and files decided by it."""

from __future__ import annotations

import platform
import shutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from emsco._typing import AnyArray, FloatArray, IntArray
from emsco.cascade import Cascade
from emsco.errors import EMSCOError, FileError, NoSuchDesign, ParameterError
from emsco.estimator import EMSCOClassifier
from emsco.files import UNFINISHED, PathLike, read_document, write_document
from emsco.frames import Columns
from emsco.front import ParetoFront, ParetoPoint
from emsco.history import history_columns
from emsco.options import of_labels
from emsco.parameters import check_number
from emsco.plotting.convergence import Convergence
from emsco.progress import JobProgress
from emsco.rows import table_rows
from emsco.sources import FitFiles, RowsOfFiles
from emsco.tables import read_chunks, write_table

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["DecisionCounts", "Run", "decide_file", "fit_files", "what_is_left"]

_FORMAT = 1
_RUN, _FRONT, _CASCADE, _HISTORY = "run.json", "front.json", "cascade.json", "history.csv"
_CHECKPOINT = "checkpoint"
_LIBRARIES = ("emsco", "numpy", "numba", "scikit-learn", "scipy")


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A search that is kept in a folder.

    Attributes
    ----------
    folder : Path
    about : dict
        Settings, versions, seed, fingerprint of the data, and why the search ended.
    front : ParetoFront
    cascade : Cascade
        The deployed point.
    """

    folder: Path
    about: dict[str, Any]
    front: ParetoFront
    cascade: Cascade

    @classmethod
    def open(cls, folder: PathLike, trusted: Sequence[str] = ()) -> Run:
        """Read a folder that `fit_files` has written; `trusted` is as for `Cascade.load`."""
        path = Path(folder)
        if not (path / _RUN).exists():
            why = f"which has no {_RUN}" if path.is_dir() else "which is a file"
            why = why if path.exists() else "which does not exist"
            hint = "; emsco fit --resume goes on with it" if (path / _CHECKPOINT).exists() else ""
            raise FileError(
                f"RUN must be a folder that emsco fit has made, got {str(folder)!r}, {why}{hint}."
            )
        fields = read_document(path / _RUN, "run", _FORMAT)
        fields.text("stop_reason")
        about = fields.values
        front = ParetoFront.load(path / _FRONT, trusted)
        return cls(path, about, front, Cascade.load(path / _CASCADE, trusted))

    @property
    def point(self) -> ParetoPoint:
        """The deployed point of the front."""
        for point in self.front:
            if point.design == self.cascade.design:
                return point
        raise FileError(
            f"{str(self.folder / _CASCADE)!r} must be of a design in {_FRONT}, got "
            f"{self.cascade.design}; choose a point anew."
        )

    @property
    def chosen(self) -> int:
        """Its position there."""
        return self.front.points.index(self.point)

    @property
    def convergence(self) -> Convergence:
        """How the search went, from its file."""
        path, names = self.folder / _HISTORY, tuple(field.name for field in fields(Convergence))
        chunks = [table_rows(chunk.table, names, str(path)) for chunk in read_chunks(path, names)]
        return Convergence.of(dict(zip(names, np.concatenate(chunks).T, strict=True)))

    def labelled(self, path: PathLike) -> tuple[pa.Table, AnyArray, FloatArray | None]:
        """Rows of another file with the columns of this run, their labels, and weights if any."""
        own = self.about["files"]
        files = FitFiles(own["target"], path, weights=own.get("weights"))
        more = files.read_more(path, self.cascade.encoding, self.cascade.classes)
        return more.table, more.y, more.weights

    @property
    def interrupted(self) -> bool:
        """Whether the search was ended by Ctrl-C, and can go on."""
        return (self.folder / _CHECKPOINT).exists()

    def figures(self, which: list[int] | None = None) -> list[dict[str, Any]]:
        """Points of the front as plain values, by default all; validation and test apart."""
        tests = self.front.tests
        return [
            {
                "number": i,
                "stages": [list(bought) for bought in self.front[i].design.buys],
                "validation": self.front[i].figures(),
                "test": tests and tests[i].to_dict(),
            }
            for i in (range(len(self.front)) if which is None else which)
        ]

    def choose(self, which: int | ParetoPoint) -> Run:
        """Deploy another point of the front: writes its cascade."""
        cascade = self.front.cascade(which)
        cascade.save(self.folder / _CASCADE)
        return Run(self.folder, self.about, self.front, cascade)


def fit_files(
    files: FitFiles,
    folder: PathLike,
    *,
    seed: int = 0,
    held_out: float = 1 / 3,
    resume: bool = False,
    verbose: int = 0,
    **settings: Any,
) -> Run:
    """Fit `EMSCOClassifier` on files and keep all it found in a folder.

    Parameters
    ----------
    files : FitFiles
    folder : path
        A new or empty folder. While the search runs, its checkpoint is there.
    seed : int
    held_out : float
        Share of the rows held out to score designs, where `files` has no rows of its own for it.
    resume : bool
        Go on with a search that was killed or interrupted; where the folder has none, a warning
        says so and one begins.
    verbose : int
    **settings
        Parameters of `EMSCOClassifier`. Where they name classes, labels may also be text.

    Raises
    ------
    NoSuchDesign
        Where no design is within the limits of `prefer`; the run is kept, and deploys the best
        balanced design.
    """
    path = Path(folder)
    check_number("held_out", held_out, 0, 1, "()")
    with _usable(path):
        _check_place(path, resume)
    rows = files.read(held_out, settings.get("gaps", "refuse"))
    labels = np.unique(rows.rows.y).tolist()
    for name in ("min_confidence", "class_weight"):
        if isinstance(given := settings.get(name), dict):
            settings[name] = of_labels(given, labels)
    if resume and not (path / _CHECKPOINT).exists():
        warnings.warn(f"nothing to resume in {path}: a new search begins.", stacklevel=2)
    with _usable(path):
        path.mkdir(parents=True, exist_ok=True)
    classifier = EMSCOClassifier(
        costs=rows.costs,
        cv=rows.cv,
        checkpoint=path / _CHECKPOINT,
        random_state=_plain(seed),
        verbose=verbose,
        **{name: _plain(value) for name, value in settings.items()},
    )
    lacking = _fit(classifier, rows, path, resume)
    front = classifier.front_
    if rows.test is not None:
        with JobProgress("tests of designs") if verbose else nullcontext() as progress:
            test, report = rows.test, progress.job if progress else None
            front = front.with_tests(test.table, test.y, test.weights, report=report)
    seed, held_out = _plain(seed), _plain(held_out)
    run = Run(path, _about(files, rows, classifier, seed, held_out), front, classifier.cascade_)
    _write(run, classifier)
    if not classifier.stop_reason_.startswith("interrupted"):
        _remove_checkpoint(path)
    if lacking:
        raise NoSuchDesign(
            f"{lacking} All that was found is kept in {path}: emsco choose takes other limits."
        )
    return run


def _fit(
    classifier: EMSCOClassifier, rows: RowsOfFiles, path: Path, resume: bool
) -> NoSuchDesign | None:
    """Fit; a folder in which nothing came to be is removed.

    That no design is within the limits of `prefer` is returned: what was found is worth keeping.
    """
    try:
        classifier.fit(rows.rows.table, rows.rows.y, rows.rows.weights)
    except BaseException as error:
        if isinstance(error, NoSuchDesign) and hasattr(classifier, "front_"):
            classifier.choose("balanced")
            return error
        with suppress(OSError):
            if isinstance(error, EMSCOError) and not resume:  # nothing that could be gone on with
                shutil.rmtree(path / _CHECKPOINT, ignore_errors=True)
            path.rmdir()  # where nothing has been written
        raise
    return None


def what_is_left(folder: PathLike) -> str:
    """What a fit that was interrupted has left in its folder, in words."""
    if (Path(folder) / _CHECKPOINT).exists():
        return f"--resume goes on with {folder}"
    return "nothing was found yet, and nothing is written"


def _plain(value: Any) -> Any:
    """A NumPy number as Python's, which a file can hold."""
    return value.item() if isinstance(value, np.generic) else value


@contextmanager
def _usable(folder: Path) -> Iterator[None]:
    """Failures of the file system, as one sentence."""
    try:
        yield
    except OSError as error:
        why = error.strerror or error
        raise FileError(f"--out must be a folder, got {str(folder)!r} ({why}).") from None


def _check_place(folder: Path, resume: bool) -> None:
    """Refuse to write over another run."""
    if folder.exists() and not folder.is_dir():
        raise FileError(f"--out must be a folder, got the file {str(folder)!r}.")
    there = {file.name for file in folder.iterdir()} if folder.exists() else set()
    if resume and _RUN in there and _CHECKPOINT not in there:
        raise FileError(
            f"--resume must name a run that has not ended, got {str(folder)!r}, which is complete."
        )
    if there and not (resume and _CHECKPOINT in there):
        hint = "--resume goes on with it" if _CHECKPOINT in there else "name another"
        raise FileError(
            f"--out must be a new or empty folder, got {str(folder)!r}, which has "
            f"{sorted(there)[0]!r}; {hint}."
        )


def _remove_checkpoint(folder: Path) -> None:
    """Delete it under another name, so that half of one is never taken for a search to resume."""
    spent = (folder / _CHECKPOINT).rename(folder / f"{_CHECKPOINT}{UNFINISHED}")
    shutil.rmtree(spent)


def _about(
    files: FitFiles, rows: RowsOfFiles, classifier: EMSCOClassifier, seed: int, held_out: float
) -> dict[str, Any]:
    settings = classifier.get_params(deep=False)
    for name in ("costs", "cv", "checkpoint", "random_state", "verbose", "n_jobs"):
        settings.pop(name)
    for name in ("estimator", "cache"):
        settings[name] = None if settings[name] is None else str(settings[name])
    for name in ("min_confidence", "class_weight"):
        if isinstance(given := settings[name], dict):
            settings[name] = {str(label): number for label, number in given.items()}
    return {
        "files": {
            name: list(given) if name == "drop" else given and str(given)
            for name, given in asdict(files).items()
        },
        "data": rows.data,
        "n_rows": len(rows.rows.y),
        "features": list(rows.costs.names),
        "held_out": held_out if files.val is None else None,
        "seed": seed,
        "settings": settings,
        "stop_reason": classifier.stop_reason_,
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in _LIBRARIES},
    }


def _write(run: Run, classifier: EMSCOClassifier) -> None:
    """All files of a run; the one that makes it complete comes last."""
    for name in (_FRONT, _CASCADE, _HISTORY, _RUN):
        for left in run.folder.glob(f"{name}.*{UNFINISHED}"):  # by one that was killed here
            left.unlink()
    run.front.save(run.folder / _FRONT)
    run.cascade.save(run.folder / _CASCADE)
    with write_table(run.folder / _HISTORY) as table:
        table.write(history_columns(classifier.history_))
    write_document(run.folder / _RUN, "run", _FORMAT, run.about)


@dataclass(frozen=True, slots=True)
class DecisionCounts:
    """What was decided about a file.

    Attributes
    ----------
    n_rows, n_accepted : int
    exits : tuple of int
        Rows that left with a label at each stage.
    cost, cost_of_everything : float
        Of all rows together; and what buying every feature for each would cost.
    """

    n_rows: int
    n_accepted: int
    exits: tuple[int, ...]
    cost: float
    cost_of_everything: float

    @classmethod
    def of(cls, cascade: Cascade, n_rows: int, exits: IntArray) -> DecisionCounts:
        """Add up what rows have cost that left so; the same however they were cut into chunks."""
        n_accepted = int(exits.sum())
        cost = exits @ cascade.stage_costs + (n_rows - n_accepted) * cascade.stage_costs[-1]
        everything = n_rows * cascade.costs.total
        return cls(n_rows, n_accepted, tuple(exits.tolist()), float(cost), everything)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def decide_file(
    cascade: Cascade,
    new: PathLike,
    out: PathLike,
    keep: tuple[str, ...] = (),
    report: Callable[[int], None] | None = None,
) -> DecisionCounts:
    """Decide every row of a file, and write a row each: label, confidence, stage and cost.

    The file is read, decided and written in chunks, so it may be larger than memory.

    Parameters
    ----------
    cascade : Cascade
    new, out : path
        CSV or Parquet; `out` is there once all is decided.
    keep : tuple of str
        Columns of `new` to put before the decisions.
    report : callable, optional
        ``report(n_rows)`` is called with the rows decided so far.
    """
    if Path(new).resolve() == Path(out).resolve():
        raise ParameterError(f"--out must be another file than NEW, got {str(out)!r} for both.")
    encoding = cascade.encoding
    exits = np.zeros(cascade.n_stages, dtype=np.int64)
    n_rows = 0
    with write_table(out) as table:
        for chunk in read_chunks(new, encoding.columns, keep, encoding.kinds):
            rows = encoding.rows(chunk.table, chunk.first + 1, str(new))
            decisions = cascade.decide_rows(rows)
            table.write(_side_by_side(chunk.kept, decisions.columns()))
            leaving = decisions.stage[decisions.accepted] - 1
            exits += np.bincount(leaving, minlength=len(exits))
            n_rows += len(decisions)
            if report:
                report(n_rows)
    return DecisionCounts.of(cascade, n_rows, exits)


def _side_by_side(kept: Columns, decided: Columns) -> Columns:
    if twice := [name for name in kept if name in decided]:
        raise ParameterError(
            f"--keep must name columns other than those of decisions ({', '.join(decided)}), got "
            f"{twice[0]!r}; rename it."
        )
    return {**kept, **decided}
