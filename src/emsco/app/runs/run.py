"""A run: a folder with a front, a cascade, and the facts of their search."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from emsco._base.digests import DIGEST
from emsco._base.documents import Fields, PathLike, is_finite_number, read_document, write_document
from emsco._base.locks import locked_folder
from emsco._base.text import brief
from emsco._base.typing import AnyArray, FloatArray
from emsco.app.files.reading import Reading
from emsco.cascade import Cascade
from emsco.data.rows import table_rows
from emsco.designs.thresholds import plain
from emsco.errors import FileError, ParameterError
from emsco.front import Certificate, ParetoFront, ParetoPoint
from emsco.front.doubts import doubts_about
from emsco.front.references import with_rejecting
from emsco.front.rules import (
    Preference,
    check_preference,
    given_error_costs,
    plain_preference,
    preference_of_fit,
)
from emsco.plotting.convergence import Convergence
from emsco.scoring.error_costs import ErrorCosts

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 3  # of run.json
RUN, FRONT, CASCADE, HISTORY = "run.json", "front.json", "cascade.json", "history.csv"
CERTIFICATE, MONITOR, SPENT = "certificate.json", "monitor.json", "spent.json"
CHECKPOINT = "answers.sqlite"
BEGUN = "choice_begun"  # field of run.json while a choice writes its cascade


def read_about(path: PathLike) -> dict[str, Any]:
    """Read the facts of a run and check those that are used later.

    Returns
    -------
    dict
        Settings, versions, seed, fingerprint of the data, and the reason why the search ended.

    Raises
    ------
    FileError
        If the file is missing, damaged, of another kind or format, or breaks a rule.
    """
    fields = read_document(path, "run", FORMAT, FORMAT)
    if "oddities" in fields.values:  # as data issues were called before version 0.3
        fields.values.setdefault("data_issues", fields.values.pop("oddities"))
    files = fields.fields("files")
    files.text("target")
    for name in ("data", "train", "val", "test", "costs", "weights"):
        if files.get(name) is not None:
            files.text(name)
    if files.items("drop"):
        files.texts("drop")
    if files.values.get("left_out"):  # runs of earlier versions have none, as below
        for issue in files.many_fields("left_out"):
            issue.text("message")
    if files.values.get("reading") is not None:
        Reading.from_dict(files.fields("reading"))
    _check_settings(fields.fields("settings"))
    for name in ("data", "stop_reason", "stopped_by"):
        fields.text(name)
    for name, minimum in (("n_rows", 1), ("n_splits", 1), ("seed", 0)):
        fields.whole(name, minimum)
    fields.texts("features")
    cv = fields.get("cv")
    if cv is not None and not isinstance(cv, str) and not is_finite_number(cv):
        fields.refuse("cv", "a number, text or null", cv)
    for name in ("groups", "history"):  # a column, and the digest of history.csv
        if fields.values.get(name) is not None:
            fields.text(name)
    for name in ("model_choice", "finish"):  # each with its words for people, or null
        if fields.get(name) is not None:
            fields.fields(name).text("in_words")
    for issue in fields.many_fields("data_issues") if fields.items("data_issues") else ():
        issue.text("message")
    versions = fields.fields("versions")
    for name in versions.values:
        versions.text(name)
    if BEGUN in fields.values:
        begun = fields.fields(BEGUN)
        # A choice that was killed before it wrote its cascade has chosen nothing.
        if begun.text("cascade") == file_digest(Path(path).with_name(CASCADE)):
            fields.values["error_costs"] = begun.get("error_costs")
    return fields.values


def file_digest(path: Path) -> str:
    """Return the digest of a whole file, or that of nothing if there is none."""
    content = path.read_bytes() if path.exists() else b""
    return DIGEST + hashlib.sha256(content).hexdigest()


def reading_of(about: Mapping[str, Any]) -> Reading:
    """Return how the files of a run were read; `about` is what `read_about` returns."""
    given = about["files"].get("reading")
    return Reading() if given is None else Reading.from_dict(Fields(given, "reading"))


def _check_settings(settings: Fields) -> None:
    """Check the rule that deployed a design, and the weights of classes."""
    try:
        check_preference(settings.get("prefer"))
    except ParameterError as error:
        settings.refuse("prefer", "a rule that deploys a design", str(error))
    weight: Any = settings.get("class_weight")
    if isinstance(weight, dict):
        weights = settings.fields("class_weight")
        for label in weights.values:
            weights.number(label, 0)
    elif weight is not None and not isinstance(weight, str):
        settings.refuse("class_weight", "text, an object of labels and weights, or null", weight)


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A search and its results, kept in a folder.

    Attributes
    ----------
    folder : Path
    about : dict
        Settings, versions, seed, fingerprint of the data, and the reason why the search ended.
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
        """Read a folder that `fit_files` wrote; `trusted` is as for `Cascade.load`."""
        path = Path(folder)
        # The last file that a fit writes: without it the run is not complete.
        if not (path / RUN).exists():
            why = f"which has no {RUN}" if path.is_dir() else "which is a file"
            why = why if path.exists() else "which does not exist"
            resume = "; resume goes on with it" if (path / CHECKPOINT).exists() else ""
            raise FileError(
                f"folder must be one that emsco fit has made, got {str(folder)!r}, {why}{resume}."
            )
        about = read_about(path / RUN)
        front = ParetoFront.load(path / FRONT, trusted)
        # Files of two runs in one folder contradict each other here.
        if list(front.costs.names) != about["features"]:
            raise FileError(
                f"{str(path / RUN)!r}, 'features' must be those of {FRONT}, got "
                f"{brief(about['features'])}."
            )
        return cls(path, about, front, Cascade.load(path / CASCADE, trusted))

    @property
    def point(self) -> ParetoPoint:
        """The deployed point of the front."""
        models, classes = self.front.models, self.cascade.classes
        if models is not None and models.classes.tolist() != classes.tolist():
            raise FileError(
                f"{str(self.folder / CASCADE)!r} must have the classes of {FRONT}, got "
                f"{brief(classes.tolist())}; choose a point anew."
            )
        for point in self.front:
            # By design, not by position: the front may have been sorted otherwise.
            if point.design == self.cascade.design:
                return point
        raise FileError(
            f"{str(self.folder / CASCADE)!r} must be of a design in {FRONT}, got "
            f"{self.cascade.design}; choose a point anew."
        )

    @property
    def chosen(self) -> int:
        """Position of the deployed point in the front."""
        return self.front.points.index(self.point)

    @property
    def certified(self) -> tuple[int, ...]:
        """Positions of the designs that the certificate in the folder covers; empty without one."""
        path = self.folder / CERTIFICATE
        if not path.exists():
            return ()
        certificate = Certificate.load(path)
        numbers = certificate.best_first
        # All models are of one fit: if the first is the one certified, so are the others.
        is_of_this_fit = numbers[0] < len(self.front) and certificate.covers(
            self.front.cascade(numbers[0])
        )
        return numbers if is_of_this_fit else ()

    @property
    def convergence(self) -> Convergence:
        """Progress of the search, generation by generation."""
        from emsco.app.files.table_files import read_chunks

        path, names = self.folder / HISTORY, Convergence.columns()
        written = self.about.get("history")  # runs of earlier versions have none
        if written is not None and path.exists() and file_digest(path) != written:
            raise FileError(
                f"{str(path)!r} must be unchanged since the fit wrote it, got another checksum."
            )
        chunks = [table_rows(chunk.table, names, str(path)) for chunk in read_chunks(path, names)]
        columns = dict(zip(names, np.concatenate(chunks).T, strict=True))
        return Convergence.from_columns(columns, self.front.metric)

    @property
    def reading(self) -> Reading:
        """How the files of the run were read, and how new ones are."""
        return reading_of(self.about)

    def labelled(
        self, path: PathLike, reading: Reading | None = None
    ) -> tuple[pa.Table, AnyArray, FloatArray | None]:
        """Read labelled rows from another file; weights are None if the run has none.

        `reading` says how, where that differs from the files of the run.
        """
        from emsco.app.files.sources import FitFiles

        fitted = self.about["files"]
        files = FitFiles(
            fitted["target"],
            path,
            weights=fitted.get("weights"),
            # What is asked for now comes before how the run's own files were read.
            reading=(reading or Reading()).over(self.reading),
        )
        more = files.read_more(
            path, self.cascade.encoding, self.cascade.classes, self.front.costs.price_columns
        )
        return more.table, more.y, more.weights

    @property
    def is_weighted(self) -> bool:
        """Whether stage models were fitted with class weights."""
        return self.about["settings"].get("class_weight") is not None

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C stopped the search, so that it can go on."""
        return (self.folder / CHECKPOINT).exists()

    @property
    def given_error_costs(self) -> dict[str, Any]:
        """Costs of an error and of a rejection that the run was chosen or fitted with, if any.

        A run may forget those of a choice, but not those that its search was for.
        """
        chosen_with, settings = self.about.get("error_costs"), self.about["settings"]
        if searched_with := given_error_costs(settings):
            return given_error_costs(chosen_with) or searched_with
        return given_error_costs(settings.get("prefer") if chosen_with is None else chosen_with)

    @property
    def preference(self) -> Preference:
        """The rule, the limits or the costs of errors by which the fit deployed a design."""
        return preference_of_fit(self.about["settings"])

    def error_costs(self, given: Mapping[str, Any] | None = None) -> ErrorCosts | None:
        """Check costs of errors and rejections, by default those of the run; None without any."""
        return self.front.error_costs(**{"error_cost": None, **(given or self.given_error_costs)})

    def gives_cheapest_labels(self, costs: ErrorCosts | None, number: int | None = None) -> bool:
        """Whether the deployed cascade gives the labels of least expected cost by these costs.

        With a number, it is about the cascade that the front has for that design.
        """
        given = self.cascade.label_costs
        if number is not None:
            given = None if self.front.money is None else self.front.money.of_labels
        return given is not None and costs is not None and np.array_equal(given, costs.of_labels)

    @property
    def gives_labels_of_front(self) -> bool:
        """Whether the deployed cascade gives the labels that the front has for its design."""
        deployed, known = self.cascade.stages, self.front.cascade(self.chosen).stages
        return deployed.identity == known.identity

    def figures(
        self,
        which: list[int] | None = None,
        costs: ErrorCosts | None = None,
        *,
        cheapest_label: bool = False,
    ) -> list[dict[str, Any]]:
        """Points of the front as plain values, by default all; scored and seen figures apart.

        With costs of errors, each has its total, with `cheapest_label` that of labels of least
        expected cost.
        """
        figures = []
        for i in range(len(self.front)) if which is None else which:
            point, seen = self.front[i], self.front.seen
            one: dict[str, Any] = {
                "number": i,
                "stages": [list(bought) for bought in point.design.buys],
            }
            if point.design.thresholds is not None:
                one["thresholds"] = [*map(plain, point.design.thresholds)]
            if branches := point.design.branches.values():
                one["branches"] = [branch.to_dict() for branch in branches]
            one |= {"scored": point.figures(), "seen": None if seen is None else seen[i].to_dict()}
            if costs is not None:
                total = point.total_with(costs, cheapest_label=cheapest_label)
                one["total"] = total.to_dict()
            figures.append(one)
        return figures

    def references(
        self, costs: ErrorCosts | None = None, *, cheapest_label: bool = False
    ) -> dict[str, list[dict[str, Any]]]:
        """Return what there is without a cascade as plain values, scored and seen figures apart.

        With costs of errors, each has its total. With costs of rejections, rejecting everyone is
        one of them.
        """
        both = {"scored": self.front.references, "seen": self.front.seen_references}
        return {
            rows: [
                one.figures(costs, cheapest_label=cheapest_label)
                for one in with_rejecting(references, costs)
            ]
            for rows, references in both.items()
        }

    def choose(
        self,
        which: int | ParetoPoint,
        error_costs: Mapping[str, Any] | None = None,
        *,
        cheapest_label: bool = False,
    ) -> Run:
        """Deploy another point of the front, and write its cascade to the folder.

        Parameters
        ----------
        which : int or ParetoPoint
        error_costs : mapping, optional
            The `error_cost` and the `reject_cost` that chose it, which the run remembers; an empty
            one makes it forget those that it has.
        cheapest_label : bool
            Whether the cascade gives the label of least expected cost; see
            `Cascade.with_error_costs`.
        """
        with locked_folder(self.folder):
            chosen = self._as_it_is()._choose(which, error_costs, cheapest_label)
        for doubt in doubts_about(
            self.front,
            chosen.point,
            weighted=self.is_weighted,
            costs=chosen.error_costs(),
            cheapest_label=cheapest_label,
        ):
            warnings.warn(doubt, stacklevel=2)
        return chosen

    def _as_it_is(self) -> Run:
        """Return the run with what it remembers by now; refuse one that was fitted anew."""
        about = read_about(self.folder / RUN)
        if any(about[name] != self.about[name] for name in ("data", "seed", "stop_reason")):
            raise FileError(
                f"{str(self.folder)!r} must be as it was opened, got a run that was fitted "
                "meanwhile; open it again."
            )
        return replace(self, about=about)

    def _choose(
        self,
        which: int | ParetoPoint,
        error_costs: Mapping[str, Any] | None,
        cheapest_label: bool,
    ) -> Run:
        cascade = self.front.cascade(which)
        about = {name: fact for name, fact in self.about.items() if name != BEGUN}
        if cheapest_label:
            costs = self.error_costs(error_costs)
            if costs is None:
                raise ParameterError(
                    "cheapest_label must be given with error_cost, got no cost of errors."
                )
            cascade = cascade.with_error_costs(costs.of_labels)
        # Checked before anything is written.
        if error_costs is not None:
            self.error_costs(error_costs)
            about["error_costs"] = plain_preference(dict(error_costs))
        if about == self.about:
            cascade.save(self.folder / CASCADE)
        else:
            # Two files cannot be replaced at once: the first says what holds without the second.
            replaced = file_digest(self.folder / CASCADE)
            begun = {"cascade": replaced, "error_costs": self.about.get("error_costs")}
            write_document(self.folder / RUN, "run", FORMAT, {**about, BEGUN: begun})
            cascade.save(self.folder / CASCADE)
            write_document(self.folder / RUN, "run", FORMAT, about)
        return replace(self, about=about, cascade=cascade)
