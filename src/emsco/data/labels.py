"""Labels: checks of y, and the labels of files as classes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.text import brief, first_line
from emsco._base.typing import AnyArray, BoolArray, IntArray, LabelArray
from emsco.data.rows import has, is_missing, kind_of
from emsco.designs.thresholds import MOST_CLASSES
from emsco.errors import DataError

_BINS = "make classes of it first, such as low and high"
_MANY_NUMBERS = 20  # more numbers than this, with few rows each, are measurements and no classes
_ROWS_PER_CLASS = 10
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9]\d{0,17})(\.\d+)?")


def labels_of(
    column: Any, path: object, first_row: int = 1, classes: AnyArray | None = None
) -> AnyArray:
    """Return the labels of a PyArrow column as numbers, truth values or text; refuse missing ones.

    Messages call the file `path` and count rows from `first_row`. If the known `classes` are text,
    the labels are text too: "true" stays text in a part of a file without the label "unknown".
    """
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    missing = column.is_null(nan_is_null=True).to_numpy()
    if missing.any():
        row = int(np.argmax(missing)) + first_row
        raise DataError(f"{path} must have a label in every row, got none in row {row}.", row=row)
    kind, stays_text = column.type, classes is not None and classes.dtype.kind == "U"
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if is_number or (pa.types.is_boolean(kind) and not stays_text):
        values: AnyArray = column.to_numpy()
        return values
    texts = np.asarray(column.cast(pa.string()).to_pylist(), dtype=np.str_)
    return texts if stays_text else plain_texts(texts)


def plain_texts(labels: AnyArray) -> AnyArray:
    """Return numbers or truth values if all texts are plainly such, else the texts.

    The text "01" stays, because as a number it would be the same as "1".
    """
    different, places = np.unique(labels, return_inverse=True)
    texts = different.tolist()
    if set(texts) <= {"true", "false"}:
        return np.array([text == "true" for text in texts])[places]
    if not all(_PLAIN_NUMBER.fullmatch(text) for text in texts):
        return labels
    values = [float(text) if any("." in one for one in texts) else int(text) for text in texts]
    return np.array(values)[places] if len(set(values)) == len(values) else labels


def as_classes(labels: AnyArray, classes: AnyArray, path: object, first_row: int = 1) -> AnyArray:
    """Return labels in the type of `classes`; if either is text, both are compared as text.

    Two files may differ in type: one has 1 and the other 1.0, or a single cell makes one of them
    text.
    """
    common = np.result_type(labels, classes)
    here, known = labels.astype(common), classes.astype(common)
    unknown = ~np.isin(here, known)
    if unknown.any():
        row = int(np.argmax(unknown))
        raise DataError(
            f"{path} must have only the labels {classes.tolist()}, got {labels[row].item()!r} in "
            f"row {row + first_row}.",
            row=row + first_row,
        )
    same: AnyArray = classes[positions_of(here, known)]
    return same


def positions_of(labels: AnyArray, classes: AnyArray) -> IntArray:
    """Return the position of each label in `classes`, where each must be."""
    if classes.dtype != object:
        order = np.argsort(classes)  # as text, 10 comes before 9
        same = labels.astype(classes.dtype, copy=False)  # 0.1 has other bits in another type
        places: IntArray = order[np.searchsorted(classes, same, sorter=order)]
        return places
    places = np.zeros(len(labels), dtype=np.int64)  # numbers beside text have no order
    for i, label in enumerate(classes.tolist()):
        places[labels == label] = i
    return places


def coded_labels(y: AnyArray) -> tuple[AnyArray, LabelArray]:
    """Return the classes, and the position of each label among them."""
    if y.dtype == object and y.size and not isinstance(y.flat[0], str):
        y = np.array(y.tolist())  # numbers
    unknown = "" if y.dtype.kind in "biufUO" else f"got {y.dtype.name}"
    with np.errstate(invalid="ignore"):
        if y.dtype.kind == "f" and (y % 1 != 0).any():  # infinity, too
            unknown = f"got numbers with fractions; {_BINS}"
    if unknown:  # in the words of scikit-learn
        raise DataError(f"Unknown label type: y must hold classes, {unknown}.")
    classes = np.unique(y)
    labels = np.searchsorted(classes, y)
    if len(classes) < 2:
        raise DataError(
            f"y must hold two classes or more, got one class only: {classes.tolist()[0]!r}."
        )
    check_classes(classes, labels, "y must hold")
    return classes, labels.astype(np.uint8)


def check_classes(classes: AnyArray, labels: IntArray, must: str, where: str = "") -> None:
    """Refuse more classes than are supported, and numbers that look like measurements.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
    labels : ndarray of shape (n_rows,)
        Position of each label in `classes`.
    must, where : str
        How the sentence begins, as in "y must hold", and where the labels are.
    """
    n_rows = float(np.median(np.bincount(labels)))
    is_number = classes.dtype.kind in "iuf"
    if is_number and len(classes) > _MANY_NUMBERS and n_rows < _ROWS_PER_CLASS:
        raise DataError(
            f"{must} classes{where}, got {len(classes):,} different numbers, most of them in fewer "
            f"than {_ROWS_PER_CLASS} rows; {_BINS}."
        )
    if len(classes) > MOST_CLASSES:
        way_out = f"; {_BINS}" if is_number else ""
        raise DataError(
            f"{must} at most {MOST_CLASSES} classes{where}, got {len(classes):,}{way_out}."
        )


def check_labelled(y: ArrayLike, may_mix: bool = False) -> None:
    """Refuse labels with a missing one (None, NaN, masked), and text mixed with numbers."""
    labels = _as_array(y)
    missing = np.atleast_1d(_missing(y, labels))
    if missing.any():
        row = int(np.argmax(missing.reshape(len(missing), -1).any(axis=1)))
        raise DataError(f"y must have a label in every row, got none in row {row}.")
    if labels.dtype.kind == "c":
        raise DataError("Complex data not supported: y must hold numbers, text or truth values.")
    if labels.dtype != object:
        return
    kinds: dict[str, Any] = {}
    for label in labels.flat:
        kinds.setdefault(kind_of(label), label)
    for kind, label in kinds.items():
        if kind not in ("text", "number", "truth"):
            raise DataError(
                f"y must hold numbers, text or truth values, got {kind} {brief(label)}."
            )
    if "text" in kinds and len(kinds) > 1 and not may_mix:
        one, other = list(kinds.values())[:2]
        raise DataError(f"y must hold labels of one type, got {brief(one)} and {brief(other)}.")


def check_truth(y: ArrayLike, classes: AnyArray, n_rows: int) -> AnyArray:
    """Return `y` as an array of one known label per row, or refuse it."""
    check_shape(_as_array(y), n_rows)
    check_labelled(y, may_mix=True)  # of a cascade whose classes are mixed
    truth = np.asarray(y)
    if unknown := unknown_labels(truth, classes):
        raise DataError(f"y must hold the classes {classes.tolist()}, got {brief(unknown[0])}.")
    return truth


def known_truth(y: ArrayLike, classes: AnyArray, n_rows: int) -> IntArray:
    """Return the position of each label in `classes`, -1 for a missing one (None, NaN, masked).

    Examples
    --------
    >>> known_truth(["ill", None, "well"], np.array(["ill", "well"]), 3).tolist()
    [0, -1, 1]
    """
    labels = _as_array(y)
    check_shape(labels, n_rows)
    missing = _missing(y, labels)
    known = labels[~missing]
    if known.dtype == object and classes.dtype != object:
        known = np.array(known.tolist(), dtype=None if known.size else classes.dtype)
    places = np.full(n_rows, -1)
    places[~missing] = positions_of(check_truth(known, classes, len(known)), classes)
    return places


def _as_array(y: ArrayLike) -> AnyArray:
    """Return labels as an array; a list of text and NaN does not become text."""
    try:
        return np.asarray(y) if has(y, "dtype") else np.asarray(y, dtype=object)
    except Exception as error:  # whatever an object raises that is asked for its values
        raise DataError(f"y must be one label for each row: {first_line(error)}") from None


def _missing(y: ArrayLike, labels: AnyArray) -> BoolArray:
    """Mark the missing labels."""
    if labels.dtype == object:
        flat = [is_missing(label) for label in labels.ravel()]
        missing = np.array(flat, dtype=np.bool_).reshape(labels.shape)
    else:
        missing = np.asarray(labels != labels)  # NaN, and dates that are none
    if isinstance(y, np.ma.MaskedArray):
        missing = missing | np.ma.getmaskarray(y)
    return missing


def check_shape(labels: AnyArray, n_rows: int) -> None:
    """Refuse labels that are not one for each row."""
    if labels.shape != (n_rows,):
        raise DataError(
            f"y must have one label for each of {n_rows} rows, got shape {labels.shape}."
        )


def unknown_labels(labels: AnyArray, classes: AnyArray) -> list[Any]:
    """Return the labels that are not in `classes`, each once."""
    try:
        different = np.unique(labels).tolist()
    except TypeError:  # None beside text
        different = list(dict.fromkeys(labels.tolist()))
    return [label for label in different if label not in classes]


def of_labels(given: Mapping[Any, float], labels: Sequence[Any]) -> dict[Any, float]:
    """Replace typed labels by the labels they mean; unknown ones stay as typed.

    A truth value is also written in lower case, and 1.0 as 1.
    """
    by_text = {}
    for label in labels:
        by_text[str(label)] = label
        if isinstance(label, bool):
            by_text[str(label).lower()] = label
        elif isinstance(label, float) and label.is_integer():
            by_text[str(int(label))] = label
    return {by_text.get(text, text): number for text, number in given.items()}
