"""The four pages for newcomers run from top to bottom."""

import re
import shlex
import warnings
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS / f"{name}.md" for name in ("start", "choose", "sign", "run")]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


def test_the_pages_run(tmp_path, monkeypatch, emsco):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for kind, text in BLOCK.findall("".join(page.read_text(encoding="utf-8") for page in PAGES)):
        if kind == "python":
            exec(compile(text, "docs", "exec"), namespace)
            continue
        for line in text.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["emsco"] and words[1] != "serve":
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    result = emsco(*words[1:])
                assert result.exit_code == (4 if "# exit code 4" in line else 0), result.output
