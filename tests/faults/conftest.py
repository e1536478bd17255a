"""A run that all faults meet."""

import pytest


@pytest.fixture(scope="session")
def run(tmp_path_factory, few_bags):
    """The folder of a small run."""
    from faults.runs import make_run

    return make_run(tmp_path_factory.mktemp("faults"))
