"""No test of the lab reads from the network."""

from __future__ import annotations

from urllib.error import URLError

import pytest


@pytest.fixture(autouse=True)
def no_network(monkeypatch, tmp_path_factory):
    def refuse(_url, timeout):
        raise URLError("no network in tests")

    monkeypatch.setattr("emsco_lab.datasets.public.urlopen", refuse)
    monkeypatch.setenv("EMSCO_CACHE", str(tmp_path_factory.getbasetemp() / "no-cache"))
