import json

import numpy as np
import pytest
import unchanged
from recordings.commands import COMMANDS
from recordings.comparing import compare_facts
from recordings.facts import named, parse_json, plain
from recordings.fits import FITS, RIVALS

QUICK = "threshold-out-of-reach"


def differences(before, after):
    return [str(one) for one in compare_facts("case", before, after).changes]


def notes(before, after):
    return [str(one) for one in compare_facts("case", before, after).notes]


@pytest.fixture
def recording(tmp_path, monkeypatch):
    """A case recorded on this code."""
    for name in unchanged._THREADS:
        monkeypatch.setenv(name, "1")
    assert unchanged.main(["record", str(tmp_path / "before"), "--only", QUICK]) == 0
    return tmp_path / "before"


def test_floats_are_kept_to_the_bit():
    tiny = np.nextafter(0.1, 1)
    assert plain([0.1, tiny]) == [(0.1).hex(), float(tiny).hex()]
    assert parse_json(json.dumps({"cost": 0.1})) == plain({"cost": 0.1})


def test_masked_labels_are_none():
    labels = np.ma.MaskedArray(["ill", "well"], mask=[True, False])
    assert plain(labels)["values"] == [None, "well"]


def test_the_last_bit_makes_a_difference():
    before, after = {"cost": [0.1]}, {"cost": [float(np.nextafter(0.1, 1))]}
    told = differences(plain(before), plain(after))
    assert told == ["cost[0]: 0.1 → 0.10000000000000002"]


def test_a_whole_number_is_not_a_float():
    assert differences(plain({"n_rows": 3}), plain({"n_rows": 3.0})) == ["n_rows: 3 → 3.0"]


def test_a_renamed_field_is_the_same():
    assert not differences({"hits": [1, 2]}, {"correct_exits": [1, 2]})
    assert differences({"hits": [1, 2]}, {"correct_exits": [1, 3]}) == ["correct_exits[1]: 2 → 3"]


def test_an_attribute_is_found_by_its_earlier_or_later_name():
    class Earlier:
        hits = (1, 2)

    class Later:
        correct_exits = (1, 2)

    assert named(Earlier(), "correct_exits") == named(Later(), "hits") == (1, 2)
    with pytest.raises(AttributeError, match="Later has none of exits"):
        named(Later(), "exits")


def test_two_fields_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two of hits, correct are one name"):
        compare_facts("case", {"hits": 1, "correct": 1}, {"hits": 1, "correct": 1})


def test_other_words_are_a_note():
    before, after = {"stop_reason": "all is done"}, {"stop_reason": "Done."}
    assert not differences(before, after)
    assert notes(before, after) == ["stop_reason: 'all is done' → 'Done.'"]


def test_a_new_field_is_a_note_and_a_lost_one_a_difference():
    assert notes({}, {"expected": 1}) == ["expected: nothing → 1"]
    assert differences({"gap": 1}, {"error": 1}) == ["gap: 1 → nothing (new there: error)"]


def test_time_makes_no_difference():
    assert not differences({"seconds": 1}, {"seconds": 2})


def test_a_shorter_list_is_a_difference():
    assert differences({"points": [1, 2]}, {"points": [1]}) == ["points: 2 values → 1 values"]


def test_a_case_that_fails_or_is_missing_differs():
    failed = {"failed": "ValueError: no"}
    assert differences(failed, failed) == [
        "all of it: failed, ValueError: no → failed, ValueError: no"
    ]
    assert differences({"cost": 1}, None) == ["all of it: recorded → not recorded"]


def test_a_case_gives_the_same_when_it_is_recorded_again(recording, tmp_path, capsys):
    again = tmp_path / "again"
    assert unchanged.main(["record", str(again), "--only", QUICK]) == 0
    assert unchanged.main(["compare", str(recording), str(again)]) == 0
    assert "the same: 1 of 1 cases" in capsys.readouterr().out


def test_a_changed_result_is_named_and_fails(recording, tmp_path, capsys):
    facts = json.loads((recording / f"{QUICK}.json").read_text())
    facts["decisions"]["stage"]["values"][4] += 1
    changed = tmp_path / "changed"
    changed.mkdir()
    (changed / f"{QUICK}.json").write_text(json.dumps(facts))
    (changed / "about.json").write_text((recording / "about.json").read_text())
    assert unchanged.main(["compare", str(recording), str(changed)]) == 1
    assert "DIFFERS at decisions.stage.values[4]:" in capsys.readouterr().out


def test_a_case_that_raises_is_recorded_as_failed(tmp_path, capsys):
    def broken(folder):
        raise OSError("no disk")

    assert unchanged.record_case(broken) == {"failed": "OSError: no disk"}


def test_a_whole_recording_needs_an_empty_folder(tmp_path, capsys):
    (tmp_path / "exact.json").write_text("{}")
    with pytest.raises(SystemExit, match="2"):
        unchanged.main(["record", str(tmp_path)])
    assert "FOLDER must be new or empty" in capsys.readouterr().err


def test_only_recordings_are_compared(tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        unchanged.main(["compare", str(tmp_path), str(tmp_path)])
    assert "must be folders of recordings" in capsys.readouterr().err


def test_no_case_hides_another():
    assert len(unchanged.all_cases()) == len(FITS) + len(RIVALS) + len(COMMANDS) + 1
