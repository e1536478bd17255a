"""Fits on the workers of Dask clusters. Quicker tests: tests/scale/test_remote_models.py."""

import os
import signal
import warnings

import numpy as np
import pandas as pd
import pytest

from emsco import DataError, EMSCOClassifier, EMSCOError, ParameterError
from emsco.scale import remote

pytest.importorskip("distributed")

SETTINGS = {"estimator": "logistic", "search": "evolution", "screen_rows": None}
SETTINGS |= {"generations": 2, "population_size": 10, "random_state": 0, "max_stages": 2}
N_ROWS = 140_000  # three leaves


def test_a_dask_table_without_workers_is_refused():
    import dask.array as da

    with pytest.raises(DataError, match=r"must have workers to stay with, got no client"):
        EMSCOClassifier().fit(da.zeros((10, 2)), np.zeros(10))


def test_what_is_no_client_is_refused():
    with pytest.raises(ParameterError, match=r"client must be a dask.distributed.Client, got str"):
        EMSCOClassifier().fit(np.eye(4), np.arange(4) % 2, client="tcp://here")


def problem():
    rng = np.random.default_rng(0)
    y = rng.choice(["ill", "well"], size=N_ROWS)
    X = rng.normal(size=(N_ROWS, 3)) + (y == "ill")[:, None] * [0.3, 0.9, 0.5]
    return pd.DataFrame(X, columns=list("abc")).assign(d=rng.choice(["x", "y"], N_ROWS)), y


def facts(clf):
    models = clf.cascade_.models.coefs.tobytes()
    return [(point.design, point.exits, point.correct_exits) for point in clf.front_], models


@pytest.fixture(scope="module")
def local():
    return facts(EMSCOClassifier(**SETTINGS).fit(*problem()))


@pytest.fixture
def client_of():
    """Open clusters that are closed after the test."""
    from distributed import Client, LocalCluster

    opened = []

    def start(n_workers, processes=False):
        options = {"n_workers": n_workers, "threads_per_worker": 1, "processes": processes}
        cluster = LocalCluster(**options, dashboard_address=None)
        opened.extend([cluster, Client(cluster)])
        return opened[-1]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Dask's own, about what it closes late
        yield start
        for one in reversed(opened):
            one.close()


@pytest.mark.thorough
@pytest.mark.parametrize("n_workers", [1, 2, 3, 8])
def test_any_number_of_workers_gives_the_same_bits_as_no_cluster(client_of, local, n_workers):
    import dask.array as da
    import dask.dataframe as dd

    client_of(n_workers)
    X, y = problem()
    labels = da.from_array(y, chunks=30_000)
    assert facts(EMSCOClassifier(**SETTINGS).fit(dd.from_pandas(X, 5), labels)) == local


@pytest.mark.thorough
def test_rows_in_memory_are_sent_to_the_workers_of_a_client(client_of, local):
    client = client_of(2)
    assert facts(EMSCOClassifier(**SETTINGS).fit(*problem(), client=client)) == local


@pytest.mark.thorough
def test_a_killed_worker_changes_nothing(client_of, local, monkeypatch):
    import dask.dataframe as dd

    client, calls, run = client_of(2, processes=True), [], remote.RemoteRows.run

    def killing(rows, task):
        calls.append(task)
        if len(calls) == 30:
            os.kill(client.run(os.getpid)[min(client.nthreads())], signal.SIGKILL)
        return run(rows, task)

    monkeypatch.setattr(remote.RemoteRows, "run", killing)
    X, y = problem()
    assert facts(EMSCOClassifier(**SETTINGS).fit(dd.from_pandas(X, 5), y)) == local
    assert len(calls) > 30


@pytest.mark.thorough
def test_without_any_worker_left_a_fit_ends_with_a_sentence_and_its_checkpoint(
    client_of, local, monkeypatch, tmp_path
):
    import dask.dataframe as dd

    client, calls, run = client_of(1), [], remote.RemoteRows.run
    settings = {**SETTINGS, "checkpoint": tmp_path / "kept"}

    def retiring(rows, task):
        calls.append(task)
        if len(calls) == 60:
            client.cluster.scale(0)
            while client.nthreads():
                pass
        return run(rows, task)

    X, y = problem()
    with monkeypatch.context() as patch:
        patch.setattr(remote.RemoteRows, "run", retiring)
        with pytest.raises(EMSCOError, match=r"there is no worker\. With checkpoint, the same fit"):
            EMSCOClassifier(**settings).fit(dd.from_pandas(X, 5), y)
    assert (tmp_path / "kept").exists()
    client.cluster.scale(1)
    client.wait_for_workers(1)
    assert facts(EMSCOClassifier(**settings).fit(dd.from_pandas(X, 5), y)) == local
