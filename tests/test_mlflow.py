"""Cascades as models of MLflow: stored as JSON, loaded by its generic loader, decided alike."""

import json

import pytest
from support.handmade import make_cascade, make_rich_cascade, make_rich_rows, make_rows

from emsco import ParameterError
from emsco.mlflow import load_model, log_model, save_model

mlflow = pytest.importorskip("mlflow")
pytestmark = pytest.mark.filterwarnings("ignore")  # what it says about its own dependencies


def rows():
    table = make_rich_rows(200)
    table.loc[::7, "ward"] = None
    return table


def test_a_saved_cascade_decides_alike_and_is_no_pickle(tmp_path):
    cascade, table = make_rich_cascade(), rows()
    save_model(cascade, tmp_path / "model")
    model = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    expected = cascade.decide(table).to_pandas()[["label", "confidence", "stage", "cost"]]
    for name, column in model.predict(table).items():
        assert column.equals(expected[name]), name
    assert load_model(tmp_path / "model").stages.identity == cascade.stages.identity
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == [
        "MLmodel",
        "cascade.json",
        "python_env.yaml",
        "requirements.txt",
    ]


def test_the_signature_has_the_columns_and_the_metadata_has_the_costs(tmp_path):
    save_model(make_rich_cascade(), tmp_path / "model")
    model = mlflow.models.Model.load(str(tmp_path / "model"))
    inputs = {one.name: one.type.name for one in model.signature.inputs.inputs}
    assert inputs == {"age": "double", "ward": "string", "sodium": "double", "potassium": "double"}
    assert model.signature.outputs.input_names() == ["label", "confidence", "stage", "cost"]
    blood = model.metadata["emsco"]["features"][1]
    assert blood == {
        "name": "blood",
        "cost": 20.5,
        "delay": 0.0,
        "columns": ["sodium", "potassium"],
    }


def test_a_logged_cascade_is_loaded_from_its_run(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file:{tmp_path}/runs")
    cascade = make_rich_cascade()
    with mlflow.start_run():
        logged = log_model(cascade, "triage")
    assert load_model(logged.model_uri).stages.identity == cascade.stages.identity


def test_a_served_cascade_answers_in_json(tmp_path):
    from mlflow.pyfunc.scoring_server import invocations

    save_model(make_cascade(), tmp_path / "model")
    model = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    names, table = model.metadata.get_input_schema().input_names(), make_rows(9)
    asked = json.dumps({"dataframe_split": {"columns": names, "data": table.tolist()}})
    answer = invocations(asked, "application/json", model, model.metadata.get_input_schema())
    labels = [one["label"] for one in json.loads(answer.response)["predictions"]]
    assert labels == make_cascade().decide(table).labels.tolist()
    assert None in labels  # a rejected row


def test_the_command_saves_a_model_in_a_new_folder(tmp_path, emsco):
    make_cascade().save(tmp_path / "cascade.json")
    assert emsco("export", tmp_path, "--format", "mlflow").exit_code == 0
    assert load_model(tmp_path / "mlflow").n_stages == 3
    with pytest.raises(ParameterError):
        emsco("export", tmp_path, "--format", "mlflow")
