"""The service over a real socket: cases, batches, rows, and refusals in one sentence."""

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.handmade import (
    NAMES,
    make_cascade,
    make_protocol,
    make_rich_cascade,
    make_rich_rows,
    make_rows,
)
from support.services import JSON, serving

from emsco import FeatureCosts
from emsco.app.service import Settings

ROWS = make_rows(60)
RECORDS = [dict(zip(NAMES, row, strict=True)) for row in ROWS.tolist()]
CASCADE = make_cascade(classes=("ill", "well"))


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serving(CASCADE, tmp_path_factory.mktemp("service") / "cases.sqlite") as client:
        yield client


def play(service, row, **opening):
    """Open a case and feed it until it is decided; all answers."""
    status, case = service.post("/cases", opening)
    assert status == 201
    answers = [case]
    while case["needs"]:
        values = {name: row[name] for name in case["needs"]}
        status, case = service.post(f"/cases/{case['id']}/values", {"values": values})
        assert status == 200
        answers.append(case)
    return answers


def test_a_case_ends_as_the_cascade_decides(service):
    decisions = CASCADE.decide(ROWS)
    for i in range(12):
        *_, last = play(service, RECORDS[i])
        assert last["decided"] is True
        assert last["label"] == decisions.labels.tolist()[i]
        assert (last["stage"], last["cost"]) == (decisions.stage[i], decisions.cost[i])
        assert last["confidence"] == decisions.confidence[i]


def test_a_case_says_what_to_buy_and_what_it_costs(service):
    i = int(np.flatnonzero(CASCADE.decide(ROWS).stage == 3)[0])
    answers = play(service, RECORDS[i])
    assert [one["needs"] for one in answers] == [["age", "pulse"], ["scan"], ["biopsy"], []]
    assert [one["next_cost"] for one in answers] == [3.5, 10, 40, 0]
    assert [one["cost"] for one in answers] == [0, 3.5, 13.5, 53.5]
    assert answers[0]["reason"] == "waiting for age, pulse"
    assert answers[0]["confidence"] is None


def test_a_cascade_that_branches_is_described_and_played_with_its_paths(tmp_path):
    cascade = make_protocol()
    decisions = cascade.decide(ROWS)
    with serving(cascade, tmp_path / "cases.sqlite") as client:
        _, facts = client.get("/cascade")
        assert [one["before"] for one in facts["stages"]] == [None, 1, 2, 2, 2, 5, 1, 7]
        assert [one["cost"] for one in facts["stages"]] == [1, 2.5, 10, 0, 40, 10, 10, 2.5]
        assert facts["branches"][0] == {
            "after": 1,
            "ways": [{"when": "age ≤ 0.2", "stage": 2}, {"when": "age > 0.2", "stage": 7}],
            "if_missing": 2,
        }
        for i in range(20):
            first, *_, last = play(client, RECORDS[i])
            assert (first["path"], first["next_stage"]) == ([], 1)
            assert (last["stage"], last["cost"]) == (decisions.stage[i], decisions.cost[i])
            words = " → ".join(step.removeprefix("stage ") for step in last["path"])
            assert words == decisions.path[i]
            assert last["next_stage"] == 0
        n_rejected = int((~decisions.accepted[:20]).sum())
        assert n_rejected
        assert client.samples()['emsco_cases_rejected_total{reason="never sure"}'] == n_rejected


def test_an_opening_may_bring_the_first_values_an_id_and_a_budget(service):
    i = int(np.flatnonzero(CASCADE.decide(ROWS).stage == 3)[0])
    values = {name: RECORDS[i][name] for name in ("age", "pulse")}
    body = {"id": "patient-17", "budget": 12, "values": values}
    status, case = service.post("/cases", body)
    assert (status, case["id"], case["stage"]) == (201, "patient-17", 1)
    assert case["reason"] == "stage 2 would cost 13.5, past the budget of 12"
    status, again = service.post("/cases", body)
    assert (status, again["case"]) == (409, case)
    status, answer = service.get("/cases/patient-17")
    assert (status, answer["given"]) == (200, values)


def test_unusual_values_are_taken_with_a_warning(tmp_path):
    cascade = make_rich_cascade()
    with serving(cascade, tmp_path / "cases.sqlite") as service:
        status, case = service.post("/cases", {"values": {"age": 1.5, "ward": "ER"}})
        said = ["ward is 'ER'; in training it was one of 'A', 'B', 'ICU'."]
        assert (status, case["stage"], case["warnings"]) == (201, 1, said)
        assert service.get(f"/cases/{case['id']}")[1]["warnings"] == said


def test_values_that_come_twice_change_nothing(service):
    (opened, *_) = play(service, RECORDS[0])
    first = {name: RECORDS[0][name] for name in ("age", "pulse")}
    path = f"/cases/{opened['id']}"
    before = service.get(path)
    status, again = service.post(f"{path}/values", {"values": first})
    assert (status, again["decided"]) == (200, True)
    assert service.get(path) == before
    status, other = service.post(f"{path}/values", {"values": {"age": 99.0, "pulse": 1.0}})
    assert status == 409
    assert other["error"].startswith("The case is decided (")
    assert other["case"] == again


@pytest.mark.parametrize("value", [2**53 + 1, 10**30, 12345678901234567, 7, True, 0.1])
def test_any_number_may_be_given_twice(service, value):
    _, case = service.post("/cases", {"values": {"age": 0.1, "pulse": 0.2}})
    path = f"/cases/{case['id']}/values"
    answers = [service.post(path, {"values": {"scan": value}}) for _ in range(2)]
    assert answers[0] == answers[1]
    assert answers[0][0] == 200


@pytest.mark.parametrize("value", ["1e400", "1" + "0" * 400])
def test_a_number_past_all_floats_is_refused_in_any_column(tmp_path, value):
    cascade = make_rich_cascade(wards=("1", "2", "3"))
    with serving(cascade, tmp_path / "cases.sqlite") as service:
        _, case = service.post("/cases")
        body = f'{{"values": {{"age": 1.5, "ward": {value}}}}}'.encode()
        status, _, answer = service.send("POST", f"/cases/{case['id']}/values", body, JSON)
        assert status == 422
        assert json.loads(answer)["error"].startswith("'ward' must be ")
        assert service.get(f"/cases/{case['id']}")[1]["given"] == {}


def test_a_case_can_be_rejected_and_deleted(service):
    _, case = service.post("/cases")
    path = f"/cases/{case['id']}"
    status, said = service.post(f"{path}/reject", {"reason": "sample lost"})
    assert (status, said["accepted"], said["reason"]) == (200, False, "sample lost")
    assert service.post(f"{path}/reject", {"reason": "again"})[0] == 409
    assert service.ask("DELETE", path) == (200, {"id": case["id"], "deleted": True})
    assert service.get(path)[0] == service.ask("DELETE", path)[0] == 404


def test_batches_answer_each_case_on_its_own(service):
    _, answer = service.post("/batch/open", {"cases": [{"id": "b1"}, {"id": "b1"}, {"budget": -1}]})
    opened, twice, wrong = answer["cases"]
    assert (opened["needs"], twice["status"], wrong["status"]) == (["age", "pulse"], 409, 422)
    values = {name: RECORDS[0][name] for name in ("age", "pulse")}
    given = [{"id": "b1", "values": values}, {"id": "none", "values": {}}, {"values": values}]
    _, answer = service.post("/batch/values", {"cases": given})
    assert answer["cases"][0]["stage"] == 1
    assert [one.get("status") for one in answer["cases"]] == [None, 404, 422]


def test_rows_are_decided_together_and_bad_ones_alone(service):
    rows = [*RECORDS, {**RECORDS[0], "age": "old"}, {}, 7]
    status, answer = service.post("/decide", {"rows": rows})
    decisions = CASCADE.decide(ROWS)
    said = answer["decisions"]
    assert status == 200
    assert [one["label"] for one in said[:60]] == decisions.labels.tolist()
    assert [one["confidence"] for one in said[:60]] == decisions.confidence.tolist()
    assert [one["error"] for one in said[60:]] == [
        "'age' must be a number, got 'old'.",
        "values must have 'age', got nothing.",
        "each row must be an object of names and values.",
    ]
    unread = [{"age": 0.1, "pulse": 0.2, "name": "x"}]
    assert service.post("/decide", {"rows": unread, "budget": 5})[1]["decisions"][0]["stage"] == 1


REFUSED = [
    ("POST", "/cases", b"", 400, "The body is empty; send JSON."),
    ("POST", "/cases", b"{", 400, "The body is not valid JSON: Expecting property"),
    ("POST", "/cases", b"\xff", 400, "The body is not valid UTF-8."),
    ("POST", "/cases", b"[" * 90_000, 400, "The body is not valid JSON: nested too deeply."),
    ("POST", "/cases", b'{"id":"\\ud800"}', 400, "The body is not valid Unicode: half a"),
    ("POST", "/cases", b'{"id":1,"id":2}', 400, "The body is not valid JSON: an object has"),
    ("POST", "/cases", b'{"budget":NaN}', 400, "The body is not valid JSON: NaN is"),
    ("POST", "/cases", b"1" * 5000, 400, "The body is not valid JSON: Exceeds"),
    ("POST", "/cases", b"[]", 422, "a case must be a JSON object, got []."),
    ("POST", "/cases", b'{"code":1}', 422, "a case must have no fields but 'id', 'budget', "),
    ("POST", "/cases", b'{"id":"../x"}', 422, "id must be 1 to 64 letters, digits and ._-"),
    ("POST", "/cases", b'{"id":""}', 422, "id must be 1 to 64 letters"),
    ("POST", "/cases", b'{"budget":"5"}', 422, "budget must be a number in [0, inf], got '5'."),
    ("POST", "/cases", b'{"prices":{"age":1}}', 422, "prices must name features whose price"),
    ("POST", "/cases", b'{"spent":{}}', 422, "spent must come with values, got it alone."),
    ("POST", "/cases", b'{"values":3}', 422, "values must be a mapping of names to values"),
    ("POST", "/cases/x/values", b"{}", 422, "the body must have 'values', got none."),
    ("POST", "/cases/x/values", b'{"values":{}}', 404, "No case 'x'."),
    ("POST", "/cases/x/reject", b'{"reason":""}', 422, "reason must be text of 1 to 500"),
    ("POST", "/decide", b'{"rows":[]}', 422, "rows must be a list of 1 to 10,000 objects, got 0."),
    ("POST", "/decide", b'{"rows":3}', 422, "rows must be a list of 1 to 10,000 objects"),
    ("POST", "/decide", b'{"rows":[{}],"prices":{"a":[]}}', 422, "prices of 'a' must be one"),
    ("POST", "/batch/open", b'{"cases":{}}', 422, "cases must be a list of 1 to 10,000"),
    ("GET", "/cases/%00", None, 404, "No case "),
    ("GET", "/nothing", None, 404, "No route '/nothing'; see /docs."),
    ("PUT", "/cases", b"{}", 405, "'/cases' does not take PUT; see /docs."),
]


@pytest.mark.parametrize(("method", "path", "content", "status", "words"), REFUSED)
def test_what_cannot_be_used_is_refused_in_one_sentence(
    service, method, path, content, status, words
):
    got, headers, answer = service.send(method, path, content, JSON if content is not None else {})
    sentence = json.loads(answer)["error"]
    assert (got, sentence[: len(words)]) == (status, words)
    assert "\n" not in sentence
    assert len(sentence) < 400
    assert headers["Content-Type"] == "application/json"


def test_a_body_that_is_not_called_json_is_refused(service):
    """So that no form of another web page can send one."""
    status, _, answer = service.send("POST", "/cases", b"{}", {"Content-Type": "text/plain"})
    assert status == 415
    assert json.loads(answer)["error"] == "Content-Type must be application/json, got text/plain."
    assert service.send("POST", "/cases", b"")[0] == 415


def test_the_cascade_describes_itself(service):
    _, answer = service.get("/cascade")
    assert answer["fingerprint"] == CASCADE.stages.identity
    assert [one["cost_so_far"] for one in answer["stages"]] == CASCADE.stage_costs.tolist()
    assert answer["stages"][0]["thresholds"][0] == {"label": "ill", "confidence": 0.8}
    assert answer["columns"]["age"] == {"kind": "number", "categories": [], "range": None}
    assert (answer["run"], answer["target"], answer["unit"]) == (None, None, None)
    assert service.get("/health") == (200, {"status": "ok"})


def test_the_document_of_the_requests_is_whole(service):
    _, answer = service.get("/openapi.json")
    text, schemas = json.dumps(answer), answer["components"]["schemas"]
    for name in set(text.split("#/components/schemas/")[1:]):
        assert name.split('"')[0] in schemas
    listed = {(path, kind) for path, kinds in answer["paths"].items() for kind in kinds}
    assert {("/cases", "post"), ("/cases/{id}/values", "post"), ("/decide", "post")} <= listed
    case = service.post("/cases")[1]
    assert set(schemas["CaseState"]["required"]) == set(case)
    assert "http" not in text.replace('"http"', "")  # the scheme of tokens


def test_categories_truth_values_and_missing_values_are_taken(tmp_path):
    cascade, table = make_rich_cascade(), make_rich_rows(20)
    decisions = cascade.decide(table)
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    with serving(cascade, tmp_path / "rich.sqlite") as service:
        for i in (0, 5, 11):
            *_, last = play(service, rows[i])
            assert last["label"] == decisions.labels.tolist()[i]
            assert last["confidence"] == decisions.confidence[i]
        _, answer = service.get("/cascade")
        assert answer["columns"]["ward"]["categories"] == ["A", "B", "ICU"]
        assert answer["missing_values"] == "impute"


def test_rows_pay_their_own_prices_and_wait_for_what_comes_late(tmp_path):
    plain = make_cascade()
    prices = {"age": 1, "pulse": 2.5, "scan": "bill", "biopsy": 40}
    costs = FeatureCosts.from_mapping(prices, [*NAMES, "bill"], delays={"scan": 2, "biopsy": 9})
    priced = replace(plain, costs=costs)
    i = int(np.flatnonzero(plain.decide(ROWS).stage == 3)[0])
    with serving(priced, tmp_path / "priced.sqlite") as service:
        assert service.get("/cascade")[1]["prices_by_row"] == ["scan"]
        *_, last = play(service, RECORDS[i], prices={"scan": 7})
        assert (last["cost"], last["delay"]) == (50.5, 11)
        _, case = service.post("/cases", {"values": {k: RECORDS[i][k] for k in ("age", "pulse")}})
        path = f"/cases/{case['id']}/values"
        status, said = service.post(path, {"values": {"scan": RECORDS[i]["scan"]}})
        assert (status, said["error"].partition(",")[0]) == (
            422,
            "the price of 'scan' must be known",
        )
        _, said = service.post(path, {"values": {"scan": RECORDS[i]["scan"]}, "spent": {"scan": 2}})
        assert said["cost"] == 5.5
        rows = [{**RECORDS[i], "bill": 3}, RECORDS[i]]
        _, answer = service.post("/decide", {"rows": rows})
        assert [one.get("cost") for one in answer["decisions"]] == [46.5, None]
        _, answer = service.post("/decide", {"rows": rows, "prices": {"scan": [1, 2]}})
        assert [one["cost"] for one in answer["decisions"]] == [44.5, 45.5]


def test_the_requests_of_the_guide_are_answered(tmp_path):
    guide = (Path(__file__).parents[3] / "docs" / "guides" / "serving.md").read_text("utf-8")
    lines = re.findall(r"^curl (?!-H)(.*) localhost:8000(/\S*)$", guide, flags=re.MULTILINE)
    assert len(lines) >= 10
    with serving(CASCADE, tmp_path / "guide.sqlite") as service:
        for options, path in [(shlex.split(options), path) for options, path in lines]:
            body = json.loads(options[1]) if options[:1] == ["--json"] else None
            method = options[1] if options[:1] == ["-X"] else "GET" if body is None else "POST"
            status, answer = service.ask(method, path, body)
            assert status < 300, (path, answer)
            assert not any("error" in one for one in answer.get("cases", []))
        answer = service.get("/cases/patient-17")[1]
        assert (answer["label"], answer["cost"]) == ("ill", 13.5)


def test_no_more_cases_are_open_than_allowed(tmp_path):
    with serving(CASCADE, tmp_path / "few.sqlite", Settings(max_open=2)) as service:
        first = service.post("/cases")[1]
        assert service.post("/cases")[0] == 201
        status, said = service.post("/cases")
        assert (status, said["error"]) == (
            503,
            "Too many cases: 2 are open. Decide or delete some.",
        )
        service.ask("DELETE", f"/cases/{first['id']}")
        assert service.post("/cases")[0] == 201
