"""`emsco export`: the cascade of a run for programs that do not have emsco."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from emsco._base.checks import check_choice
from emsco.app.cli.decide import cascade_file
from emsco.app.cli.options import AsJSON, Trusted
from emsco.app.cli.output import echo, print_json

_FORMATS = ("onnx", "mlflow")


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run, or a cascade file.")],
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="onnx: a graph for each stage and a manifest, for onnxruntime; mlflow: a model "
            "that MLflow loads and serves.",
        ),
    ] = "onnx",
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder to write to; by default FORMAT in RUN, or beside a cascade file."
        ),
    ] = None,
    trusted: Trusted = None,
    as_json: AsJSON = False,
) -> None:
    """Write the deployed cascade of a run for ONNX or MLflow.

    Install what it needs with: pip install 'emsco[onnx]' or pip install 'emsco[mlflow]'

    For example:

        emsco export heart-run --format onnx --out heart-onnx
    """
    from emsco.cascade import Cascade

    check_choice("format", form, _FORMATS)
    file = cascade_file(run)
    folder = file.parent / form if out is None else out
    cascade = Cascade.load(file, trusted or ())
    if form == "onnx":
        cascade.to_onnx(folder)
    else:
        from emsco.mlflow import save_model

        save_model(cascade, folder)
    if as_json:
        print_json({"run": str(run), "format": form, "out": str(folder)})
    else:
        echo(f"Written to {folder}.")
