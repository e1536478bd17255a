"""Models of a file: put together when asked for, and never much larger than the file."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from support.documents import CASCADE_BODY, FRONT_BODY, load_body
from support.handmade import make_assessed_front

from emsco import Cascade, FileError, ParetoFront
from emsco.cascade import format as formats
from emsco.cascade.format import StoredModels


def test_models_of_a_front_are_put_together_when_asked_for(tmp_path):
    front, loaded = make_assessed_front(), load_body(tmp_path, ParetoFront, FRONT_BODY)
    found = loaded.models.of_points
    assert isinstance(found, StoredModels)
    assert len(found) == len(front) == len(found[:])
    for one, other in zip(found, front.models.of_points, strict=True):
        assert np.array_equal(one.coefs, other.coefs)
        assert np.array_equal(one.reads, other.reads)
    assert np.array_equal(found[-1].coefs, found[1].coefs)
    with pytest.raises(IndexError, match="out of range"):
        found[2]


def test_stages_of_far_more_weights_than_the_file_has_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "_FREE_WEIGHTS", 14)
    monkeypatch.setattr(formats, "_MOST_TIMES", 1)
    rule = "must be stages of at most 14 weights, those of inputs not bought included, got '15'"
    with pytest.raises(FileError, match=f"'stages' {rule}"):
        load_body(tmp_path, Cascade, CASCADE_BODY)
    monkeypatch.setattr(formats, "_MOST_TIMES", 2)
    assert load_body(tmp_path, Cascade, CASCADE_BODY).n_stages == 3


def test_more_stages_than_a_design_can_have_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "MOST_STAGES", 2)
    with pytest.raises(FileError, match="'stages' must be at most 2 stages, got '3'"):
        load_body(tmp_path, Cascade, copy.deepcopy(CASCADE_BODY))
