"""Services for tests: in a thread of this process, asked over a real socket."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from contextlib import contextmanager
from pathlib import Path

from emsco.app.service import Settings
from emsco.app.service.cases import CaseService
from emsco.app.service.server import make_server
from emsco.app.service.store import CaseStore

JSON = {"Content-Type": "application/json"}


class Client:
    """Asks a service, a connection for each request."""

    def __init__(self, port, headers=()):
        self.port, self.headers = port, dict(headers)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def send(self, method, path, content=None, headers=()):
        """Send bytes; return status, headers and bytes."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, content, {**self.headers, **dict(headers)})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def ask(self, method, path, body=None):
        """Send JSON; return status and values."""
        content = None if body is None else json.dumps(body).encode()
        headers = {} if body is None else JSON
        status, _, answer = self.send(method, path, content, headers)
        return status, json.loads(answer)

    def post(self, path, body=None):
        return self.ask("POST", path, {} if body is None else body)

    def get(self, path):
        return self.ask("GET", path)

    def samples(self):
        """The metrics, by name."""
        text = self.send("GET", "/metrics")[2].decode()
        lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
        return {name: float(number) for name, _, number in lines}


@contextmanager
def serving(cascade, database: Path, settings=None, headers=()):
    """Serve a cascade while the block runs."""
    listening = socket.create_server(("127.0.0.1", 0))
    store = CaseStore(database, cascade.stages.identity)
    service = CaseService(cascade, store, settings or Settings())
    server = make_server(service, "127.0.0.1")
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    client = Client(listening.getsockname()[1], headers)
    client.service = service
    try:
        yield client
    finally:
        server.should_exit = True
        thread.join(20)
        listening.close()
    assert not thread.is_alive()
