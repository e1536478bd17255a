"""A run as a web page."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

from emsco._base.documents import PathLike
from emsco._base.text import shorten
from emsco.app.runs.run import CERTIFICATE, Run
from emsco.front import Certificate

_DIGITS = 16  # of a fingerprint: enough to tell two apart


def explore_run(
    run: Run,
    path: PathLike | None = None,
    deploy: str = "run.choose({number})",
    currency: str | None = None,
) -> str:
    """Make a web page of a run: its front, files and certificate, and how to deploy a design.

    Parameters
    ----------
    run : Run
    path : path, optional
        Also write the page to this file.
    deploy : str
        Command or line of Python that deploys a design; ``{number}`` stands for its number.
    currency : str, optional
        Unit of all costs, such as "€" or "minutes".

    Returns
    -------
    str
        The page.
    """
    signed = run.folder / CERTIFICATE
    return run.front.to_html(
        path,
        title=f"Designs of {run.folder.resolve().name}",
        deploy=deploy,
        deployed=run.chosen,
        facts=_facts(run.about) | {"Date of this page": date.today().isoformat()},
        currency=currency,
        certificate=Certificate.load(signed) if signed.exists() else None,
        **run.given_error_costs,
    )


def _facts(about: dict[str, Any]) -> dict[str, str]:
    """Facts about the rows; files lose their folders, since pages are sent around."""
    files = about["files"]
    kinds = {"data": "Rows", "train": "Training rows", "val": "Scored rows", "test": "Test rows"}
    facts = {kinds[name]: Path(files[name]).name for name in kinds if files.get(name)}
    if cv := about.get("cv"):
        facts["Rows that score designs"] = _in_words(cv, about.get("n_splits", 1))
    if "target" in files:
        facts["Column with the labels"] = files["target"]
    if choice := about.get("model_choice"):
        facts["Stage models"] = choice["in_words"]
    if finish := about.get("finish"):
        facts["Refinement"] = finish["in_words"]
    facts["Why the search stopped"] = about["stop_reason"]
    if "seed" in about:
        facts["Seed"] = str(about["seed"])
    if "data" in about:
        facts["Fingerprint of the rows"] = shorten(str(about["data"]), _DIGITS)
    return facts


def _in_words(cv: str | float, n_splits: int) -> str:
    """Say how the rows were split."""
    if isinstance(cv, float):
        return f"{cv:.1%} held out"
    return f"all, in {n_splits} splits" if n_splits > 1 else "a third held out"
