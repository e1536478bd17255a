"""Bad words on the command line and bad files: exit code 1 or 2, one sentence, no traceback."""

from __future__ import annotations

import pytest
from support.sentences import assert_is_a_sentence

FILES = {
    "text.csv": "age,pulse,panel,scan,sick\n1,2,3,4,0\n1,two,3,4,1\n",
    "ragged.csv": "age,pulse,sick\n1,2,0\n1,2\n",
    "twice.csv": "age,age,sick\n1,2,0\n3,4,1\n",
    "none.csv": "age,sick\n",
    "one.csv": "age,sick\n" + "1,ill\n2,ill\n" * 20,
    "unlabelled.csv": "age,sick\n" + "1,ill\n2,well\n3,\n" * 20,
    "dates.csv": "age,visit,sick\n" + "1,3/4/2025,0\n2,5/6/2025,1\n" * 20,
    "few.csv": "age,pulse,panel,scan,sick\n" + "1,2,3,4,0\n" * 20,
    "bytes.csv": "age\nß",
    "broken.parquet": "PAR1",
    "table.xls": "",
    "bad_costs.csv": "feature,cost\nage,-1\n",
    "other_costs.csv": "feature,cost\nage,1\nheight,2\n",
    "key": "short",
}
# Words of a line, and what its sentence must show; D is the data, R a run, F the folder of FILES
LINES = [
    ("fit --target sick --out F/run", "--train"),
    ("fit F/nowhere.csv --target sick --out F/run", "nowhere.csv"),
    ("fit D --target ill --out F/run", "'ill'"),
    ("fit D --target sick --out R", "run"),
    ("fit F/text.csv --target sick --out F/run --columns", "columns"),
    ("fit F/ragged.csv --target sick --out F/run", "ragged.csv"),
    ("fit F/twice.csv --target sick --out F/run", "'age'"),
    ("fit F/none.csv --target sick --out F/run", "none.csv"),
    ("fit F/one.csv --target sick --out F/run", "'ill'"),
    ("fit F/unlabelled.csv --target sick --out F/run", "line 4"),
    ("fit F/dates.csv --target sick --out F/run", "'visit'"),
    ("fit F/bytes.csv --target age --out F/run", "bytes.csv"),
    ("fit F/broken.parquet --target age --out F/run", "broken.parquet"),
    ("fit F/table.xls --target age --out F/run", ".xls"),
    ("fit D --target sick --costs F/bad_costs.csv --out F/run", "-1"),
    ("fit D --target sick --costs F/other_costs.csv --out F/run", "'height'"),
    ("fit D --target sick --out F/run --cv half", "'half'"),
    ("fit D --target sick --out F/run --max-stages 0", "0"),
    ("fit D --target sick --out F/run --min-confidence high", "'high'"),
    ("fit D --target sick --out F/run --search best", "'best'"),
    ("fit D --target sick --out F/run --error-cost -5", "-5"),
    ("fit D --target sick --out F/run --estimator forest", "'forest'"),
    ("fit D --target sick --out F/run --max-stages many", "Error"),
    ("fit D", "--target"),
    ("inspect D --target Sik", "'Sik'"),
    ("front F", "F"),
    ("show R 99", "99"),
    ("choose R", "--prefer"),
    ("choose R 99", "99"),
    ("choose R --prefer cheapest", "'cheapest'"),
    ("choose R --min-recall 2=0.5", "2"),
    ("decide R F/text.csv --out F/out.csv", "'two'"),
    ("decide R D --out F/out.xls", ".xls"),
    ("decide R D --out D", "--out"),
    ("decide R D --out F/none/out.csv", "out.csv"),
    ("evaluate R F/none.csv", "none.csv"),
    ("certify R D --min-accuracy 0.6", "240"),
    ("certify R F/few.csv --min-accuracy 0.95", "20"),
    ("certify R F/few.csv", "--min-accuracy"),
    ("certify R F/few.csv --min-accuracy ill=0.9", "'ill'"),
    ("monitor R F/few.csv", "--min-accuracy"),
    ("monitor R F/few.csv --min-accuracy 95", "95"),
    ("plot R pie", "pie"),
    ("serve R --host 0.0.0.0", "'0.0.0.0'"),
    ("serve R --token-file F/key", "5"),
    ("serve R --rate 0", "0"),
    ("serve F/nowhere", "nowhere"),
    ("export R --out F/model --format pickle", "pickle"),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for name, text in FILES.items():
        (folder / name).write_bytes(text.encode("latin-1"))
    return folder


@pytest.mark.parametrize(("line", "shown"), LINES, ids=[line for line, _ in LINES])
def test_a_bad_line_ends_with_a_sentence(typed, data, fitted, files, line, shown):
    places = {"D": str(data / "data.csv"), "R": str(fitted), "F": str(files)}
    words = [
        places.get(word[:1], "") + word[1:] if word[:2] in ("D", "R", "F", "F/") else word
        for word in line.split()
    ]
    before = sorted(files.iterdir()), sorted(fitted.iterdir())
    result = typed(*words)
    assert result.code in (1, 2)
    assert "Traceback" not in result.err
    assert (sorted(files.iterdir()), sorted(fitted.iterdir())) == before
    if result.code == 1:
        said = result.err.strip().splitlines()[-1]
        assert_is_a_sentence(said.removeprefix("emsco: "), places.get(shown, shown))
    else:
        assert shown in result.err
