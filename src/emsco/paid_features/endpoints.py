"""Chat models: over HTTP at any OpenAI-compatible address, or through LiteLLM."""

from __future__ import annotations

import http.client
import json
import math
import os
import re
import string
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from emsco._base.checks import check_whole
from emsco._base.text import brief, first_line, shorten
from emsco.errors import AnswerError, ParameterError, not_installed
from emsco.paid_features.answers import Answer

LITELLM = "litellm"
LETTERS = string.ascii_uppercase[:20]  # endpoints list 20 words at most with their probabilities

_MOST_BYTES = 10 * 2**20  # of an answer
_PASSING = (408, 409, 425, 429)  # states of HTTP that may pass; so may all from 500
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_LEAST_SECRET = 6  # characters; shorter values of such variables are no keys


class CallError(AnswerError):
    """A call failed.

    Attributes
    ----------
    may_pass : bool
        Whether another attempt could succeed.
    is_hopeless : bool
        Whether no other row would fare better: a wrong key, an unknown model.
    wait : float
        Seconds that the service asks to wait.
    used : Answer or None
        What the call used all the same, if the service did answer.
    """

    def __init__(
        self,
        message: str,
        *,
        may_pass: bool = True,
        is_hopeless: bool = False,
        wait: float = 0.0,
        used: Answer | None = None,
    ) -> None:
        super().__init__(message)
        self.may_pass, self.is_hopeless = may_pass, is_hopeless
        self.wait, self.used = wait, used


@dataclass(frozen=True, slots=True)
class ChatEndpoint:
    """A chat model that gets one message and answers with a label, a text or a number.

    See `PaidFeature.chat` for the attributes. The key is read from the environment for each call
    and kept nowhere.
    """

    model: str
    prompt: str | Callable[[Any], Any]
    url: str
    key_env: str | None
    labels: tuple[Any, ...]
    returns: str
    max_tokens: int
    timeout: float
    options: Mapping[str, Any]
    parse: Callable[[str], Any] | None

    def __post_init__(self) -> None:
        """Check what can be wrong before the first call."""
        check_whole("max_tokens", self.max_tokens, 1)
        if not callable(self.prompt) and "{input}" not in str(self.prompt):
            raise ParameterError(
                f"prompt must contain {{input}}, which stands for the row, got {self.prompt!r}."
            )
        if self.asks_letters and len(self.labels) > len(LETTERS):
            raise ParameterError(
                f"labels must be {len(LETTERS)} at most for log-probabilities, got "
                f"{len(self.labels)}; returns='label' takes any number."
            )
        # The value is not shown: it may be the key itself.
        if self.key_env is not None and not re.fullmatch(r"[A-Z][A-Z0-9_]*", str(self.key_env)):
            raise ParameterError(
                "key_env must be the name of an environment variable, in capitals, that holds the "
                "key, got something else."
            )
        if kept := [name for name in self.options if re.search("key|header", str(name), re.I)]:
            raise ParameterError(
                f"options must hold no keys or headers, got {kept[0]!r}; use key_env."
            )
        if self.url == LITELLM:
            return
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ParameterError(
                "url must begin with https:// or http://, or be 'litellm', got something else."
            )
        if parts.username or parts.password or parts.query:
            raise ParameterError("url must hold no user, password or query, got one; use key_env.")

    @property
    def asks_letters(self) -> bool:
        """Whether the model chooses a label by its letter, whose probability is read."""
        return self.returns == "log-probabilities" and self.parse is None

    def check_ready(self) -> None:
        """Refuse to begin without a key, or without LiteLLM where it is asked for."""
        if self.url == LITELLM:
            _litellm()
        elif self.key_env is not None and not re.fullmatch(r"[!-~]+", self._key()):
            got = "characters that no key has" if self._key() else "nothing"
            raise CallError(
                f"the environment variable {self.key_env} must hold the key for {self.url}, got "
                f"{got}.",
                may_pass=False,
                is_hopeless=True,
            )

    def _key(self) -> str:
        return os.environ.get(self.key_env or "", "").strip()

    def request(self, one: Any) -> dict[str, Any]:
        """Return the body of the request for one row."""
        if callable(self.prompt):
            given = self.prompt(one)
        else:
            given = self.prompt.replace("{input}", str(one))
        messages = [{"role": "user", "content": given}] if isinstance(given, str) else list(given)
        body = {"model": self.model, "temperature": 0, "max_tokens": self.max_tokens}
        asked = ""
        if self.asks_letters:
            choices = [f"{a}: {label}" for a, label in zip(LETTERS, self.labels, strict=False)]
            asked = "\n\nAnswer with one letter and nothing else.\n" + "\n".join(choices)
            body |= {"max_tokens": 1, "logprobs": True, "top_logprobs": 20}
        elif self.returns == "label" and self.parse is None:
            choices = [str(label) for label in self.labels]
            asked = f"\n\nAnswer with one of these and nothing else: {', '.join(choices)}"
        if asked:
            messages[-1] = {**messages[-1], "content": messages[-1]["content"] + asked}
        body |= {"messages": messages, **self.options}
        return {name: value for name, value in body.items() if value is not None}

    def __call__(self, one: Any) -> Answer:
        """Ask about one row."""
        self.check_ready()
        body = self.request(one)
        answer = self._litellm(body) if self.url == LITELLM else self._http(body)
        used = Answer(None)
        try:
            usage = answer.get("usage") or {}
            used = Answer(
                None,
                tokens_in=int(usage.get("prompt_tokens") or 0),
                tokens_out=int(usage.get("completion_tokens") or 0),
                model=str(answer.get("model") or ""),
            )
            choice = answer["choices"][0]
            if self.asks_letters:
                return replace(used, value=self._log_probabilities(choice, used))
            text = str(choice["message"]["content"])
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            rule = "be a chat completion" + (" with logprobs" if self.asks_letters else "")
            raise CallError(f"the answer must {rule}, got {brief(answer)}.", used=used) from None
        try:
            return replace(used, value=text if self.parse is None else self.parse(text))
        except Exception as error:  # the user's function may raise anything
            why = f"{brief(text)} ({type(error).__name__}: {first_line(error)})"
            raise CallError(
                f"the answer must be one that parse reads, got {why}.", used=used
            ) from None

    def _log_probabilities(self, choice: Any, used: Answer) -> dict[str, float]:
        """Return the log-probabilities of the labels whose letters are among the likeliest."""
        first = choice["logprobs"]["content"][0]
        label_of = dict(zip(LETTERS, map(str, self.labels), strict=False))
        found: dict[str, float] = {}
        for word in first["top_logprobs"] or [first]:
            label = label_of.get(word["token"].strip().upper())
            number = float(word["logprob"])
            if label is not None and math.isfinite(number):
                # "A", " A" and "a" are the same answer.
                found[label] = float(np.logaddexp(found.get(label, -math.inf), number))
        if not found:
            words = [word["token"] for word in first["top_logprobs"] or [first]]
            rule = f"have log-probabilities of {LETTERS[: len(self.labels)]}"
            raise CallError(f"the answer must {rule}, got ones of {brief(words)}.", used=used)
        # Sums of rounded probabilities may pass 1.
        return {label: min(number, 0.0) for label, number in found.items()}

    def _http(self, body: dict[str, Any]) -> Any:
        headers = {"Content-Type": "application/json", "User-Agent": "emsco"}
        if self.key_env is not None:
            headers["Authorization"] = f"Bearer {self._key()}"
        address = f"{self.url.rstrip('/')}/chat/completions"
        request = urllib.request.Request(address, json.dumps(body).encode(), headers)
        try:
            with _OPENER.open(request, timeout=self.timeout) as response:
                content = response.read(_MOST_BYTES)
        except urllib.error.HTTPError as error:
            raise self._refusal(error) from None
        # No connection, a broken one, or an answer that is no HTTP.
        except (OSError, ValueError, http.client.HTTPException) as error:
            cause = getattr(error, "reason", error)
            if isinstance(cause, TimeoutError):
                raise CallError(f"no answer within {self.timeout:g} s.") from None
            why = without_keys(
                first_line(cause) if isinstance(cause, Exception) else cause, self.key_env
            )
            raise CallError(f"{self.url} cannot be reached ({why}).") from None
        text = without_keys(content.decode(errors="replace"), self.key_env)
        try:
            return json.loads(text)
        except (RecursionError, ValueError):
            raise CallError(
                f"the answer must be JSON, got {brief(text)}.", used=Answer(None)
            ) from None

    def _litellm(self, body: dict[str, Any]) -> Any:
        try:
            answer = _litellm().completion(**body, timeout=self.timeout, num_retries=0)
        except Exception as error:  # each vendor has errors of its own
            state = getattr(error, "status_code", None)
            raise _failed(state, without_keys(first_line(error), self.key_env), 0.0) from None
        return json.loads(without_keys(json.dumps(answer.model_dump(), default=str), self.key_env))

    def _refusal(self, error: urllib.error.HTTPError) -> CallError:
        """Return the error for an answer with a state of HTTP from 300 on."""
        said = ""
        with suppress(OSError):
            said = without_keys(error.read(10_000).decode(errors="replace"), self.key_env)
        with suppress(KeyError, TypeError, ValueError):
            said = str(json.loads(said)["error"]["message"])
        wait = 0.0
        with suppress(ValueError):  # it may be a date
            wait = float(error.headers.get("Retry-After", 0))
        return _failed(error.code, said or str(error.reason), wait)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirection, which could take the key to another host."""

    def redirect_request(self, *_: Any) -> None:
        """Leave the answer as it is: an error."""


_OPENER = urllib.request.build_opener(_NoRedirect)


def _litellm() -> Any:
    try:
        import litellm
    except ImportError:
        raise not_installed("litellm", "'emsco[litellm]'") from None
    return litellm


def _failed(state: Any, said: str, wait: float) -> CallError:
    known = isinstance(state, int)
    code = f"{state}: " if known else ""
    return CallError(
        f"the service refused the call ({code}{shorten(said, 200)}).",
        may_pass=not known or state >= 500 or state in _PASSING,
        is_hopeless=state in (401, 403, 404),
        wait=wait if 0 <= wait <= 3600 else 0.0,
    )


def without_keys(text: str, key_env: str | None = None) -> str:
    """Return text in which the values of environment variables that hold keys are stars."""
    for name, value in os.environ.items():
        secret = value.strip()
        if len(secret) >= _LEAST_SECRET and (name == key_env or _SECRET.search(name)):
            text = text.replace(secret, "***")
    return text
