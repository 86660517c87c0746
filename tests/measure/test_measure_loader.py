"""`ironlaw measure --loader`: a loader whose pace is known, and what is said where there is none."""

import json

import pytest
from described import json_is_described  # noqa: F401

from ironlaw.cli import main
from ironlaw.cli.measure_loader import measured, size

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
