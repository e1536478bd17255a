"""What a service counts, across restarts, as Prometheus reads it."""

from support.handmade import make_cascade
from support.services import serving

CASCADE = make_cascade(classes=("ill", 'we"ll\\'))


def test_metrics_count_exits_labels_costs_and_rejections_across_restarts(tmp_path):
    rows = {"sure": {"age": 3.0, "pulse": 3.0}, "poor": {"age": 0.1, "pulse": 0.2}}
    with serving(CASCADE, tmp_path / "a.sqlite") as service:
        label = service.post("/cases", {"values": rows["sure"]})[1]["label"]
        assert service.post("/cases", {"values": rows["poor"], "budget": 5})[1]["accepted"] is False
        case = service.post("/cases")[1]["id"]
        service.post(f"/cases/{case}/reject", {"reason": "lost"})
        service.post("/cases")
        before = service.samples()
    quoted = label.replace("\\", "\\\\").replace('"', '\\"')
    expected = {
        "emsco_cases_opened_total": 4,
        'emsco_cases_decided_total{outcome="accepted",stage="1"}': 1,
        'emsco_cases_decided_total{outcome="rejected",stage="1"}': 1,
        'emsco_cases_decided_total{outcome="rejected",stage="0"}': 1,
        f'emsco_cases_labelled_total{{label="{quoted}"}}': 1,
        'emsco_cases_rejected_total{reason="budget"}': 1,
        'emsco_cases_rejected_total{reason="by hand"}': 1,
        "emsco_cases_cost_total": 7,
        "emsco_cases_open": 1,
    }
    assert {name: before[name] for name in expected} == expected
    assert before['emsco_requests_total{method="POST",route="/cases",status="201"}'] == 4
    assert before["emsco_request_seconds_count"] >= 5
    with serving(CASCADE, tmp_path / "a.sqlite") as service:
        after = service.samples()
    assert {name: after[name] for name in expected} == expected
