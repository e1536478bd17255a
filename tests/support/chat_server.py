"""A chat server that speaks the OpenAI protocol, with models that behave and some that do not."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import contextmanager, suppress

from emsco.paid_features.practice import MODELS, PracticeHandler, PracticeServer, completion

SECRET = "sk-a-key-that-nobody-may-see"


@contextmanager
def chat_server():
    """Run the server; yield its address and a counter of requests by model."""
    asked = Counter()

    class Handler(PracticeHandler):
        def do_POST(self):  # noqa: N802
            body = self.body()
            model = body["model"]
            asked[model] += 1
            if self.headers["Authorization"] != f"Bearer {SECRET}":
                return self.reply(401, {"error": {"message": "wrong key"}})
            good = completion(body, MODELS.get(model, 0.2))
            if model == "busy" and asked[model] % 2:
                return self.reply(429, {"error": {"message": "too many requests"}})
            if model == "slow":
                time.sleep(0.5)
            if model == "other":
                for word in good["choices"][0]["logprobs"]["content"][0]["top_logprobs"]:
                    word["token"] = "Sorry"
            if model == "changed" and asked[model] > 2:
                good["model"] = "changed-2026-11-18"
            if model == "free":
                del good["usage"]
            answers = {
                "dead": (503, {"error": {"message": "overloaded"}}),
                "echo": (400, {"error": {"message": f"bad: {self.headers['Authorization']}"}}),
                "garbage": (200, {"hello": self.headers["Authorization"]}),
                "moved": (302, {}),
            }
            with suppress(ConnectionError):  # nobody waits for the slow one
                self.reply(*answers.get(model, (200, good)))
            return None

    with PracticeServer(Handler) as server:
        yield server.url, asked
