"""Log, save and load cascades with MLflow; its generic loader and server read them, too.

A model is stored as the JSON file of the cascade. Nothing is pickled. Install MLflow with
``pip install 'emsco[mlflow]'``.
"""

from __future__ import annotations

import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from emsco._base.documents import PathLike, write_text
from emsco.cascade import Cascade
from emsco.cascade.format import features_to_dicts
from emsco.errors import ParameterError, not_installed

__all__ = ["load_model", "log_model", "save_model"]

_FILE = "cascade.json"
_TYPES = {"number": "double", "truth": "boolean", "category": "string"}


def log_model(cascade: Cascade, name: str = "cascade", **settings: Any) -> Any:
    """Log a cascade to the active run of MLflow.

    Parameters
    ----------
    cascade : Cascade
    name : str
        Name of the model.
    **settings
        As for ``mlflow.models.Model.log``, such as `registered_model_name`.

    Returns
    -------
    mlflow.models.model.ModelInfo
    """
    mlflow = _mlflow()
    this = sys.modules[__name__]
    return mlflow.models.Model.log(None, flavor=this, name=name, cascade=cascade, **settings)


def save_model(cascade: Cascade, path: PathLike, mlflow_model: Any = None) -> None:
    """Write a cascade to a folder as a model of MLflow.

    Its signature has a column for each one that the cascade may buy, and `label`, `confidence`,
    `stage` and `cost` as results. Its metadata has the features with their costs, columns and
    delays.

    Parameters
    ----------
    cascade : Cascade
    path : path
        A folder that is new or empty.
    mlflow_model : mlflow.models.Model, optional
        Model to describe and save; by default a new one.
    """
    mlflow = _mlflow()
    if types := cascade.untrusted_types:
        raise ParameterError(
            f"cascade must have stage models that load without trust, got {types[0]}, which MLflow "
            "cannot be told to trust."
        )
    folder = Path(path)
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise ParameterError(f"path must be a folder that is new or empty, got {str(path)!r}.")
    folder.mkdir(parents=True, exist_ok=True)
    model = mlflow.models.Model() if mlflow_model is None else mlflow_model
    cascade.save(folder / _FILE)
    write_text(folder / "requirements.txt", f"emsco[mlflow]=={version('emsco')}\n")
    write_text(
        folder / "python_env.yaml",
        f"python: {platform.python_version()}\ndependencies:\n- -r requirements.txt\n",
    )
    model.signature = _signature(mlflow, cascade)
    model.metadata = {**(model.metadata or {}), "emsco": _facts(cascade)}
    model.add_flavor("emsco", emsco_version=version("emsco"), data=_FILE)
    mlflow.pyfunc.add_to_model(
        model, loader_module=__name__, data=_FILE, python_env="python_env.yaml"
    )
    model.save(str(folder / "MLmodel"))


def load_model(model_uri: str) -> Cascade:
    """Load a cascade that `log_model` or `save_model` wrote, from any address of MLflow."""
    folder = _mlflow().artifacts.download_artifacts(str(model_uri))
    return Cascade.load(Path(folder) / _FILE)


def _load_pyfunc(path: str) -> _Decider:
    """Return the model that ``mlflow.pyfunc.load_model`` wraps; `path` is the cascade's file."""
    return _Decider(Cascade.load(path))


class _Decider:
    """The object that MLflow calls for predictions."""

    def __init__(self, cascade: Cascade) -> None:
        self.cascade = cascade

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """Return a table of label, confidence, stage and cost; a rejected row has no label."""
        del params
        decisions = self.cascade.decide(model_input).to_pandas()
        return decisions[["label", "confidence", "stage", "cost"]]


def _mlflow() -> Any:
    try:
        import mlflow
        import mlflow.artifacts
        import mlflow.models
        import mlflow.pyfunc
    except ImportError:
        raise not_installed("mlflow-skinny", "'emsco[mlflow]'") from None
    return mlflow


def _signature(mlflow: Any, cascade: Cascade) -> Any:
    """Return the columns that the model reads, and those that it gives."""
    types = mlflow.types
    kinds = {name: _TYPES[cascade.encoding.kinds[name]] for name in cascade.columns}
    kinds |= dict.fromkeys(cascade.costs.price_columns, "double")
    inputs = [types.ColSpec(kind, name) for name, kind in kinds.items()]
    of_labels = {"b": "boolean", "i": "long", "u": "long", "f": "double"}
    given = {
        "label": of_labels.get(cascade.classes.dtype.kind, "string"),
        "confidence": "double",
        "stage": "long",
        "cost": "double",
    }
    outputs = [types.ColSpec(kind, name) for name, kind in given.items()]
    return mlflow.models.ModelSignature(types.Schema(inputs), types.Schema(outputs))


def _facts(cascade: Cascade) -> dict[str, Any]:
    return {
        "fingerprint": cascade.stages.identity,
        "features": features_to_dicts(cascade.costs, cascade.encoding),
        "fees": [fee.to_dict() for fee in cascade.costs.fees],
        "stages": [list(names) for names in cascade.design.buys],
    }
