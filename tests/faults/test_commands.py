"""What a command refuses is one line of error, in the words of its options: those of the transcript in `commands.txt`.

`python -m tests.faults.test_commands` writes the answers of that file anew; what changes in it is read before it is committed.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import calibrant as cal
from calibrant.cli import main
from tests.in_turn import in_turn

TRANSCRIPT = Path(__file__).with_name("commands.txt")
FOREIGN = "[a-z_]+ accepts|cannot be (?:read as|split into) [a-z]+:|--where: cannot be evaluated:|valid SQL expression:|No such option '[a-z-]+'\\."
"""What stands before words of DuckDB and of click, and before lists of all options."""
MANY = "label,prob\n" + "0,0.2\n1,0.9\n" * 15
FILES: dict[str, str | bytes] = {
    "good.csv": "label,prob,region\n0,0.2,a\n1,0.9,b\n1,0.7,a\n",
    "empty.csv": "",
    "header.csv": "label,prob\n",
    "no-label.csv": "a,prob\n0,0.2\n",
    "no-score.csv": "label,b\n0,0.2\n",
    "missing.csv": "label,prob\n0,0.2\n1,\n",
    "above.csv": "label,prob\n0,0.2\n1,1.5\n",
    "sums.csv": "label,p_0,p_1,p_2\n0,0.2,0.2,0.2\n",
    "label-3.csv": "label,p_0,p_1,p_2\n3,0.2,0.2,0.6\n",
    "words.csv": "label,prob\nspam,0.2\nham,0.4\n",
    "text.csv": f"{MANY}1,N/A\n",
    "percents.csv": f"{MANY}1,70%\n",
    "comma.csv": f'{MANY}1,"0,7"\n',
    "shares.csv": "label,prob\n0.5,0.2\n",
    "comment.csv": f"{MANY}# pause\n{MANY[11:]}",
    "rubbish.parquet": b"PAR1 rubbish",
    "rubbish.json": "{not json",
    "two.csv": "p\n0.2\n0.7\n",
    "less.csv": "p_0,p_1\n0.2,0.3\n",
    "labels.csv": "row,y\n0,1\n1,0\n",
    "counted.jsonl": '{"label": 1, "probs": [0.2, 0.3, 0.5]}\n{"label": 3, "probs": [0.2, 0.3, 0.5]}\n',
    "no-site.csv": "risk,days,died,site\n0.1,400,1,a\n0.2,300,0,\n0.3,500,1,b\n",
    "cut.json": '{"content": {"fitted"',
    "empty.json": "{}",
    "other-labels.csv": "row,y\n0,7\n1,0\n",
    "models.csv": "label,old_a,old_b,new_a,new_c\na,0.2,0.8,0.3,0.7\n",
}


def make_files(folder: Path) -> None:
    """The files that the commands of the transcript name."""
    for name, content in FILES.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    rng = np.random.default_rng(5)
    score, place = rng.random(60).round(3), np.arange(60)
    yes = (rng.random(60) < score).astype(int)
    rows = pd.DataFrame(
        {"y": yes, "p": score, "q": score**2, "patient": place // 4, "land": np.where(place % 2, "a", "b")}
    )
    rows.to_csv(folder / "rows.csv", index=False)
    rows.assign(made="2026-01-05", row=place).drop(columns="y").to_csv(folder / "new.csv", index=False)
    pd.DataFrame({"p": [0.5], "made": [1_767_225_600]}).to_parquet(folder / "epoch.parquet")
    probs, classes = rng.dirichlet([1, 1, 1], 60), place % 3
    three = pd.DataFrame({"id": place, "label": classes, **{f"p_{k}": probs[:, k] for k in range(3)}})
    three.to_parquet(folder / "three.parquet")
    three.assign(P_1_calibrated=0).to_csv(folder / "taken.csv", index=False)
    cal.save(cal.TemperatureScaling().fit(np.vstack([probs, probs[::-1]]), np.tile(classes, 2)), folder / "three.json")
    trial = {
        "risk": score,
        "w": place % 3 + 1,
        "days": 300 + 5 * place,
        "died": yes * (place < 59),
        "site": rows["land"],
    }
    pd.DataFrame(trial).to_csv(folder / "trial.csv", index=False)
    cal.Monitor.create(folder / "watch.db", reference=(yes, score), every="1d", n_resamples=19)
    cal.Monitor.create(folder / "counted.db", reference=(yes, score), every=100, n_resamples=19)


@contextlib.contextmanager
def in_folder(folder: Path) -> Iterator[None]:
    (folder / "folder").mkdir()
    make_files(folder)
    with contextlib.chdir(folder):
        yield


def answer(command: str) -> str:
    """The line of error of a command, without what a library below says, which depends on its version."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as stopped:
        main(shlex.split(command))
    assert (stopped.value.code, out.getvalue()) == (2, ""), command
    return re.sub(rf"({FOREIGN}).*", r"\1 ...", err.getvalue())


def transcript() -> dict[str, str]:
    entries = TRANSCRIPT.read_text(encoding="utf-8").removeprefix("$ calibrant ").split("\n$ calibrant ")
    return {command: f"{text}\n" for command, text in (entry.rstrip("\n").split("\n", 1) for entry in entries)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("commands")
    with in_folder(path):
        yield path


@pytest.mark.usefixtures("folder")
@in_turn("command", list(transcript()), str)
def test_a_refusal_is_one_line(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    assert answer(command) == transcript()[command]
    assert transcript()[command].count("\n") == 1
    assert not Path("out").exists()


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as place, in_folder(Path(place)):
        TRANSCRIPT.write_text("".join(f"$ calibrant {command}\n{answer(command)}" for command in transcript()))
