"""Practise without a key: made-up tickets, and chat models on this machine that read them.

The server speaks the OpenAI protocol. Its models are no language models: each counts words that
tell a department, and is more or less off, always by the same amount for the same text.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from emsco._base.typing import FloatArray

__all__ = ["LABELS", "MODELS", "PracticeServer", "practice_tickets"]

_WORDS = {
    "billing": "invoice refund charged card payment receipt",
    "delivery": "parcel courier shipped address late tracking",
    "account": "password login email profile locked username",
}
_FILLERS = "hello please I have been waiting since monday and would like help with this thanks"
_VAGUE = 0.1  # share of the tickets that are hard to tell
LABELS = tuple(_WORDS)
MODELS = {"small": 1.0, "medium": 0.7, "large": 0.2}  # by how much each is off


def practice_tickets(n_rows: int, random_state: int = 0) -> tuple[list[str], list[str]]:
    """Return texts of tickets and the department that each belongs to.

    Examples
    --------
    >>> texts, labels = practice_tickets(2)
    >>> len(texts), set(labels) <= set(LABELS)
    (2, True)
    """
    rng = np.random.default_rng(random_state)
    texts, labels = [], []
    for _ in range(n_rows):
        label, other = rng.permutation(LABELS)[:2].tolist()
        telling = rng.integers(1, 3) if rng.random() < _VAGUE else rng.integers(3, 6)
        words = [
            *rng.choice(_WORDS[label].split(), size=telling),
            *rng.choice(_WORDS[other].split(), size=rng.integers(0, 3)),
            *rng.choice(_FILLERS.split(), size=rng.integers(5, 60)),
        ]
        texts.append(" ".join(map(str, rng.permutation(words))))
        labels.append(label)
    return texts, labels


class PracticeServer(ThreadingHTTPServer):
    """A chat server on this machine, from when it is made until it is closed.

    Its address, for `PaidFeature.chat`, is `url`. It takes any key, or none. Its models are
    "small", "medium" and "large".
    """

    daemon_threads = True
    request_queue_size = 128  # of the standard 5, some are turned away

    def __init__(self, handler: type[BaseHTTPRequestHandler] | None = None) -> None:
        super().__init__(("127.0.0.1", 0), handler or PracticeHandler)
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        """Stop answering."""
        self.shutdown()
        self.server_close()

    def __exit__(self, *_: object) -> None:
        """Close it at the end of a block."""
        self.close()


class PracticeHandler(BaseHTTPRequestHandler):
    """Answers chat completions with the log-probabilities of letters."""

    def do_POST(self) -> None:
        """Answer one request."""
        body = self.body()
        if body["model"] not in MODELS:
            return self.reply(404, {"error": {"message": f"no model {body['model']!r}"}})
        return self.reply(200, completion(body, MODELS[body["model"]]))

    def body(self) -> Any:
        """Return the values of the request."""
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def reply(self, state: int, values: Any) -> None:
        """Send JSON."""
        content = json.dumps(values).encode()
        self.send_response(state)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Keep quiet."""


def completion(body: dict[str, Any], noise: float) -> dict[str, Any]:
    """Return a chat completion for a request, off by about `noise` words."""
    text = body["messages"][-1]["content"]
    letters = re.findall(r"^([A-Z]): (.+)$", text, flags=re.MULTILINE)
    choices = letters or [(label, label) for label in LABELS]
    question = text.split("\n\nAnswer with ")[0]
    chances = _log_probabilities(question, [label for _, label in choices], body["model"], noise)
    ranked = sorted(zip(choices, chances.tolist(), strict=True), key=lambda one: -one[1])
    words = [{"token": letter, "logprob": chance} for (letter, _), chance in ranked]
    first = {**words[0], "top_logprobs": words}
    content = words[0]["token"]
    return {
        "object": "chat.completion",
        "model": body["model"],
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": content},
                "logprobs": {"content": [first]} if body.get("logprobs") else None,
            }
        ],
        "usage": {"prompt_tokens": len(text) // 4, "completion_tokens": 1},
    }


def _log_probabilities(text: str, labels: list[str], model: str, noise: float) -> FloatArray:
    said = text.split()
    counts = [sum(said.count(word) for word in _WORDS.get(one, "").split()) for one in labels]
    seed = hashlib.sha256(f"{model} {text}".encode()).digest()
    rng = np.random.default_rng(int.from_bytes(seed[:8]))
    logits = 2 * (np.array(counts) + noise * rng.normal(size=len(labels)))
    chances: FloatArray = logits - np.logaddexp.reduce(logits)
    return chances
