"""A trace made of known rates and launches gives them back, and `this` is then predicted with them."""

import json
from pathlib import Path

import pytest
from described import json_is_described  # noqa: F401

from ironlaw import Plan, hardware, predict, workload
from ironlaw.cli import main
from ironlaw.errors import BadValue
from ironlaw.report.trace_machine import read_machine

BANDWIDTH, RATE, LAUNCH = 1.5e12, 200e12, 14e-6
SIDE, LARGE = 8192, [64, 1024, 4096]
STREAM = 3 * 2 * 64 * 1024 * 4096  # bytes: two tensors of BF16 read, one written


def written(place: Path, shapes: bool = True, device: str = "NVIDIA A100-SXM4-80GB", wait: bool = False) -> Path:
    """A product, a stream and a tiny op, ten times; a wait for the device between the last two, if asked for."""
    events: list[dict] = []
    moment = on_device = 0.0
    half = "c10::BFloat16"
    product, stream, tiny = 2 * SIDE**3 / RATE, STREAM / BANDWIDTH, 2e-6
    run = [("mm", [[SIDE, SIDE]] * 2, [half] * 2, product), ("add", [LARGE, LARGE, []], [half, half, "Scalar"], stream)]
    for number, (name, dims, types, seconds) in enumerate([*run, ("relu", [[8, 8]], ["float"], tiny)] * 10):
        known = {"External id": number, "correlation": number}
        about = known | ({"Input Dims": dims, "Input type": types} if shapes else {})
        on_device = max(on_device, moment + 6)
        events += [
            {"ph": "X", "cat": "cpu_op", "name": f"aten::{name}", "pid": 1, "tid": 1, "ts": moment, "dur": 8.0, "args": about},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": moment + 2, "dur": 3, "args": known},
            {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": on_device, "dur": seconds * 1e6, "args": known},
        ]
        on_device += seconds * 1e6
        moment += LAUNCH * 1e6
        if wait and name == "add":
            events.append(
                {"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 1, "tid": 1, "ts": moment, "dur": 300.0}
            )
            moment += 310
    place.write_text(json.dumps({"deviceProperties": [{"name": device}], "traceEvents": events}))
    return place


@pytest.mark.parametrize("wait", [False, True])
def test_rates_and_launches_come_back(tmp_path, wait):
    rates = read_machine(written(tmp_path / "t.json", wait=wait)).rates
    assert rates.bandwidth and rates.bandwidth.value == pytest.approx(BANDWIDTH) and rates.bandwidth.kernels == 10
    assert rates.rates["bf16"].value == pytest.approx(RATE, rel=1e-3) and rates.rates["fp16"].kernels == 0
    assert {kind: one.value for kind, one in rates.launches.items()} == {
        kind: pytest.approx(LAUNCH) for kind in ("default", "linear", "matmul", "bmm")
    }


def test_this_is_predicted_with_them(tmp_path, ironlaw_home, capsys):
    place = written(tmp_path / "t.json")
    assert main(["measure", "--trace", str(place), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["datasheet"], told["bandwidth"]) == ("a100_80gb_sxm", pytest.approx(BANDWIDTH))
    sold, this = hardware("a100"), hardware("this")
    assert this.bandwidth == sold.bandwidth and this.figures["achieved.bandwidth"].value == pytest.approx(BANDWIDTH)
    assert "achieved.fp32" not in this.figures  # no such product was traced
    assert this.server is None or this.server().default != pytest.approx(LAUNCH)  # a profiler slows launches: they are shown alone
    graph = workload("gpt2", batch=8, seq=512)
    assert predict(graph, this, Plan()).busy_s > 1.1 * predict(graph, sold, Plan()).busy_s
    assert main(["measure", "--trace", str(place)]) == 0
    assert "1.5 TB/s" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("how", "said"), [({"shapes": False}, "record_shapes=True"), ({"device": "Some GPU"}, "Some GPU, which is not in the registry")]
)
def test_a_trace_that_says_too_little(tmp_path, how, said):
    with pytest.raises(BadValue, match=said):
        read_machine(written(tmp_path / "t.json", **how))


def test_what_does_not_go_with_it(tmp_path, capsys):
    assert main(["measure", "resnet50", "--trace", str(tmp_path / "t.json")]) == 2
    assert "leave out resnet50, or --trace" in capsys.readouterr().err
