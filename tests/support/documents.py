"""Saved cascades and fronts: their files, the bodies of these files, and comparisons."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from emsco import Cascade
from emsco._base.documents import document_text
from emsco.cascade.format import FORMAT
from support.handmade import make_assessed_front, make_cascade, make_protocol, make_rows

ROWS = make_rows(60)
TRUTH = np.random.default_rng(1).integers(0, 2, size=60)
LABELS = {
    "int": np.array([0, 1]),
    "int8": np.array([-1, 1], dtype=np.int8),
    "uint64": np.array([7, 2**64 - 1], dtype=np.uint64),
    "bool": np.array([False, True]),
    "float": np.array([0.1, 2.0]),
    "float32": np.array([0.1, 1 / 3], dtype=np.float32),
    "float16": np.array([0.1, 3], dtype=np.float16),
    "str": np.array(["benign", "bösartig “x”"]),
    "object of str": np.array(["no", "yes"], dtype=object),
    "object of many": np.array([1, "one"], dtype=object),
}
ODD_NAMES = {
    "spaces": ("blood pressure", " ", "", "\t\n"),
    "umlauts": ("Größe", "naïve", "温度", "🩺"),
    "quotes": ('a "b"', "c'd", "e\\f", "{}[],:"),
    "surrogates": ("\ud800", "\udfff", "a\udc80", "\ud83d\ude00"),
    "nothing but look-alikes": ("1", "1.0", "null", "NaN"),
    "nul": ("a\0", "\0", "a", "b\0c"),
}


def put(path, content):
    path.unlink(missing_ok=True)  # overwriting a file is slow on some disks
    path.write_bytes(content)


def assert_same_cascade(some, other):
    assert some.design == other.design
    assert (some.costs.names, some.min_confidence) == (other.costs.names, other.min_confidence)
    assert some.classes.dtype == other.classes.dtype
    assert some.classes.tolist() == other.classes.tolist()
    assert some.encoding.to_dict() == other.encoding.to_dict()
    assert some.costs.evaluation == other.costs.evaluation
    for one, two in (
        (some.costs.costs, other.costs.costs),
        *zip(some.models.arrays, other.models.arrays, strict=True),
    ):
        assert one.dtype == two.dtype
        assert one.tobytes() == two.tobytes()
    assert some.stages.identity == other.stages.identity


def saved(thing, folder):
    """Save a value, and return it as loaded from the file."""
    path = folder / "saved.json"
    thing.save(path)
    return type(thing).load(path)


def body_of(thing):
    """Return the body of a value's file as plain values."""
    with TemporaryDirectory() as folder:
        thing.save(Path(folder) / "one.json")
        return json.loads((Path(folder) / "one.json").read_bytes())["body"]


CASCADE_BODY = body_of(make_cascade())
PROTOCOL_BODY = body_of(make_protocol())
FRONT_BODY = body_of(make_assessed_front().with_seen(ROWS, TRUTH))


def paths_of(value, path=()):
    """Yield the path of every value in a tree, without the root."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in inner:
        yield (*path, key)
        if isinstance(child, (dict, list)):
            yield from paths_of(child, (*path, key))


def at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def changed(tree, path, value):
    tree = copy.deepcopy(tree)
    at(tree, path[:-1])[path[-1]] = value
    return tree


def load_body(folder, kind, body):
    """Write a body with its correct checksum, and load it."""
    text = document_text("cascade" if kind is Cascade else "front", FORMAT, body)
    put(folder / "body.json", text.encode(errors="surrogatepass"))
    return kind.load(folder / "body.json")
