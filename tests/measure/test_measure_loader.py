"""`ironlaw measure --loader`: a loader whose pace is known, and what is said where there is none."""

import json

import numpy as np
import pytest
from described import json_is_described  # noqa: F401

from ironlaw.cli import main, measure_loader
from ironlaw.cli.measure_loader import measured, size
from ironlaw.errors import BadValue
from ironlaw.worker.json_values import decode, encode

FILE = """
import time
class Batch:
    shape = (16, 3)
class Loader:
    def __iter__(self):
        for _ in range(4):
            time.sleep(0.005)
            yield Batch(), [0] * 16
loader = Loader()
"""


def test_a_loader_of_a_file(tmp_path, capsys):
    """16 samples in 5 ms are 3,200 per second at most; a busy machine reads fewer."""
    place = tmp_path / "data.py"
    place.write_text(FILE)
    assert main(["measure", "--loader", f"{place}:loader", "--seconds", "0.1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["batch"] == 16 and told["batches"] > 4 and 100 < told["rate"] <= 3200  # read again where it ends
    assert main(["measure", "--loader", f"{place}:lader"]) == 2
    assert "has no lader; it has" in capsys.readouterr().err
    assert main(["measure", "--loader", str(place)]) == 2
    assert "does not say which loader" in capsys.readouterr().err


def test_an_empty_loader():
    with pytest.raises(ValueError, match="gives no batch"):
        measured([], 1.0)


@pytest.mark.parametrize(("batch", "samples"), [({"ids": [[1], [2]]}, 2), (([1, 2, 3],), 3), (["a", "b"], 2), (7, 1)])
def test_how_many_samples_a_batch_has(batch, samples):
    assert size(batch) == samples


def test_the_pace_after_the_first_batch(monkeypatch, tmp_path):
    """Four batches of 16 a second after a start of 30 s; read again where the loader ends."""
    times = iter([0.0, 30.0, *(30.25 + 0.25 * i for i in range(100))])
    monkeypatch.setattr(measure_loader, "perf_counter", lambda: next(times))
    place = tmp_path / "data.py"
    place.write_text("def loader():\n    return [[[0] * 16, 'names']] * 3\n")
    ask = {"file": str(place), "name": "loader", "seconds": 2.0}
    seen = decode(measure_loader.job(encode(ask), lambda part: None))
    assert seen == {"rate": 64.0, "batch": 16, "batches": 9, "first_s": 30.0}
    with pytest.raises(BadValue, match=r"data\.py has no lader; it has loader"):
        measure_loader.job(encode({**ask, "name": "lader"}), lambda part: None)


def test_what_is_said_of_it(capsys):
    measure_loader.report({"loader": "data.py:loader", "rate": 3196.2, "batch": 16, "batches": 1001, "first_s": 0.5})
    said = " ".join(capsys.readouterr().out.split())
    assert "1,001 batches of 16" in said and "3,200 samples per second; the first batch came after 500 ms." in said
    assert "--loader 3200/s says whether" in said


def test_a_loader_is_measured_alone(capsys):
    assert main(["measure", "--loader", "data.py:loader", "--short"]) == 2
    assert "leave out --short, or --loader" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("batch", "samples"), [(np.zeros((5, 2)), 5), ((np.zeros((4, 2)), np.zeros(3)), 4), ({"x": np.zeros(6)}, 6), ({}, 1)]
)
def test_how_many_samples_arrays_hold(batch, samples):
    assert size(batch) == samples
