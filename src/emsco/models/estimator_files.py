"""Fitted models of the user's classifiers, to and from files; through skops, never pickle."""

from __future__ import annotations

import base64
import io
import json
import re
import warnings
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, ClassVar, Self

import numpy as np

from emsco._base.documents import Fields
from emsco._base.text import first_line
from emsco._base.typing import AnyArray, FloatArray, IntArray
from emsco.data.rows import LARGEST
from emsco.errors import DataError, FileError, ParameterError, not_installed
from emsco.models.stage_models import rising_inputs

_DECIMALS = 12
_TEXT = re.compile(r"scikit-learn=([\w.+-]{1,40});base64,([A-Za-z0-9+/=]*)")
_FREE_CONTENT, _MOST_TIMES = 50 * 2**20, 10  # bytes after unpacking, and times those of the text
_PROBES = (0.0, -1e3, 1e3)  # values of rows on which a model that was read is tried
# Libraries in C read these without looking whether their arrays fit.
_UNCHECKED = re.compile(r"sklearn\.svm\._classes\.\w+|sklearn\.svm\._lib\w+\.\w+")


@dataclass(frozen=True, slots=True, eq=False)
class EstimatorModel:
    """A fitted classifier, with its inputs.

    Probabilities are rounded to 12 decimals. The last bits of matrix products and of sums over
    threads depend on the batch of rows. After rounding, a row gets the same decision in any
    batch, and 65 of 100 agreeing trees give a confidence of exactly 0.65.

    Attributes
    ----------
    estimator : object
        Has predict_proba, and classes_ with class numbers from 0.
    inputs : ndarray of int
        The inputs it reads, in ascending order.
    fill : ndarray of shape (len(inputs),)
        Value that replaces a missing one (NaN) in each input.
    n_classes : int
        Classes of the problem. Classes that the estimator has not seen have probability 0.
    identity : str
        A digest of its probabilities for rows that it was fitted to.
    """

    family: ClassVar[str] = "estimator"

    estimator: Any
    inputs: IntArray
    fill: FloatArray
    n_classes: int
    identity: str = ""

    def probabilities(self, rows: FloatArray) -> FloatArray:
        """Class probabilities of rows with all inputs, shape (n_rows, n_classes)."""
        shares = np.zeros((len(rows), self.n_classes))
        if not len(rows):
            return shares
        known = np.ascontiguousarray(rows[:, self.inputs], dtype=np.float64)
        missing = np.isnan(known)
        if missing.any():
            known = np.where(missing, self.fill, known)
        said = np.asarray(self.estimator.predict_proba(known), dtype=np.float64)
        expected = (len(known), len(self.estimator.classes_))
        if said.shape != expected or not np.isfinite(said).all():
            kind = type(self.estimator).__name__
            got = f"shape {said.shape}" if said.shape != expected else "NaN or infinite values"
            raise DataError(
                f"predict_proba of {kind} must give {expected[1]} numbers a row, got {got}."
            )
        shares[:, self.estimator.classes_] = np.round(said, _DECIMALS)
        return shares

    @property
    def arrays(self) -> tuple[AnyArray, ...]:
        """A digest of everything that affects probabilities."""
        return (np.array([self.identity]),)

    @property
    def untrusted_types(self) -> list[str]:
        """Types that you must name as trusted to read a file with this model."""
        return sorted(_untrusted(_skops().dumps(self.estimator)))

    def reads_only(self, inputs: IntArray) -> bool:
        """Whether it reads just these inputs."""
        return np.array_equal(self.inputs, inputs)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a file."""
        return {
            "inputs": self.inputs.tolist(),
            "fill": self.fill.tolist(),
            "estimator": estimator_text(self.estimator),
            "identity": self.identity,
        }

    @classmethod
    def from_dict(
        cls, fields: Fields, n_inputs: int, n_classes: int, trusted: Sequence[str] = ()
    ) -> Self:
        """Read a model from a file and check it."""
        inputs = rising_inputs(fields, n_inputs)
        n_read = len(inputs)
        fill = fields.numbers("fill", n_read, -LARGEST, LARGEST)
        estimator = read_estimator(fields.text("estimator"), trusted, fields.where)
        if not _can_judge(estimator, n_read, n_classes):
            fields.refuse(
                "estimator",
                f"a classifier of {n_read} inputs and {n_classes} classes at most",
                type(estimator).__name__,
            )
        return cls(estimator, inputs, fill, n_classes, fields.text("identity"))


def estimator_text(estimator: Any) -> str:
    """Write a fitted estimator as text: the version of scikit-learn, then the bytes of skops.

    The bytes contain memory addresses, so they differ from one call to the next.

    Raises
    ------
    FileError
        If skops cannot read the estimator back.
    """
    skops = _skops()
    try:
        content = skops.dumps(estimator, compression=zipfile.ZIP_DEFLATED)
        if _unpacked(content) > _max_unpacked(len(content)):  # a reader would take it for a bomb
            content = skops.dumps(estimator, compression=zipfile.ZIP_STORED)
        skops.loads(content, trusted=skops.get_untrusted_types(data=content))
    except Exception as error:  # foreign objects may raise anything
        raise FileError(
            "estimator must be one that skops can write and read to be saved, got "
            f"{type(estimator).__name__} ({first_line(error)})."
        ) from error
    return f"scikit-learn={version('scikit-learn')};base64,{base64.b64encode(content).decode()}"


def read_estimator(text: str, trusted: Sequence[str] = (), where: str = "a file") -> Any:
    """Read an estimator from its text.

    Only types that skops trusts, and those in `trusted`, are created. Trees, nearest neighbours and
    support vector machines are not among them: with forged numbers, the C code that reads them
    can crash the process.

    Parameters
    ----------
    text : str
        The result of `estimator_text`.
    trusted : sequence of str
        Full names of further types to create.
    where : str
        Name of the file in messages.

    Raises
    ------
    FileError
        If the text is damaged, or holds a type that is not trusted.
    """
    listed = isinstance(trusted, (list, tuple)) and all(isinstance(one, str) for one in trusted)
    if not listed:
        raise ParameterError(f"trusted must be a list of names of types, got {trusted!r}.")
    match = _TEXT.fullmatch(text)
    if match is None:
        raise _damaged(where, "not written by skops")
    try:
        content = base64.b64decode(match[2], validate=True)
        size = _unpacked(content)
    except Exception as error:  # base64 and zipfile raise many kinds for damaged text
        raise _damaged(where, first_line(error)) from error
    max_bytes = _max_unpacked(len(content))
    if size > max_bytes:
        raise FileError(
            f"an estimator in {where} must unpack to at most {max_bytes:,} bytes, got {size:,}."
        )
    skops = _skops()
    try:
        needed = _untrusted(content)
    except Exception as error:  # zipfile, JSON and skops raise many kinds for damaged bytes
        raise _damaged(where, first_line(error)) from error
    if unknown := sorted(needed - set(trusted)):
        raise FileError(
            f"{where} must hold trusted types only, got {', '.join(unknown)}; if you trust its "
            "author, name them as trusted."
        )
    if match[1] != (here := version("scikit-learn")):
        warnings.warn(
            f"{where} was written with scikit-learn {match[1]} and read with {here}; its "
            "estimators may decide differently.",
            stacklevel=3,
        )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Trying to unpickle estimator")  # warned above, once
        try:
            return skops.loads(content, trusted=sorted(needed))
        except Exception as error:  # again, many kinds for damaged bytes
            raise _damaged(where, first_line(error)) from error


def _can_judge(estimator: Any, n_inputs: int, n_classes: int) -> bool:
    """Whether an estimator takes these inputs and gives probabilities of these classes only."""
    classes = np.asarray(getattr(estimator, "classes_", ()))
    is_fitting = (
        callable(getattr(estimator, "predict_proba", None))
        and getattr(estimator, "n_features_in_", n_inputs) == n_inputs
        and classes.ndim == 1
        and classes.size > 0
        and classes.dtype.kind in "iu"
        and ((classes >= 0) & (classes < n_classes)).all()
        and (np.diff(classes) > 0).all()
    )
    if not is_fitting:
        return False
    rows = np.repeat(np.array(_PROBES)[:, None], n_inputs, axis=1)
    try:
        said = np.asarray(estimator.predict_proba(rows), dtype=np.float64)
    except Exception:  # arrays of other shapes raise many kinds
        return False
    return said.shape == (len(rows), len(classes)) and bool(np.isfinite(said).all())


def _untrusted(content: bytes) -> set[str]:
    """Types in the bytes of skops that must be named as trusted."""
    schema = json.loads(zipfile.ZipFile(io.BytesIO(content)).read("schema.json"))
    untrusted = set(_skops().get_untrusted_types(data=content))
    left = [schema]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            name = f"{one.get('__module__')}.{one.get('__class__')}"
            if _UNCHECKED.fullmatch(name):
                untrusted.add(name)
            left += one.values()
        elif isinstance(one, list):
            left += one
    return untrusted


def _unpacked(content: bytes) -> int:
    """Bytes of all members of an archive."""
    with zipfile.ZipFile(io.BytesIO(content)) as members:
        return sum(member.file_size for member in members.infolist())


def _max_unpacked(n_bytes: int) -> int:
    """Upper bound on the decompressed size."""
    return _FREE_CONTENT + _MOST_TIMES * n_bytes


def _skops() -> Any:
    try:
        import skops.io
    except ModuleNotFoundError:
        raise not_installed("skops") from None
    return skops.io


def _damaged(where: str, why: str) -> FileError:
    return FileError(f"{where} must hold whole estimators, got a damaged one ({why}).")
