"""The labs' experiments: on a clock that a test moves, where each row must say what its calls cost; and for real, in a blink."""

import json
import subprocess
import sys
from itertools import pairwise

import pytest
from small_trials import shrink

from ironlaw.errors import MissingExtra, UnknownName
from ironlaw.measure.clock import Clock
from ironlaw.measure.devices import choice
from ironlaw.measure.devices.device import Device
from ironlaw.measure.devices.device_kinds import KINDS
from ironlaw.measure.devices.thread_blocks import SCALE, SEED, SHIFT
from ironlaw.measure.experiments import trials
from ironlaw.measure.experiments.experiment_list import EXPERIMENTS, MACHINE, why_not
from ironlaw.measure.experiments.run_experiment import main, run
from ironlaw.measure.machine import characterise, keep
from ironlaw.measure.noise import Noisy, Reading, Watch
from ironlaw.measure.progress_lines import Cancelled

NUMPY_ONLY = [name for name, found in EXPERIMENTS.items() if not found.needs]


class Moved(Clock):
    """Goes on by what the calls take, and a microsecond with every reading; queued work is waited for."""

    def __init__(self):
        self.time, self.queued = 0.0, 0.0

    def now(self):
        self.time += 1e-6
        return self.time

    def sync(self):
        self.time, self.queued = self.time + self.queued, 0.0


class Pretend(Device):
    """A device whose every op has a price: reading and writing a number costs so much, a call so much."""

    CALL, NUMBER, FLOP, COMPILING = 2e-6, 1e-9, 1e-11, 3.0

    def __init__(self, kind="cpu", fused=("blocked",)):
        super().__init__("pretend", KINDS[kind], Moved())
        self.fused = fused

    def label(self):
        return "Pretend 1.0"

    def threads(self):
        return 1

    def fused_modes(self):
        return self.fused

    def launches(self):
        return {"add": self._spend(self.CALL), "view": self._spend(self.CALL)}

    def stream(self, op, numel):
        return self._spend(numel * self.NUMBER)

    def _spend(self, seconds):
        def call():
            if self.queued:
                self.clock.time += self.CALL
                self.clock.queued += seconds
            else:
                self.clock.time += seconds

        return call

    def _passes(self, ops, shape, mode):
        if mode == "compiled":
            self.clock.time += self.COMPILING
        return self._spend((ops if mode == "eager" else 1) * shape[0] * shape[1] * self.NUMBER)

    def layernorm_dropout_relu(self, shape, mode):
        return self._passes(3, shape, mode)

    def pointwise_chain(self, kinds, shape, mode):
        return self._passes(len(kinds), shape, mode)

    def gemm(self, fmt, n):
        return self._spend(2 * n**3 * self.FLOP)


def silent() -> Watch:
    return Watch(lambda: Reading(0.0, 0.0, 0.0), lambda: 0.0)


def pretended(name, seconds=0.002, **how):
    told = []
    made = Pretend(**how)
    found = run(name, lambda share, doing: told.append((share, doing)), device=made, seconds=seconds, watch=silent())
    return found, told


def test_one_pass_is_a_third_of_three():
    found, told = pretended("three_op_chain")
    rows = {(tuple(row["params"]["shape"]), row["mode"]): row for row in found["rows"]}
    assert set(rows) == {(shape, mode) for shape in trials.SHAPES for mode in ("eager", "blocked")}
    for shape in trials.SHAPES:
        one = shape[0] * shape[1] * Pretend.NUMBER
        assert rows[shape, "eager"]["wall_s"] == pytest.approx(3 * one, rel=0.01)
        assert rows[shape, "blocked"]["wall_s"] == pytest.approx(one, rel=0.01)
        assert rows[shape, "eager"]["low_s"] <= rows[shape, "eager"]["wall_s"] <= rows[shape, "eager"]["high_s"]
    assert found["library"] == "Pretend 1.0" and not found["noise"]["noisy"] and found["rows"][0]["kind"] == "function"
    assert told[0] == (0.0, f"starting {'PyTorch' if choice.installed() == 'torch' else 'NumPy'}") and told[-1] == (1.0, "done")
    assert all(a[0] <= b[0] for a, b in pairwise(told))


def test_a_processor_compiles_once_and_a_gpu_every_time():
    once, _ = pretended("three_op_chain", fused=("blocked", "compiled"))
    compiled = [row for row in once["rows"] if row["mode"] == "compiled"]
    assert [row["params"]["shape"] for row in compiled] == [list(trials.COMPILED_SHAPE)]
    assert compiled[0]["compile_s"] == pytest.approx(Pretend.COMPILING, rel=0.01)
    each, _ = pretended("pointwise_chain", kind="mps", fused=("compiled",))
    assert [row["params"]["ops"] for row in each["rows"] if row["mode"] == "compiled"] == list(trials.LENGTHS)


def test_a_chain_grows_op_by_op_and_not_in_one_pass():
    found, _ = pretended("pointwise_chain")
    eager = {row["params"]["ops"]: row["wall_s"] for row in found["rows"] if row["mode"] == "eager"}
    fused = {row["params"]["ops"]: row["wall_s"] for row in found["rows"] if row["mode"] == "blocked"}
    assert eager[24] / eager[1] == pytest.approx(24, rel=0.01) and fused[24] / fused[1] == pytest.approx(1, rel=0.01)


def test_the_sweep_ends_where_products_take_too_long():
    found, _ = pretended("gemm_sweep")
    times = {row["params"]["n"]: row["wall_s"] for row in found["rows"]}
    assert list(times) == list(trials.SIZES[: len(times)]) and 1 < len(times) < len(trials.SIZES)
    assert all(2 * n**3 * Pretend.FLOP == pytest.approx(seconds, rel=0.01) for n, seconds in times.items())
    assert max(times.values()) <= trials.LONGEST_S < 8 * max(times.values())


def test_tiny_ops_cost_a_call_queued_and_a_wait_more_waited_for():
    found, _ = pretended("tiny_ops")
    rows = {row["op"]: row for row in found["rows"]}
    assert rows["add"]["wall_s"] == rows["add"]["sync_s"] == pytest.approx(Pretend.CALL, rel=0.01)
    assert rows["nothing"]["wall_s"] < Pretend.CALL / 100
    queued, _ = pretended("tiny_ops", kind="mps")
    row = next(row for row in queued["rows"] if row["op"] == "add")
    assert row["sync_s"] == pytest.approx(2 * Pretend.CALL, rel=0.01)  # the call, then its work
    assert {"sync_low_s", "sync_high_s", "samples"} <= set(row)


def test_a_reference_that_drifts_and_busy_neighbours_are_told():
    readings = iter([Reading(0.0, 0.0, 0.0), Reading(9.0, 10.0, 0.0)])
    found = run("gemm_sweep", device=Pretend(), seconds=0.01, watch=Watch(lambda: next(readings), lambda: 0.0))
    assert found["noise"]["noisy"] and "other processes took 90%" in found["noise"]["reasons"][0]

    class Slowing(Pretend):
        def pointwise_chain(self, kinds, shape, mode):
            def call():
                self.clock.time += 1e-4 * (1 + self.clock.time)

            return call

    drifting = run("gemm_sweep", device=Slowing(), seconds=0.2, watch=silent())
    assert drifting["noise"]["drift"] > 0.2 and "varied" in drifting["noise"]["reasons"][0]


@pytest.mark.parametrize("name", NUMPY_ONLY)
def test_it_can_be_stopped_between_two_samples(name):
    asked = []

    def stop():
        asked.append(1)
        return len(asked) > 40

    with pytest.raises(Cancelled):
        run(name, device=Pretend(), seconds=5.0, watch=silent(), stop=stop)
    assert len(asked) == 41


# --- for real


@pytest.mark.parametrize("name", NUMPY_ONLY)
def test_a_real_run_with_numpy_alone(name, monkeypatch):
    shrink(monkeypatch)
    found = run(name, library="numpy", seconds=0.002)
    assert found["library"].startswith("NumPy ") and found["machine"]["backend"] == "cpu" and found["software"]["numpy"]
    assert found["rows"] and all(
        0 < row["best_s"] <= row["wall_s"] and row["samples"] >= 5 for row in found["rows"] if row["kind"] != "figure"
    )
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_numpy_s_one_pass_computes_the_same_as_op_by_op():
    import numpy

    made = choice.choose(library="numpy")
    for mode in ("eager", "blocked"):
        made.random = numpy.random.default_rng(SEED)
        result = made.pointwise_chain(("scale", "shift", "scale"), (300, 4000), mode)()
        x = numpy.random.default_rng(SEED).standard_normal((300, 4000), dtype=numpy.float32)
        assert numpy.allclose(result, (x * SCALE + SHIFT) * SCALE, atol=1e-5)


def test_numpy_s_layer_norm_and_dropout_are_what_they_are_called():
    made = choice.choose(library="numpy")
    for mode in ("eager", "blocked"):
        result = made.layernorm_dropout_relu((2048, 256), mode)()
        kept = result > 0
        assert 0.4 < kept.mean() < 0.5  # half is positive, a tenth of that is dropped
        # a normalised row has unit variance: half of its squares are in what ReLU keeps, raised by 1 / 0.9² where 0.9 stay
        assert (result**2).mean() == pytest.approx(0.5 / 0.9, rel=0.05)


def test_the_process_tells_its_progress_and_then_the_result():
    command = [sys.executable, "-m", "ironlaw.measure.experiments", "gemm_sweep", "--with", "numpy", "--seconds", "0.001"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=180)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert told[0] == {"share": 0.0, "doing": "starting NumPy"} and told[-2]["share"] == 1.0
    assert told[-1]["result"]["rows"][0]["op"] == "matmul" and all("share" in line for line in told[:-1])


# --- what can run here


def test_without_any_library_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(choice, "available", lambda name: False)
    for name in EXPERIMENTS:
        assert "pip install" in why_not(name)
    with pytest.raises(MissingExtra, match="pip install numpy"):
        choice.choose()
    assert main(["tiny_ops"]) == 2
    assert "pip install numpy" in json.loads(capsys.readouterr().out.splitlines()[-1])["error"]


def test_with_numpy_alone_only_the_spotter_is_missing(monkeypatch):
    monkeypatch.setattr(choice, "available", lambda name: name == "numpy")
    assert {name for name in EXPERIMENTS if why_not(name)} == {"ds_cnn"}
    assert "pip install torch" in why_not("ds_cnn") and why_not(MACHINE) == ""
    with pytest.raises(MissingExtra, match="pip install torch"):
        run("ds_cnn", device=Pretend(), watch=silent())


def test_an_experiment_that_nobody_knows():
    with pytest.raises(UnknownName, match="tiny_ops"):
        run("tiny_op")


# --- the machine itself


def test_the_whole_machine_is_characterised_and_stored(monkeypatch, capsys):
    seen = []

    class Found:
        machine, rows = {"cpu": "x"}, [1, 2]

    def characterised(_, sizes, progress):
        progress(0.5, "products")
        return Found()

    monkeypatch.setattr(characterise, "characterise", characterised)
    monkeypatch.setattr(keep, "read_figures", lambda found, device: "figures")
    monkeypatch.setattr(keep, "keep", lambda found, told, device, force: seen.append((found.rows, told, force)))
    monkeypatch.setattr(choice, "choose", Pretend)
    assert main([MACHINE]) == 0 and seen == [([1, 2], "figures", False)]
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert told[-1] == {"result": {"machine": {"cpu": "x"}, "rows": 2}} and {"share": 0.51, "doing": "products"} in told

    def noisy(found, told, device, force):
        if force:
            return
        raise Noisy("nothing was stored: other processes took 40%")

    monkeypatch.setattr(keep, "keep", noisy)
    assert main([MACHINE]) == 2
    told = capsys.readouterr().out
    assert "nothing was stored" in told and "take the figures as they are" in told and "--force" not in told
    assert main([MACHINE, "--force"]) == 0  # the page's second button
