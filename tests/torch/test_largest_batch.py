"""The search for the largest batch (benchmarks/device/largest_batch.py): its dial, its judge, and that the predictions kept are its own."""

import json
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "benchmarks/device"), str(ROOT / "benchmarks")]
import largest_batch as batches  # noqa: E402


def test_the_dial_has_powers_of_two_and_the_halves_between() -> None:
    assert batches.DIAL[:9] == [1, 2, 3, 4, 6, 8, 12, 16, 24]


@pytest.mark.parametrize("guess", [1, 5, 48, 10_000])
@pytest.mark.parametrize(("room", "largest"), [(0, 0), (1, 1), (47, 32), (48, 48)])
def test_the_largest_that_fits_is_found_from_any_guess(guess: int, room: int, largest: int) -> None:
    asked: list[int] = []

    def fits(batch: int) -> bool:
        asked.append(batch)
        return batch <= room

    assert batches.searched(fits, guess) == largest
    assert len(asked) == len(set(asked))  # each try costs a run


def test_every_case_has_a_prediction_next_to_its_limit() -> None:
    kept = json.loads(batches.KEPT.read_text())["cases"]
    assert set(kept) == set(batches.CASES) and len(kept) == 20
    for name, case in kept.items():
        assert (case["mode"], case["dtype"], case["limit_bytes"] / batches.GB) == batches.CASES[name]
        here, after = (case["bytes"][str(n)] for n in (case["predicted"], batches.following(case["predicted"])))
        assert here <= case["limit_bytes"] and here < after  # the allocator may have no room where the sum does


def test_the_judge_counts_steps_of_the_dial(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = json.loads(batches.KEPT.read_text())["cases"]
    tries = [{"batch": 1, "fits": True, "memory_bytes": 1}]
    found = {name: {"largest": case["predicted"], "tries": tries} for name, case in kept.items()}
    found["deit"]["largest"], found["resnet"]["largest"] = batches.following(kept["deit"]["predicted"]), 1
    (tmp_path / "tried.json").write_text(json.dumps({"cases": found}))
    batches.judge(tmp_path / "tried.json")
    out = capsys.readouterr().out
    assert "19 of 20 right to within one step of the dial, 18 exactly; 1 promised too much" in out
    assert "-1 steps" in next(line for line in out.splitlines() if line.startswith("deit"))


def test_a_peak_grows_with_the_batch() -> None:
    one, two = (batches.predicted("fourier_operator", batch) for batch in (1, 2))
    assert one.total < two.total and one.usable == 1.5e9
