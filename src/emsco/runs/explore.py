"""Runs as web pages."""

from __future__ import annotations

import shlex
from datetime import date
from pathlib import Path
from typing import Any

from emsco._base.documents import PathLike
from emsco._base.text import shorten
from emsco.runs.run import Run

__all__ = ["explore_run"]

_DIGITS = 16  # of a fingerprint, enough to tell two apart


def explore_run(run: Run, path: PathLike | None = None, folder: PathLike | None = None) -> str:
    """The front of a run as a web page, with where its rows come from and how to deploy a design.

    Parameters
    ----------
    run : Run
    path : path, optional
        Where to write the page, too.
    folder : path, optional
        What the deploying command calls the run; by default its folder.

    Returns
    -------
    str
        The page.
    """
    called = str(run.folder if folder is None else folder)
    trust = "".join(f" --trust {shlex.quote(name)}" for name in run.cascade.untrusted_types)
    return run.front.to_html(
        path,
        title=f"Designs of {Path(called).resolve().name}",
        deploy=f"emsco choose {shlex.quote(called)}{trust} {{number}}",
        deployed=run.chosen,
        facts=_facts(run.about) | {"Date of this page": date.today().isoformat()},
    )


def _facts(about: dict[str, Any]) -> dict[str, str]:
    """Where rows come from; names of files without their folders, as pages are sent around."""
    files = about.get("files", {})
    kinds = {"data": "Rows", "train": "Rows to fit on", "val": "Rows held out", "test": "Test rows"}
    facts = {kinds[name]: Path(files[name]).name for name in kinds if files.get(name)}
    if share := about.get("held_out"):
        facts["Share held out to score designs"] = f"{share:.1%}"
    if "target" in files:
        facts["Column with the labels"] = files["target"]
    facts["Search ended"] = about["stop_reason"]
    if "seed" in about:
        facts["Seed"] = str(about["seed"])
    if "data" in about:
        facts["Fingerprint of the rows"] = shorten(str(about["data"]), _DIGITS)
    return facts
