"""Models and services as features: answers, prices, failures, the bill, and no keys anywhere."""

import asyncio
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from support.chat_server import SECRET, chat_server

from emsco import (
    AnswerError,
    DataWarning,
    EMSCOClassifier,
    ParameterError,
)
from emsco.paid_features import Answer, PaidFeature, PaidFeatures, Price, cascade_of
from emsco.paid_features.answers import values_of
from emsco.paid_features.practice import LABELS, practice_tickets

TEXTS, TRUTH = practice_tickets(220)
NEW = TEXTS[180:]
FAST = {"estimator": "logistic", "cv": 1 / 3, "random_state": 0}
DOLLARS = {"small": 0.15, "large": 5.0}  # for a million tokens


@pytest.fixture(scope="module")
def server():
    with chat_server() as found:
        yield found


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("PRACTICE", SECRET)


def chat(url, name, model=None, **settings):
    given = {"price": Price(per_million_in=DOLLARS.get(name, 1.0)), "pause": 0.0, **settings}
    return PaidFeature.chat(
        name, model or name, "Whose?\n{input}", labels=LABELS, url=url, key_env="PRACTICE", **given
    )


def both(url, large="large", large_settings=None, **settings):
    names = {"small": {}, "large": {"model": large, **(large_settings or {})}}
    return PaidFeatures([chat(url, name, **more) for name, more in names.items()], **settings)


@pytest.fixture(scope="module")
def fitted(server):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PRACTICE", SECRET)
        answers = both(server[0], per_rows=1000).collect(TEXTS[:180])
    clf = EMSCOClassifier(answers.costs, always_answer=True, gaps="refuse", **FAST)
    return first_small_then_large(clf.fit(answers.table, TRUTH[:180]))


def first_small_then_large(clf):
    """Deploy a design with both."""
    chains = [point for point in clf.front_ if point.design.buys == (("small",), ("large",))]
    return clf.choose(chains[len(chains) // 2])


def reasons(decisions):
    return {why for why in decisions.reasons if "acquired" in why}


def test_a_row_asks_only_what_it_needs_and_pays_what_the_bill_says(server, fitted):
    url, asked = server
    before = asked.copy()
    services = both(url, per_rows=1000)
    decisions = services.run(fitted.cascade_, NEW)
    calls = {use.feature: use.calls for use in services.bill.uses}
    assert calls == {name: asked[name] - before[name] for name in calls}
    assert min(calls.values()) < len(NEW)
    assert decisions.cost.sum() == pytest.approx(1000 * services.bill.total)
    soon = asyncio.run(services.arun(fitted.cascade_, NEW))
    assert soon.guesses.tolist() == decisions.guesses.tolist()
    assert soon.cost.tolist() == decisions.cost.tolist()
    assert {use.feature: use.calls for use in services.bill.uses} == calls  # all from the cache


def test_answers_are_bought_once_and_survive_a_crash(server, tmp_path):
    url, asked = server
    first = both(url, cache=tmp_path)
    table = first.collect(TEXTS[:20]).table
    path = tmp_path / "answers.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + lines[-1][:30])  # killed while it wrote
    before = asked.total()
    second = both(url, cache=tmp_path)
    assert second.estimate(TEXTS[:20]).calls == 1
    assert second.collect(TEXTS[:20]).table.equals(table)
    assert asked.total() - before == 1
    third = both(url, cache=tmp_path).estimate(TEXTS[:20] * 2)
    assert (third.calls, third.total) == (0, 0)
    content = path.read_text()
    assert len(content.splitlines()) == 41  # with the torn one
    assert SECRET not in content
    assert TEXTS[0] not in content


def test_a_dry_run_says_what_is_spent_and_the_limit_holds_before_a_call(server, fitted):
    url, asked = server
    before = asked.total()
    services = both(url, spending_limit=0.001)
    estimate = services.estimate(TEXTS)
    assert estimate.calls == 2 * len(TEXTS)
    assert "large: 220 calls for about 0." in str(estimate)
    with pytest.raises(AnswerError):
        services.collect(TEXTS)
    assert asked.total() == before
    with pytest.warns(UserWarning, match="could not be acquired"):
        decisions = services.run(fitted.cascade_, TEXTS)
    assert 0 < services.bill.total <= 0.001
    assert "the spending limit of 0.001 is reached" in reasons(decisions).pop()


@pytest.mark.parametrize(
    ("model", "settings", "sentence"),
    [
        ("garbage", {}, "the answer must be a chat completion with logprobs, got {'hello'"),
        ("other", {}, "the answer must have log-probabilities of ABC, got ones of ['Sorry'"),
        ("dead", {}, "the service refused the call (503: overloaded)"),
        ("slow", {"timeout": 0.05}, "no answer within 0.05 s"),
        ("free", {}, "the answer must say what it used (usage, tokens), got nothing"),
        ("moved", {}, "the service refused the call (302: {})"),
        ("echo", {}, "the service refused the call (400: bad: Bearer ***)"),
    ],
)
def test_a_service_that_fails_rejects_its_rows_alone(server, fitted, model, settings, sentence):
    url, asked = server
    before = asked[model]
    services = both(url, large=model, large_settings={"retries": 1, **settings}, per_rows=1000)
    with pytest.warns(UserWarning, match="could not be acquired"):
        decisions = services.run(fitted.cascade_, NEW)
    failed = ~decisions.accepted
    assert 0 < failed.sum() < len(NEW)
    assert {f"could not be acquired: 'large': {sentence}"} >= {
        why[: len(f"could not be acquired: 'large': {sentence}")] for why in reasons(decisions)
    }
    attempts = 1 if model in ("free", "moved", "echo") else 2  # some failures cannot pass
    assert asked[model] - before == attempts * failed.sum()
    assert SECRET not in str([*decisions.reasons, services.bill, services, services.features])


def test_a_busy_service_is_asked_again(server):
    services = PaidFeatures([chat(server[0], "busy", concurrency=1)])
    assert services.collect(TEXTS[:3]).failures == {}
    assert services.bill.uses[0].failed == 3


def test_a_cascade_that_allows_gaps_goes_on_without_the_service(server):
    answers = both(server[0]).collect(TEXTS[:180])
    clf = EMSCOClassifier(answers.costs, always_answer=True, gaps="impute", **FAST)
    cascade = first_small_then_large(clf.fit(answers.table, TRUTH[:180])).cascade_
    decisions = both(server[0], "dead", {"retries": 0}).run(cascade, NEW)
    assert decisions.accepted.all()


def test_collecting_stops_where_it_cannot_succeed(server, fitted, monkeypatch):
    url, asked = server
    before = asked["dead"]
    with pytest.raises(AnswerError):
        PaidFeatures([chat(url, "dead", retries=0, concurrency=1)]).collect(TEXTS)
    assert asked["dead"] - before < 20
    monkeypatch.setenv("PRACTICE", "another-key")
    with pytest.raises(AnswerError):
        both(url).collect(TEXTS)
    monkeypatch.delenv("PRACTICE")
    with pytest.raises(AnswerError):
        both(url).collect(TEXTS)
    with pytest.raises(AnswerError):
        both(url).run(fitted.cascade_, NEW)
    monkeypatch.setenv("PRACTICE", "two\nlines")
    with pytest.raises(AnswerError):
        both(url).collect(TEXTS)


def test_a_row_without_an_answer_is_named_and_can_be_left_out(monkeypatch):
    monkeypatch.setenv("MOODY_API_KEY", SECRET)

    def moody(text):
        if text == "b":
            raise ValueError(f"no {SECRET}")
        return {"yes": 0.9, "no": 0.1}

    services = PaidFeatures([PaidFeature("moody", moody, labels=["yes", "no"], price=1, retries=0)])
    with pytest.warns(DataWarning, match="'moody'"):
        collected = services.collect(["a", "b", "c"])
    assert collected.failures == {1: "'moody': ValueError: no ***."}
    table, labels = collected.complete(["x", "y", "z"])
    assert (table.num_rows, labels) == (2, ["x", "z"])


def test_a_call_that_costs_more_than_declared_is_counted_and_warned_of():
    reported = Price(reported=True, per_call=0.01)
    dear = PaidFeature(
        "dear", lambda _: Answer(0.5, price=0.04), returns="score", price=reported, max_price=0.01
    )
    services = PaidFeatures([dear])
    with pytest.warns(DataWarning, match="'dear'"):
        table = services.collect([1, 2]).table
    assert table["dear price"].to_pylist() == [0.04, 0.04]
    assert str(services.bill).startswith("2 calls for 0.08")
    assert services.estimate([3]).total == 0.04  # as the calls so far


def test_a_model_that_the_vendor_changes_is_named(server):
    services = PaidFeatures([chat(server[0], "changed", concurrency=1)])
    with pytest.warns(DataWarning, match="'changed'"):
        services.collect(TEXTS[:3])


def test_a_prompt_may_be_a_list_of_messages():
    def prompt(text):
        return [{"role": "system", "content": "Be short."}, {"role": "user", "content": text}]

    feature = PaidFeature.chat("small", "small", prompt, labels=["a", "b"])
    system, user = feature.ask.request("{input}?")["messages"]
    assert system["content"] == "Be short."
    assert user["content"].startswith("{input}?\n\nAnswer with one letter")


def test_a_label_may_be_asked_for_as_text(server):
    said = PaidFeatures([chat(server[0], "large", returns="label")]).collect(TEXTS[:40]).table
    assert np.mean(np.array(said["large"].to_pylist()) == TRUTH[:40]) > 0.8


@pytest.mark.parametrize(
    ("returns", "value", "columns"),
    [
        ("probabilities", {"yes": 0.2, "no": 0.8}, [math.log(0.2), math.log(0.8)]),
        ("probabilities", [1.0, 0.0], [0.0, math.log(1e-6)]),
        ("log-probabilities", {"no": -0.01}, [math.log(1 - math.exp(-0.01)), -0.01]),
        ("scores", np.array([3.0, -1.0]), [3.0, -1.0]),
        ("score", " 87 ", [87.0]),
        ("label", "The answer is **Yes**.", ["yes"]),
    ],
)
def test_an_answer_becomes_columns(returns, value, columns):
    assert values_of(value, returns, ["yes", "no"]) == pytest.approx(columns)


@pytest.mark.parametrize(
    ("returns", "value"),
    [
        ("probabilities", {"yes": 0.9, "no": 0.9}),
        ("probabilities", {"cat": 0.9, "dog": 0.1}),
        ("probabilities", [0.2, 0.3, 0.5]),
        ("probabilities", [math.nan, 1]),
        ("probabilities", None),
        ("log-probabilities", {"yes": 3.0}),
        ("score", "I would say so"),
        ("label", "yes or no"),
    ],
)
def test_another_answer_is_refused_in_one_sentence(returns, value):
    with pytest.raises(AnswerError):
        values_of(value, returns, ["yes", "no"])


def test_a_list_of_models_becomes_a_cascade():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 4))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] > 0, "in", "out")
    calls = []

    class Counting(RandomForestClassifier):
        def predict_proba(self, X):
            calls.append(len(X))
            return super().predict_proba(X)

    small = LogisticRegression().fit(X[:200], y[:200])
    large = Counting(n_estimators=30, random_state=0).fit(X[:200], y[:200])
    chain = cascade_of([small, large], X[200:500], y[200:500], prices=[1, 50], **FAST)
    chain.classifier.choose(max_cost=30)
    calls.clear()
    decisions = chain.decide(pd.DataFrame(X[500:]).to_numpy())
    assert sum(calls) == (decisions.cost > 1).sum() < 200
    assert chain.evaluate(X[500:], y[500:]).cost == pytest.approx(decisions.cost.mean())
    assert chain.predict(X[500:]).tolist() == decisions.guesses.tolist()
    measured = cascade_of({"l": large, "s": small}, X[200:500], y[200:500], **FAST)
    assert measured.prices["l"] > measured.prices["s"] > 0
    tree = DecisionTreeClassifier().fit(X[200:500], y[200:500])
    with pytest.warns(DataWarning, match="'tree'"):
        cascade_of({"tree": tree}, X[200:500], y[200:500], prices=[1], **FAST)
    with pytest.raises(ParameterError, match="'latency'"):
        cascade_of([small], X, y, prices={"large": 1})
    with pytest.raises(ParameterError):
        cascade_of([small], X, y[:500], prices=[1])
    with pytest.raises(ParameterError, match="'LogisticRegression'"):
        cascade_of([small], X, X[:, 0] > 0)
