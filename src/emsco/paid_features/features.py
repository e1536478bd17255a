"""One paid feature: who is asked, what comes back, what it costs, and how failures are handled."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field, replace
from typing import Any, Self

from emsco._base.checks import check_choice, check_number, check_whole, is_number
from emsco._base.text import brief, first_line
from emsco.cascade.acquisition import Retries
from emsco.errors import AnswerError, DataError, ParameterError
from emsco.paid_features.answers import OF_LABELS, RETURNS, Answer, Price, values_of
from emsco.paid_features.endpoints import CallError, ChatEndpoint, without_keys

OPENAI = "https://api.openai.com/v1"


@dataclass(frozen=True, eq=False)
class PaidFeature:
    """A model or service whose answers are features, with what they cost.

    Parameters
    ----------
    name : str
    ask : callable
        Called with one input, in a thread. Returns the answer, or an `Answer` that also says what
        the call used. `chat` and `classifier` make it for you.
    returns : {"probabilities", "log-probabilities", "scores", "score", "label"}
        What an answer is. The first three are mappings of labels to numbers, or sequences in the
        order of `labels`; of log-probabilities, some may be missing. Each label has a column,
        called "name label". "score" is one number and "label" one of the labels, both a column
        called as the feature.
    labels : sequence
        The labels, where answers have them.
    price : float or Price
        What a call costs; a number is the price of every call.
    max_price : float, optional
        A call that costs more is counted at its price, and warned of. By default the price, if
        that is the same for every call.
    timeout : float
        Seconds after which an attempt counts as failed.
    retries : int
        Further attempts after one that failed, unless the service says that they are useless.
    pause : float
        Seconds before the first of them; each further pause is twice as long.
    max_per_minute : float, optional
        Most calls that begin in a minute.
    concurrency : int
        Most calls at a time.
    version : str
        Change it when the function gives other answers: cached ones then no longer count.

    Examples
    --------
    >>> def count_words(text):
    ...     return len(text.split())
    >>> words = PaidFeature("words", count_words, returns="score")
    >>> words.columns
    ('words',)
    >>> yes_no = PaidFeature("judge", print, labels=["yes", "no"], price=Price(per_second=0.002))
    >>> yes_no.columns
    ('judge yes', 'judge no')
    """

    name: str
    ask: Callable[[Any], Any]
    returns: str = "probabilities"
    labels: Sequence[Any] = ()
    price: float | Price = 0.0
    max_price: float | None = None
    timeout: float = 60.0
    retries: int = 2
    pause: float = 0.5
    max_per_minute: float | None = None
    concurrency: int = 8
    version: str = ""
    takes_many: bool = field(default=False, repr=False)  # `ask` gets all inputs at once
    pace: Pace = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check everything before anything is paid for."""
        if not isinstance(self.name, str) or not self.name.strip():
            raise ParameterError(f"name must be text that is not empty, got {self.name!r}.")
        if not callable(self.ask) or inspect.iscoroutinefunction(self.ask):
            raise ParameterError(
                "ask must be a plain function of one input; it runs in a thread, got "
                f"{brief(self.ask)}."
            )
        check_choice("returns", self.returns, RETURNS)
        if isinstance(self.labels, str) or not isinstance(self.labels, Sequence):
            raise ParameterError(f"labels must be a list of labels, got {brief(self.labels)}.")
        names = [str(label).casefold() for label in self.labels]
        if self.returns != "score" and (len(names) < 2 or len(set(names)) < len(names)):
            raise ParameterError(
                f"labels must be two or more different labels for {self.returns}, got "
                f"{brief(list(self.labels))}."
            )
        if not isinstance(self.price, Price):
            if not is_number(self.price):
                raise ParameterError(f"price must be a number or a Price, got {self.price!r}.")
            object.__setattr__(self, "price", Price(per_call=self.price))
        object.__setattr__(self, "labels", tuple(self.labels))
        check_number("timeout", self.timeout, 0, math.inf, "()")
        Retries(self.retries, self.pause)
        check_whole("concurrency", self.concurrency, 1)
        for name in ("max_price", "max_per_minute"):
            if (value := getattr(self, name)) is not None:
                check_number(name, value, 0, math.inf, "()")
        if self.max_price is None and self.pricing.is_fixed:
            object.__setattr__(self, "max_price", self.pricing.per_call)
        object.__setattr__(self, "pace", Pace(self.max_per_minute))

    @classmethod
    def chat(
        cls,
        name: str,
        model: str,
        prompt: str | Callable[[Any], Any],
        *,
        labels: Sequence[Any] = (),
        returns: str = "log-probabilities",
        url: str = OPENAI,
        key_env: str | None = "OPENAI_API_KEY",
        parse: Callable[[str], Any] | None = None,
        max_tokens: int = 20,
        options: Mapping[str, Any] | None = None,
        timeout: float = 60.0,
        **settings: Any,
    ) -> Self:
        """Ask a chat model at an OpenAI-compatible address.

        Parameters
        ----------
        name, labels, returns, timeout
            As for the class. For log-probabilities, the model is asked to choose among labels by
            letter, and the probabilities of the letters are read: one token for each call. For
            a label, the labels are listed below the prompt, and the text of the answer counts.
        model : str
        prompt : str or callable
            Text in which ``{input}`` stands for the row; or a function of the row that returns
            the text, or a list of messages such as ``{"role": "system", "content": "…"}``.
        url : str
            Address before ``/chat/completions``; or "litellm" for models of any vendor that
            LiteLLM knows by name (``pip install 'emsco[litellm]'``), with keys as LiteLLM reads
            them from the environment.
        key_env : str or None
            Environment variable that holds the key; None for a server without keys.
        parse : callable, optional
            Makes the value of the text of an answer, such as a number of a JSON text.
        max_tokens : int
            Most tokens that the model may write.
        options : mapping, optional
            Further fields of the request; None leaves one out that is there by default, such as
            ``{"temperature": None}``.
        **settings
            `price`, `max_price`, `retries` and so on, as for the class.
        """
        if returns == "log-probabilities" and parse is None:
            max_tokens = 1
        endpoint = ChatEndpoint(
            model=model,
            prompt=prompt,
            url=url,
            key_env=key_env,
            labels=tuple(labels),
            returns=returns,
            max_tokens=max_tokens,
            timeout=timeout,
            options=dict(options or {}),
            parse=parse,
        )
        return cls(name, endpoint, returns, labels, timeout=timeout, **settings)

    @classmethod
    def classifier(cls, name: str, model: Any, price: float | Price = 0.0) -> Self:
        """Ask a fitted classifier with `predict_proba`; its answers are not cached.

        A stage asks it for all rows at once.
        """
        if not hasattr(model, "predict_proba") or not hasattr(model, "classes_"):
            raise ParameterError(
                "model must be a fitted classifier with predict_proba and classes_, got "
                f"{brief(model)}."
            )
        labels = list(model.classes_)
        return cls(name, model.predict_proba, labels=labels, price=price, takes_many=True)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that answers become."""
        if self.returns in OF_LABELS:
            return tuple(f"{self.name} {label}" for label in self.labels)
        return (self.name,)

    @property
    def pricing(self) -> Price:
        """The price, also if it was given as a number."""
        assert isinstance(self.price, Price)  # a number became one
        return self.price

    def check_ready(self) -> None:
        """Refuse to begin without the key that the calls need."""
        if isinstance(self.ask, ChatEndpoint):
            self.ask.check_ready()

    def key(self, one: Any) -> str:
        """Return a digest of all that an answer depends on."""
        if isinstance(self.ask, ChatEndpoint):
            asked = {"url": self.ask.url, "request": self.ask.request(one)}
        else:
            asked = {"feature": self.name, "input": one}
        labels = [str(label) for label in self.labels]
        try:
            text = json.dumps([self.version, self.returns, labels, asked], default=_plain)
        except (TypeError, ValueError):
            raise DataError(
                "inputs must be text, numbers, lists or mappings of them, so that answers can be "
                f"remembered, got {brief(one)}."
            ) from None
        return hashlib.sha256(text.encode()).hexdigest()

    def expected_price(self, one: Any) -> float:
        """Return what a call about one input should cost."""
        if isinstance(self.ask, ChatEndpoint):
            messages = self.ask.request(one)["messages"]
            n_characters = sum(len(str(message["content"])) for message in messages)
            return self.pricing.expected(n_characters, self.ask.max_tokens)
        return self.pricing.expected(len(str(one)) if self.pricing.by_token else 0, 0)

    def call(self, one: Any) -> Answer:
        """Ask once and return values of columns; a failure is a `CallError` without keys."""
        begun = time.perf_counter()
        try:
            given = _within(self.timeout, self.ask, one)
            return self._answer(given, time.perf_counter() - begun)
        except Exception as error:  # the user's function may raise anything
            failure = _call_error(error)
            if failure.used is not None:
                failure.used = self._priced(failure.used, time.perf_counter() - begun)
            raise failure from None

    def call_many(self, inputs: Any, n_rows: int) -> list[Answer]:
        """Ask about many inputs at once; a failure is a `CallError`."""
        begun = time.perf_counter()
        try:
            answers = self.ask(inputs)
            if len(answers) != n_rows:
                raise CallError(f"{n_rows} answers must come back, got {len(answers)}.")
            seconds = (time.perf_counter() - begun) / max(n_rows, 1)
            return [self._answer(answer, seconds) for answer in answers]
        except Exception as error:  # a model may raise anything
            raise _call_error(error) from None

    def _answer(self, given: Any, seconds: float) -> Answer:
        """Return the values of columns and the price of what a function has returned."""
        answer = given if isinstance(given, Answer) else Answer(given)
        price = self.pricing
        is_known = not price.reported and (answer.tokens_in or not price.by_token)
        if answer.price is None and not is_known:
            what = "cost (Answer.price)" if price.reported else "used (usage, tokens)"
            raise CallError(f"the answer must say what it {what}, got nothing.", may_pass=False)
        try:
            values = values_of(answer.value, self.returns, self.labels)
        except AnswerError as error:
            raise CallError(str(error), used=answer) from None
        return self._priced(replace(answer, value=values), seconds)

    def _priced(self, answer: Answer, seconds: float) -> Answer:
        timed = replace(answer, seconds=seconds)
        return replace(timed, price=self.pricing.of(timed))


class Pace:
    """Lets calls begin at most so often."""

    def __init__(self, max_per_minute: float | None) -> None:
        self._gap = 0.0 if max_per_minute is None else 60 / max_per_minute
        self._next, self._lock = 0.0, threading.Lock()

    def wait(self) -> None:
        """Sleep until it is this caller's turn."""
        if not self._gap:
            return
        with self._lock:
            turn = max(self._next, time.monotonic())
            self._next = turn + self._gap
        time.sleep(max(0.0, turn - time.monotonic()))


def _call_error(error: Exception) -> CallError:
    if isinstance(error, CallError):
        return error
    return CallError(f"{type(error).__name__}: {without_keys(first_line(error))}.")


def _within(timeout: float, function: Callable[[Any], Any], one: Any) -> Any:
    """Call a function in a thread of its own, and give up on it after so many seconds."""
    future: Future[Any] = Future()

    def work() -> None:
        try:
            future.set_result(function(one))
        except BaseException as error:
            future.set_exception(error)

    # Nobody can end a thread from outside; as a daemon it does not keep the process alive.
    threading.Thread(target=work, daemon=True).start()
    if not wait([future], timeout).done:
        raise CallError(f"no answer within {timeout:g} s.")
    return future.result()


def _plain(value: Any) -> Any:
    """Return arrays and numbers of NumPy as plain values, for JSON."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError
