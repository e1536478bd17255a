"""`emsco serve`: what it says, refuses and leaves behind; requests are tested in tests/service."""

import asyncio
import json
import signal
import subprocess
import sys
import urllib.request

import pytest
from support.commands import refuses
from support.handmade import make_cascade

from emsco.app.service.store import CaseStore


@pytest.fixture
def folder(tmp_path):
    """A folder with a cascade, which is all that a service needs."""
    make_cascade(classes=("ill", "well")).save(tmp_path / "cascade.json")
    return tmp_path


@pytest.fixture
def briefly(monkeypatch):
    """Services end as soon as they listen."""
    started = []
    monkeypatch.setattr(
        "emsco.app.service.server.make_server", lambda service, _host: started.append(service)
    )
    monkeypatch.setattr(
        "emsco.app.service.server._run", lambda *_: asyncio.run(started[-1].store.close())
    )
    return started


@pytest.mark.usefixtures("briefly")
def test_serve_says_where_it_is_and_where_cases_are(typed, folder):
    result = typed("serve", folder, "--port", 0)
    assert result.code == 0
    first, second = result.out.splitlines()
    assert first.startswith(f"Serving {folder} at http://127.0.0.1:")
    assert second == (
        f"Cases are kept in {folder}/cases.sqlite: 0 open cases and 0 decided. Ctrl-C ends."
    )
    assert result.err == f"emsco: ended; 0 open cases and 0 decided in {folder}/cases.sqlite.\n"


@pytest.mark.usefixtures("briefly")
def test_serve_takes_a_cascade_file_and_says_all_in_json(typed, folder):
    output = json.loads(typed("serve", folder / "cascade.json", "--port", 0, "--json").out)
    assert output["url"].startswith("http://127.0.0.1:")
    assert output["database"] == str(folder / "cascade.sqlite")
    assert (output["n_open"], output["n_decided"]) == (0, 0)


def test_serve_hands_its_options_to_the_service(typed, folder, briefly):
    (folder / "token").write_text("correct-horse-battery\n")
    words = ("--token-file", folder / "token", "--max-body", "2MB", "--rate", "5", "--retain", "7")
    assert typed("serve", folder, "--port", 0, *words, "--host", "0.0.0.0").code == 0
    settings = briefly[0].settings
    assert (settings.token, settings.max_body) == ("correct-horse-battery", 2_000_000)
    assert (settings.rate, settings.retain) == (5, 7)


@pytest.mark.usefixtures("briefly")
def test_serve_refuses_cases_of_another_cascade_and_a_database_in_use(typed, folder):
    other = CaseStore(folder / "cases.sqlite", "another")
    refuses(typed("serve", folder, "--port", 0), "cases.sqlite")
    asyncio.run(other.close())
    refuses(typed("serve", folder, "--port", 0), "cases.sqlite")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_signal_ends_a_service_with_one_line_and_keeps_its_cases(folder):
    command = [sys.executable, "-m", "emsco", "serve", str(folder), "--port=0", "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        said = ""
        while not said.endswith("}\n"):
            said += process.stdout.readline()
        url = json.loads(said)["url"]
        headers = {"Content-Type": "application/json"}
        asked = urllib.request.Request(f"{url}/cases", b'{"id": "a"}', headers)
        with urllib.request.urlopen(asked, timeout=20) as answer:
            assert answer.status == 201
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30)
    assert err == f"emsco: ended; 1 open case and 0 decided in {folder}/cases.sqlite.\n"
    assert process.returncode == 0
