"""Tables of the public archives: from a folder, a cache or the network, checked by their values."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

import numpy as np

from emsco._base.documents import writing_atomically
from emsco._base.typing import FloatArray
from emsco.errors import DataError

__all__ = ["PUBLIC_TABLES", "PublicTable", "cache_folder", "table_of"]

_SECONDS = 30.0  # that a server may keep silent
_LARGEST = 2**22  # bytes; the largest of these tables has 30,000
_UCI = "https://archive.ics.uci.edu/static/public"


@dataclass(frozen=True, slots=True)
class PublicTable:
    """A table that a public archive offers.

    Attributes
    ----------
    name : str
    columns : sequence of str
        Names of the features, in the order of the table; the label comes last, as 0 or 1.
    n_rows : int
    url : str
        What is downloaded; a ZIP file where `member` names the file in it.
    sha256 : str
        Of all values, row by row, as little-endian float64.
    source, licence : str
        Where it comes from, and what may be done with it, in words.
    member : str or None
    words : dict of str to str
        Words of the original file, and the numbers that stand for them here.
    """

    name: str
    columns: Sequence[str]
    n_rows: int
    url: str
    sha256: str
    source: str
    licence: str
    member: str | None = None
    words: dict[str, str] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns, the label included."""
        return self.n_rows, len(self.columns) + 1

    def holds(self, table: FloatArray) -> bool:
        """Whether a table has exactly the values of the public."""
        values = np.ascontiguousarray(table, dtype="<f8")
        return table.shape == self.shape and digest(values) == self.sha256

    def parse(self, text: str) -> FloatArray:
        """The table in a file: values with commas or blanks between, after a header if any."""
        return np.array(list(self._numbers(text)), dtype=np.float64)

    def _numbers(self, text: str) -> Iterator[list[float]]:
        for line in text.splitlines():
            cells = [self.words.get(cell, cell) for cell in line.replace(",", " ").split()]
            try:
                numbers = [float(cell) for cell in cells]
            except ValueError:
                continue  # a header or a comment
            if len(numbers) == len(self.columns) + 1:
                yield numbers


def digest(values: FloatArray) -> str:
    """SHA-256 of the values of a table."""
    return hashlib.sha256(values.tobytes()).hexdigest()


def cache_folder() -> Path:
    """Where downloads are kept: the folder that EMSCO_CACHE names, else the system's for caches."""
    if named := os.environ.get("EMSCO_CACHE"):
        return Path(named)
    from platformdirs import user_cache_path  # few ever ask

    return user_cache_path("emsco", appauthor=False)


def table_of(public: PublicTable) -> FloatArray:
    """The table from the folder that EMSCO_DATA names, else the cache, else the network.

    Raises
    ------
    DataError
        Where it is nowhere to be had, or where EMSCO_DATA or the network has other values.
    """
    named = os.environ.get("EMSCO_DATA")
    if named and (path := Path(named) / f"{public.name}.csv").is_file():
        return _checked(public, public.parse(_text_of(path)), str(path))
    kept = cache_folder() / f"{public.name}.csv"
    if kept.is_file():
        table = public.parse(_text_of(kept))
        if public.holds(table):  # a damaged one is downloaded anew
            return table
    text = _downloaded(public, f"got {named!r}, which has no such file" if named else "got none")
    table = _checked(public, public.parse(text), public.url)
    _keep(public, table, kept)
    return table


def _text_of(path: Path) -> str:
    """A file as text; what is no UTF-8 is left to the check of the values."""
    return path.read_text(encoding="utf-8", errors="replace")


def _checked(public: PublicTable, table: FloatArray, where: str) -> FloatArray:
    if public.holds(table):
        return table
    n_rows, n_columns = public.shape
    same = table.shape == public.shape
    got = "other values" if same else f"a table of shape {table.shape}"
    raise DataError(
        f"{where} must hold the {n_rows} rows × {n_columns} columns of {public.source}, got {got}."
    )


def _downloaded(public: PublicTable, instead: str) -> str:
    try:
        with urlopen(public.url, timeout=_SECONDS) as answer:
            content: bytes = answer.read(_LARGEST)
        if public.member is not None:
            with zipfile.ZipFile(io.BytesIO(content)) as packed:
                content = packed.read(public.member)
        return content.decode("utf-8", errors="replace")
    except (OSError, HTTPException, zipfile.BadZipFile, zlib.error, KeyError) as error:
        why = error.reason if isinstance(error, URLError) else error
        host = urlsplit(public.url).hostname
        raise DataError(
            f"EMSCO_DATA must name the folder that holds {public.name}.csv where {host} cannot "
            f"be reached ({str(why).rstrip('.')}), {instead}."
        ) from None


def _keep(public: PublicTable, table: FloatArray, path: Path) -> None:
    """Write a table to the cache; one that cannot be written is no more than a slower next time."""
    lines = [",".join((*public.columns, "label"))]
    lines += [",".join(f"{value:.17g}" for value in row) for row in table.tolist()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with writing_atomically(path) as file:
            file.write(("\n".join(lines) + "\n").encode())
    except OSError:
        return


PUBLIC_TABLES = {
    public.name: public
    for public in (
        PublicTable(
            "heart",
            [
                "age",
                "anaemia",
                "creatinine_phosphokinase",
                "diabetes",
                "ejection_fraction",
                "high_blood_pressure",
                "platelets",
                "serum_creatinine",
                "serum_sodium",
                "sex",
                "smoking",
                "time",
            ],
            299,
            url=f"{_UCI}/519/heart+failure+clinical+records.zip",
            member="heart_failure_clinical_records_dataset.csv",
            sha256="cd51149d706f7f2df6b8197202cb8def4b39afd66cb6905ae0793e130cdbfea2",
            source="UCI Heart Failure Clinical Records (Chicco & Jurman 2020)",
            licence="CC BY 4.0",
        ),
        PublicTable(
            "pima",
            ["preg", "plas", "pres", "skin", "insu", "mass", "pedi", "age"],
            768,
            url="https://www.openml.org/data/download/37/dataset_37_diabetes.arff",
            words={"tested_positive": "1", "tested_negative": "0"},
            sha256="3e5bd23b2c24c83178bcc3a4649e4339c1a248d5bead9c896b19af974b2cdee5",
            source="OpenML 37, Pima Indians Diabetes (Sigillito 1990)",
            licence="not established; withdrawn from UCI's archive",
        ),
        PublicTable(
            "credit",
            [f"A{i}" for i in range(1, 15)],
            690,
            url=f"{_UCI}/143/statlog+australian+credit+approval.zip",
            member="australian.dat",
            sha256="31f7d2e7692d5104af56da9932714e0b15cef630655e02ce16cef97255297ca8",
            source="UCI Statlog Australian Credit Approval (Quinlan 1987)",
            licence="CC BY 4.0",
        ),
    )
}
