"""Tables of public archives, from a folder, a cache or the network; their values are checked."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pandas as pd

from emsco.errors import DataError
from emsco_lab.datasets.dataset import FloatArray

_SECONDS = 30.0  # longest wait for a silent server
_LARGEST = 2**22  # bytes to download at most; the largest of these tables has 500,000
_GAPS = ("", "?")
_UCI = "https://archive.ics.uci.edu/static/public"


@dataclass(frozen=True, slots=True)
class PublicTable:
    """A table that a public archive offers.

    Attributes
    ----------
    name : str
    header : str
        Names of the features, in the order of the table; the label comes last, as a number.
    url : str
        Address of the download.
    sha256 : str
        Digest of all values, row by row, as little-endian float64; gaps are NaN.
    source, licence : str
        Origin and licence, in words.
    members : sequence of str
        Files with the rows, in this order, if the download is a ZIP file.
    labels : dict of str to str
        Labels of the original file, and the numbers to replace them.
    """

    name: str
    header: str
    url: str
    sha256: str
    source: str
    licence: str
    members: Sequence[str] = ()
    labels: dict[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        """Names of the features."""
        return self.header.split()

    def parse(self, text: str) -> FloatArray:
        """Return the table in a file: values separated by commas or blanks, after any header.

        A gap is a question mark, or an empty cell between commas.
        """
        rows = []
        for line in text.splitlines():
            cells = [cell.strip() for cell in line.split("," if "," in line else None)]
            if len(cells) != len(self.columns) + 1:
                continue
            cells[-1] = self.labels.get(cells[-1], cells[-1])
            with suppress(ValueError):  # a header or a comment
                rows.append([np.nan if cell in _GAPS else float(cell) for cell in cells])
        return np.array(rows, dtype=np.float64)


def digest(table: FloatArray) -> str:
    """Return the SHA-256 digest of a table's values; every gap counts as the same NaN."""
    values = np.where(np.isnan(table), np.nan, table).astype("<f8")
    return hashlib.sha256(values.tobytes()).hexdigest()


def cache_folder() -> Path:
    """Return the folder for downloads: EMSCO_CACHE if set, else the system's cache folder."""
    if named := os.environ.get("EMSCO_CACHE"):
        return Path(named)
    from platformdirs import user_cache_path  # rarely needed

    return user_cache_path("emsco", appauthor=False)


def table_of(public: PublicTable) -> FloatArray:
    """Return the table from the folder that EMSCO_DATA names, else the cache, else the network.

    Raises
    ------
    DataError
        If the table is nowhere to be found, or the folder or the network has other values.
    """
    named = os.environ.get("EMSCO_DATA")
    if named and (path := Path(named) / f"{public.name}.csv").is_file():
        return _checked(public, _text_of(path), f"{path}")
    kept = cache_folder() / f"{public.name}.csv"
    if kept.is_file():
        with suppress(DataError):  # a damaged file is downloaded again
            return _checked(public, _text_of(kept), f"{kept}")
    table = _checked(public, _downloaded(public), public.url)
    with suppress(OSError):  # if the cache cannot be written, the next use downloads it again
        kept.parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(table, columns=[*public.columns, "label"]).to_csv(kept, index=False)
    return table


def _text_of(path: Path) -> str:
    """Return a file as text; the check of values will refuse bytes that are not UTF-8."""
    return path.read_text(encoding="utf-8", errors="replace")


def _checked(public: PublicTable, text: str, where: str) -> FloatArray:
    table = public.parse(text)
    if digest(table) != public.sha256:
        raise DataError(f"{where} must hold the values of {public.source}, got others.")
    return table


def _downloaded(public: PublicTable) -> str:
    try:
        with urlopen(public.url, timeout=_SECONDS) as answer:
            content: bytes = answer.read(_LARGEST)
        if public.members:
            with zipfile.ZipFile(io.BytesIO(content)) as packed:
                content = b"\n".join(packed.read(member) for member in public.members)
        return content.decode("utf-8", errors="replace")
    except (OSError, HTTPException, zipfile.BadZipFile, zlib.error, KeyError) as error:
        why = getattr(error, "reason", error)
        raise DataError(
            f"EMSCO_DATA must name a folder with {public.name}.csv, since {public.url} cannot be "
            f"read: {str(why).rstrip('.')}."
        ) from None


PUBLIC_TABLES = {
    public.name: public
    for public in (
        PublicTable(
            "heart",
            (
                "age anaemia creatinine_phosphokinase diabetes ejection_fraction "
                "high_blood_pressure platelets serum_creatinine serum_sodium sex smoking time"
            ),
            url=f"{_UCI}/519/heart+failure+clinical+records.zip",
            members=["heart_failure_clinical_records_dataset.csv"],
            sha256="cd51149d706f7f2df6b8197202cb8def4b39afd66cb6905ae0793e130cdbfea2",
            source="UCI Heart Failure Clinical Records (Chicco & Jurman 2020)",
            licence="CC BY 4.0",
        ),
        PublicTable(
            "pima",
            "preg plas pres skin insu mass pedi age",
            url="https://www.openml.org/data/download/37/dataset_37_diabetes.arff",
            labels={"tested_positive": "1", "tested_negative": "0"},
            sha256="3e5bd23b2c24c83178bcc3a4649e4339c1a248d5bead9c896b19af974b2cdee5",
            source="OpenML 37, Pima Indians Diabetes (Sigillito 1990)",
            licence="not established; withdrawn from UCI's archive",
        ),
        PublicTable(
            "credit",
            " ".join(f"A{i}" for i in range(1, 15)),
            url=f"{_UCI}/143/statlog+australian+credit+approval.zip",
            members=["australian.dat"],
            sha256="31f7d2e7692d5104af56da9932714e0b15cef630655e02ce16cef97255297ca8",
            source="UCI Statlog Australian Credit Approval (Quinlan 1987)",
            licence="CC BY 4.0",
        ),
        PublicTable(
            "cleveland",
            "age sex cp trestbps chol fbs restecg thalach exang oldpeak slope ca thal",
            url=f"{_UCI}/45/heart+disease.zip",
            members=["processed.cleveland.data"],
            labels={"2": "1", "3": "1", "4": "1"},  # degrees of the disease
            sha256="d3fe04541449b5d0000a0e4f36fb12b432e125f87d6b863a5bc7491f62cb7843",
            source="UCI Heart Disease, Cleveland (Detrano et al. 1989)",
            licence="CC BY 4.0",
        ),
        PublicTable(
            "thyroid",
            (
                "age sex on_thyroxine query_on_thyroxine on_antithyroid_medication sick "
                "pregnant thyroid_surgery I131_treatment query_hypothyroid query_hyperthyroid "
                "lithium goitre tumor hypopituitary psych TSH T3 TT4 T4U FTI"
            ),
            url=f"{_UCI}/102/thyroid+disease.zip",
            members=["ann-train.data", "ann-test.data"],
            sha256="f91f9732299c71cd2cb6618a7bb3913a55413aaa3e64b3ba760009ddd8bf2201",
            source="UCI Thyroid Disease, ann-thyroid (Quinlan 1987)",
            licence="CC BY 4.0",
        ),
        PublicTable(
            "spam",
            (
                "make address all num3d our over remove internet order mail receive will "
                "people report addresses free business email you credit your font num000 "
                "money hp hpl george num650 lab labs telnet num857 data num415 num85 "
                "technology num1999 parts pm direct cs meeting original project re edu table "
                "conference charSemicolon charRoundbracket charSquarebracket charExclamation "
                "charDollar charHash capitalAve capitalLong capitalTotal"
            ),
            url=f"{_UCI}/94/spambase.zip",
            members=["spambase.data"],
            labels={"spam": "1", "nonspam": "0"},
            sha256="706f0f74d9834f661de15274da6727d81955b258cdd7c50a4d80d15f15e5e5b4",
            source="UCI Spambase (Hopkins et al. 1999)",
            licence="CC BY 4.0",
        ),
    )
}
