"""``calibrant apply`` leaves the text and the types of the other columns as they were."""

import csv
import io
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from tests.calling import Run

HOSTILE = {
    "quoted": b'id,"na me",p,note\n1,"a, b",0.2,"say ""hi"""\n2,"line\nbreak",0.7,\n3,"",0.5,x\n',
    "semicolon": b"id;p;x\n1;0.2;1,5\n2;0.7;\n3;0.4;007\n",
    "crlf": b"id,p,x\r\n1,0.2,1e5\r\n2,0.7,1.10\r\n3,0.3,yes\r\n",
    "mark": b'\xef\xbb\xbf"id",p,x\n1,0.2,1e5\n2,0.7,2026-01-05\n3,0.7,05/01/2026\n',
    "empty columns": b"id,p,x,z\n1,0.2,,\n2,0.7,,\n3,0.9,,\n",
    "no end of line": b"id,p\n007,0.20\n008,7e-1",
    "quoted numbers": b'"id","p"\n"1","0.20"\n"2","0.70"\n',
    "empty line": b"id,p\n1,0.2\n\n2,0.7\n",
    "words": b'id,p,x\n1,0.2,NULL\n2,0.7,NA\n3,0.6,"NULL"\n4,0.3,true\n',
    "blanks": b"id, p ,x\n1, 0.2 , a\n2,0.7,b \n",
    "comment": b"# made by hand\nid,p,x\n1,0.2,#a\n2,0.7,b\n",
    "bars": b"id|p|x\n1|0.2|a\n2|0.7|b\n",
    "old Mac": b"id,p,x\r1,0.2,a\r2,0.7,b\r",
    "one column": b"p\n0.2\n0.7\n0.9\n",
    "other letters": "id,p,größe\n1,0.2,é\n2,0.7,日本\n".encode(),
}


@pytest.fixture(scope="module")
def calibrator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    p = rng.random(200)
    path = tmp_path_factory.mktemp("fitted") / "c.json"
    return cal.save(cal.PlattScaling().fit(p, (rng.random(200) < p**2).astype(int)), path)


@pytest.mark.parametrize("form", HOSTILE)
def test_text_is_kept(run: Run, calibrator: Path, tmp_path: Path, form: str) -> None:
    content = HOSTILE[form]
    file, out = tmp_path / "in.csv", tmp_path / "out.csv"
    file.write_bytes(content)
    code, _, error = run("apply", calibrator, file, "--out", out)
    assert code == 0, error
    sign = next((sign for sign in ";|" if sign in content.decode()), ",")
    lines = io.StringIO(content.decode("utf-8-sig"), newline=None)
    rows = [row for row in csv.reader(lines, delimiter=sign) if row and not row[0].startswith("#")]
    found = list(csv.reader(io.StringIO(out.read_text(encoding="utf-8"))))
    rows[0] = [name.strip() for name in rows[0]]
    assert [row[:-1] for row in found] == rows
    assert found[0][-1].strip() == "p_calibrated"
    score = [float(row[rows[0].index("p")]) for row in rows[1:]]
    expected = cal.load(calibrator).predict_proba(score)[:, 1]
    assert [float(row[-1]) for row in found[1:]] == pytest.approx(expected.tolist(), abs=1e-12)
