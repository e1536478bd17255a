"""Files of the project agree with each other."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FOR_DEVELOPERS = {"all", "benchmark", "dev", "docs", "test"}


def test_continuous_integration_runs_the_test_command_of_the_readme():
    commands = re.findall(r"^python3 -m venv .*gate\.py$", (ROOT / "README.md").read_text(), re.M)
    last_line = (ROOT / ".ci" / "run").read_text().splitlines()[-1]
    assert commands == [last_line]


def test_the_citation_has_the_version_of_the_package():
    assert f"\nversion: {PROJECT['version']}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_extra_all_has_every_extra_that_users_need():
    # LiteLLM and MLflow bring dozens of packages: by name.
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    wanted = sorted(extras.keys() - FOR_DEVELOPERS - {"litellm", "mlflow"})
    assert everything == f"emsco[{','.join(wanted)}]"
