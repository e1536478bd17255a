"""The facts of a run: what `run.json` holds, checked field by field when it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emsco._base.documents import Fields, PathLike, is_number, read_document
from emsco.data.reading import Reading
from emsco.errors import ParameterError
from emsco.front.preferences import check_preference
from emsco.runs.layout import FORMAT

__all__ = ["read_about", "reading_of"]

_FILES = ("data", "train", "val", "test", "costs", "weights")
_SENTENCES = ("model_choice", "finish")  # each with its words for people, or null


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
    _check_files(fields.fields("files"))
    _check_settings(fields.fields("settings"))
    for name in ("data", "stop_reason", "stopped_by"):
        fields.text(name)
    for name, least in (("n_rows", 1), ("n_splits", 1), ("seed", 0)):
        fields.whole(name, least)
    fields.texts("features")
    cv = fields.get("cv")
    if cv is not None and not isinstance(cv, str) and not is_number(cv):
        fields.refuse("cv", "a number, text or null", cv)
    if fields.values.get("groups") is not None:
        fields.text("groups")
    for name in _SENTENCES:
        if fields.get(name) is not None:
            fields.fields(name).text("in_words")
    for oddity in fields.many_fields("oddities") if fields.items("oddities") else ():
        oddity.text("message")
    versions = fields.fields("versions")
    for name in versions.values:
        versions.text(name)
    return fields.values


def reading_of(about: Mapping[str, Any]) -> Reading:
    """Return how the files of a run were read; `about` is what `read_about` returns."""
    given = about["files"].get("reading")
    return Reading() if given is None else Reading.from_dict(Fields(given, "reading"))


def _check_files(files: Fields) -> None:
    files.text("target")
    for name in _FILES:
        if files.get(name) is not None:
            files.text(name)
    if files.items("drop"):
        files.texts("drop")
    if files.values.get("reading") is not None:  # runs of earlier versions have none
        Reading.from_dict(files.fields("reading"))


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
