"""What a finished fit says about designs that are cheaper, or better in all three figures."""

from __future__ import annotations

import numpy as np
import pytest

ESC, BIDI = "\x1b[31m", "\u202e"
NAMES = (f"a{ESC}ge", f"pu{BIDI}lse\x07")
LABELS = (f"il{ESC}l", "well\x9b2J")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp(f"fol{ESC}der")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=120)
    X = rng.normal(size=(120, 2)) + 1.5 * y[:, None]
    lines = [f"{a!r},{b!r},{LABELS[label]}" for (a, b), label in zip(X.tolist(), y, strict=True)]
    (folder / "data.csv").write_text("\n".join([",".join((*NAMES, "y")), *lines, ""]))
    return folder


@pytest.mark.filterwarnings("default:.*took part in the search")
def test_no_command_sends_control_characters_of_names(folder, typed):
    data, run = folder / "data.csv", folder / f"ru{ESC}n"
    fit = ("--target", "y", "--cv", "0.33", "--estimator", "logistic", "--max-stages", "2")
    commands = [
        ("fit", data, *fit, "--out", run),
        ("front", run),
        ("show", run),
        ("choose", run, "1"),
        ("decide", run, data, "--out", folder / "decisions.csv"),
        ("evaluate", run, data, "--target", "y"),
        ("evaluate", run, folder / "missing.csv", "--target", f"n{ESC}one"),
        ("front", folder / f"non{ESC}e"),
    ]
    said = [typed(*words) for words in commands]
    assert [one.code for one in said] == [0] * 6 + [1, 1]
    for one in said:
        shown = one.out + one.err
        assert not {"\x1b", "\x07", "\x9b", BIDI} & set(shown)
    assert r"a\x1b[31mge" in said[2].out
    assert r"il\x1b[31ml" in said[5].out
