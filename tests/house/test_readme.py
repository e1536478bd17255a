"""The README is short, and its two commands are the ones that are used."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURE = ROOT / "docs" / "_static" / "cascade.svg"


def test_both_commands_are_a_single_line_each():
    commands = re.findall(r"```bash\n(.*?)```", README, flags=re.DOTALL)
    assert len(commands) == 2
    assert all(command.count("\n") == 1 for command in commands)
    assert commands[0].strip().endswith("emsco demo")
    assert commands[1].strip().endswith("tools/gate.py")


def test_the_picture_is_small_and_loads_nothing():
    assert PICTURE.stat().st_size < 60_000
    assert "http" not in PICTURE.read_text(encoding="utf-8").replace(
        "http://www.w3.org/2000/svg", ""
    )
