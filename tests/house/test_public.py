import types
from importlib.metadata import metadata
from pathlib import Path

import emsco
import emsco.metrics

ROOT = Path(emsco.__file__).parent


def test_what_is_visible_is_what_is_promised():
    visible = {
        name
        for name in dir(emsco)
        if not name.startswith("_") and not isinstance(getattr(emsco, name), types.ModuleType)
    }
    assert emsco.__all__ == sorted(visible)
    assert visible >= {
        name for name in vars(emsco) if name[0].isupper() and name != "TYPE_CHECKING"
    } - {"Any"}


def test_the_promised_scorers_are_there():
    promised = {
        "coverage_score",
        "make_selective_scorer",
        "mean_cost_score",
        "selective_accuracy_score",
    }
    assert promised <= set(emsco.metrics.__all__)


def test_the_package_says_that_it_is_typed():
    assert (ROOT / "py.typed").exists()
    assert "Typing :: Typed" in metadata("emsco").get_all("Classifier")


def test_the_package_knows_its_version():
    assert emsco.__version__ == metadata("emsco")["Version"]
