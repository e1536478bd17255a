"""The README's code runs, and its two commands are the ones that are used."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_every_python_example_runs_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # examples write files
    namespace: dict[str, object] = {}
    examples = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(examples) >= 5
    for example in examples:
        exec(compile(example, "README.md", "exec"), namespace)


def test_every_example_of_real_problems_runs_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    text = (ROOT / "docs" / "problems.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(examples) >= 12
    for example in examples:
        exec(compile(example, "docs/problems.md", "exec"), namespace)


def test_both_commands_are_a_single_line_each():
    commands = re.findall(r"```bash\n(.*?)```", README, flags=re.DOTALL)
    assert len(commands) == 2
    assert all(command.count("\n") == 1 for command in commands)
    assert commands[0].strip().endswith("emsco demo")
    assert commands[1].strip().endswith("tools/gate.py")
