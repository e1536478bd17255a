"""Limits: who may ask, how often and how much."""

import contextlib
import http.client
import json
import math
import socket

import pytest
from support.handmade import make_cascade
from support.services import JSON, serving

from emsco.app.service import Settings
from emsco.app.service.limits import Gatekeeper, RateLimit
from emsco.app.service.messages import RefusalError
from emsco.app.service.settings import check_host
from emsco.errors import ParameterError

CASCADE = make_cascade(classes=("ill", 'we"ll\\'))
TOKEN = "correct-horse-battery"


def test_a_body_may_have_as_many_bytes_as_allowed(tmp_path):
    with serving(CASCADE, tmp_path / "a.sqlite", Settings(max_body=1000)) as service:
        said = {}
        for size in (1000, 1001, 9_000, 10**9):
            body = b'{"id":"' + b"x" * (min(size, 9_000) - 9) + b'"}'
            headers = {**JSON, "Content-Length": str(size)} if size > 9_000 else JSON
            status, _, answer = service.send("POST", "/cases", body, headers)
            said[size] = status, json.loads(answer)["error"]
        assert said[1000][0] == 422
        assert said[1001] == (413, "the body must have at most 1,000 bytes, got 1,001.")
        assert [said[size][0] for size in (9_000, 10**9)] == [413, 413]
        chunks = (b"x" * 600 for _ in range(3))
        status, _, answer = service.send("POST", "/cases", chunks, JSON)
        assert status == 413
        assert service.get("/health")[0] == 200


def sent(service, request):
    """Send raw bytes; return the statuses, headers and bodies until the service hangs up."""
    answers = []
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as link:
        with contextlib.suppress(OSError):  # it may hang up before it has all
            link.sendall(request)
        with contextlib.suppress(OSError), link.makefile("rb") as file:
            while line := file.readline():
                headers = http.client.parse_headers(file)
                body = file.read(int(headers["content-length"]))
                answers.append((int(line.split()[1]), headers, body))
    return answers


def test_malformed_http_is_refused_like_everything_else(tmp_path):
    requests = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"nonsense\r\n\r\n",
        b"GET /health HTTP/9.9\r\n\r\n",
        b"GET http://[ HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /h\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost localhost\r\n\r\n",
        b"POST /cases HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /cases HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST /cases HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ]
    with serving(CASCADE, tmp_path / "a.sqlite") as service:
        for request in requests:
            ((status, headers, body),) = sent(service, request)
            assert status == 400
            assert headers["content-type"] == "application/json"
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["connection"] == "close"
            assert json.loads(body) == {"error": "The request is not valid HTTP."}
        assert service.get("/health")[0] == 200


def head(n_bytes, connection=b"close"):
    """Return the head of a request with so many bytes, the empty line included."""
    start = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: " + connection + b"\r\nX: "
    return start + b"y" * (n_bytes - len(start) - 4) + b"\r\n\r\n"


def test_a_head_may_have_as_many_bytes_as_allowed(tmp_path):
    said = {"error": "The head of a request must have at most 65,536 bytes, got more."}
    with serving(CASCADE, tmp_path / "a.sqlite") as service:
        assert [status for status, _, _ in sent(service, head(65_536))] == [200]
        for n_bytes in (65_537, 66_000, 100_000, 300_000):
            ((status, _, body),) = sent(service, head(n_bytes))
            assert (status, json.loads(body)) == (400, said)
        many = b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + b"Y: z\r\n" * 15_000 + b"\r\n"
        assert [status for status, _, _ in sent(service, many)] == [400]


def test_requests_in_one_stream_each_have_a_head_of_their_own(tmp_path):
    with serving(CASCADE, tmp_path / "a.sqlite") as service:
        before = head(30_000, b"keep-alive") * 4
        assert [status for status, _, _ in sent(service, before + head(30_000))] == [200] * 5
        answers = sent(service, head(200, b"keep-alive") + head(100_000) + head(200))
        assert [status for status, _, _ in answers] in ([400], [200, 400])


def test_a_head_that_never_ends_is_refused(tmp_path):
    with serving(CASCADE, tmp_path / "a.sqlite") as service:
        for line in (b"X: " + b"y" * 10**6, b"Y: z\r\n" * 10**5):
            with socket.create_connection(("127.0.0.1", service.port), timeout=20) as link:
                with contextlib.suppress(OSError):  # hangs up before it has all
                    link.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + line)
                with contextlib.suppress(OSError):
                    assert b" 200 " not in link.recv(100)
        long = {f"X-{i}": "y" * 1000 for i in range(50)}
        assert service.send("GET", "/health", None, long)[0] == 200
        assert service.send("GET", "/health", None, long)[0] == 200


def test_a_client_that_asks_too_often_is_told_to_wait(tmp_path):
    with serving(CASCADE, tmp_path / "a.sqlite", Settings(rate=3)) as service:
        answer = [service.send("GET", "/health") for _ in range(5)]
        assert [one[0] for one in answer[:3]] == [200] * 3
        assert answer[-1][0] == 429
        assert answer[-1][1]["Retry-After"] == "1"
        sentence = json.loads(answer[-1][2])["error"]
        assert sentence == "Too many requests: at most 3 a second. Wait 1 s."


def test_a_rate_is_kept_over_time_and_by_client():
    now = [0.0]
    limit = RateLimit(2, clock=lambda: now[0])
    assert [limit.wait("a") for _ in range(4)] == [0, 0, 0.5, 0.5]
    assert limit.wait("b") == 0
    now[0] = 0.5
    assert [limit.wait("a"), limit.wait("a")] == [0, 0.5]
    now[0] = 60.0
    assert [limit.wait("a") for _ in range(3)] == [0, 0, 0.5]
    assert [RateLimit(math.inf).wait("a") for _ in range(9)] == [0] * 9


def test_few_clients_are_remembered(monkeypatch):
    monkeypatch.setattr("emsco.app.service.limits._MAX_CLIENTS", 10)
    now = [0.0]
    limit = RateLimit(1, clock=lambda: now[0])
    for i in range(200):
        now[0] += 0.01
        limit.wait(f"10.0.0.{i}")
        assert len(limit._left) <= 10


def admitted(gatekeeper, address="127.0.0.1", public=False, **headers):
    given = {name.replace("_", "-").encode(): text.encode() for name, text in headers.items()}
    try:
        gatekeeper.admit(address, given, public)
    except RefusalError as error:
        return error.status
    return 200


def test_a_token_guards_data_but_not_pages(tmp_path):
    with serving(CASCADE, tmp_path / "a.sqlite", Settings(token=TOKEN)) as service:
        for path in ("/", "/docs", "/openapi.json", "/health", "/play.js", "/service.css"):
            assert service.send("GET", path)[0] == 200
        for path in ("/cascade", "/metrics", "/cases/x"):
            status, headers, answer = service.send("GET", path)
            assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
            assert TOKEN not in answer.decode()
        service.headers = {"Authorization": f"Bearer {TOKEN}"}
        assert service.get("/cascade")[0] == 200
        service.headers = {"Authorization": f"Bearer {TOKEN}x"}
        assert "got another one." in service.get("/cascade")[1]["error"]


def test_without_a_token_no_web_page_can_reach_the_service_by_a_name():
    gatekeeper = Gatekeeper(Settings(), "triage.local")
    for host in ("127.0.0.1:8000", "localhost:1", "[::1]:8000", "10.1.2.3", "", "Triage.local:80"):
        assert admitted(gatekeeper, host=host) == 200
    for host in ("evil.example", "evil.example:8000", "127.0.0.1.evil.example", "a b"):
        assert admitted(gatekeeper, host=host) == 421
    named = Gatekeeper(Settings(token=TOKEN))
    assert admitted(named, host="any.example", authorization=f"Bearer {TOKEN}") == 200


def test_behind_a_proxy_clients_are_those_that_it_names():
    behind = Gatekeeper(Settings(rate=1, behind_proxy=True))
    spoofed = "9.9.9.9, 10.0.0.1"
    assert admitted(behind, x_forwarded_for=spoofed) == 200
    assert admitted(behind, x_forwarded_for="8.8.8.8, 10.0.0.1") == 429
    assert admitted(behind, x_forwarded_for="10.0.0.2") == 200
    # A port does not make another client, nor do IPv4 clients share one that is written as IPv6.
    assert admitted(behind, x_forwarded_for="10.0.0.2:50123") == 429
    assert admitted(behind, x_forwarded_for="::ffff:10.0.0.3") == 200
    assert admitted(behind, x_forwarded_for="::ffff:10.0.0.4") == 200
    assert admitted(behind, x_forwarded_for="10.0.0.4") == 429
    assert admitted(behind, x_forwarded_for="[2001:db8::1]:50123") == 200
    assert admitted(behind, x_forwarded_for="2001:db8::2") == 429
    direct = Gatekeeper(Settings(rate=1))
    assert admitted(direct, x_forwarded_for="10.0.0.1") == 200
    assert admitted(direct, x_forwarded_for="10.0.0.2") == 429
    assert admitted(direct, "2001:db8::1") == 200
    assert admitted(direct, "2001:db8::ffff") == 429


@pytest.mark.parametrize(
    "settings",
    [
        {"rate": 0},
        {"max_body": 10},
        {"max_rows": 0},
        {"retain": -1},
        {"token": "short"},
        {"token": "x" * 20 + " "},
    ],
)
def test_settings_that_no_service_can_keep_are_refused(settings):
    with pytest.raises(ParameterError):
        Settings(**settings)


def test_other_machines_are_let_in_with_a_token_only():
    for host in ("127.0.0.1", "::1", "localhost", "127.8.8.8"):
        check_host(host, has_token=False, allowed=False)
    for host in ("0.0.0.0", "::", "192.168.0.9", "triage.local", ""):
        with pytest.raises(ParameterError):
            check_host(host, has_token=False, allowed=False)
        check_host(host, has_token=True, allowed=False)
        check_host(host, has_token=False, allowed=True)
