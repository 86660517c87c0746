"""`ironlaw measure --host`: launches of a machine made of a fake clock; what is refused, marked, stored and predicted with."""

import json
from itertools import count

import pytest
from fake import FakeDevice, Quiet

import ironlaw as il
from ironlaw.cli import main, measure_host
from ironlaw.errors import MissingExtra
from ironlaw.measure.devices.device_kinds import KINDS
from ironlaw.measure.machine.launch_costs import judged, measure_launches
from ironlaw.measure.noise import Noisy

VM = il.host("vm")


class Processor(FakeDevice):
    """A call that launches nothing takes 1 µs; the virtual machine's take 2.31 and 2.24."""

    def launches(self):
        return super().launches() | {"view": self.takes(1e-6), "empty": self.takes(1e-6)}


class Gpu(Processor):
    """Its launches are what its processor spends on them."""

    def __init__(self):
        super().__init__()
        self.kind = KINDS["cuda"]


def measured(device, others=0.0):
    return measure_launches(device, watch=lambda: Quiet(device.clock, others))


def test_a_gpus_launches_are_its_hosts():
    host = judged(measured(Gpu()), force=False)
    assert (host.launches["add"], host.launches["softmax"], host.default) == pytest.approx((2e-6, 6e-6, 2e-6), rel=0.01)
    assert host.graph_start == pytest.approx(2e-6, rel=0.05)  # one op and the wait for its result
    assert (host.slug, host.estimate, host.caveats) == ("this_machine", False, ()) and "cuda" in host.source


def test_without_a_gpu_another_hosts_launches_are_scaled_by_calls_that_launch_nothing():
    host = judged(measured(Processor()), force=False)
    factor = 1e-6 / (VM.launches["view"] * VM.launches["empty"]) ** 0.5
    assert host.launches == pytest.approx({kind: factor * seconds for kind, seconds in VM.launches.items()}, rel=0.01)
    assert host.estimate and f"times {factor:.2f}" in host.why and "No GPU here" in host.why
    with pytest.raises(il.IronlawError, match="nothing to scale by"):
        measured(FakeDevice())


def test_without_pytorch_it_says_what_to_install():
    device = Processor()
    device.library = "numpy"
    with pytest.raises(MissingExtra, match="pip install torch"):
        measured(device)


def test_a_busy_machine_is_refused_or_marked():
    busy = measured(Gpu(), others=0.9)
    with pytest.raises(Noisy, match=r"nothing was stored: other processes took 45%.*--force"):
        judged(busy, force=False)
    marked = judged(busy, force=True)
    assert marked.launches == busy.host.launches
    assert "measured while the machine was busy" in marked.caveats[0] and "45%" in marked.caveats[0]


def test_launches_that_scatter_are_refused_too():
    """Nobody else's time is seen, and the same call takes up to five times as long."""
    device, calls = Gpu(), count()
    device.slower = lambda: 5.0 if next(calls) % 600 < 200 else 1.0  # samples are of 200 calls
    found = measured(device)
    assert found.unsteady > 2
    with pytest.raises(Noisy, match="times as long as at its quickest"):
        judged(found, force=False)


def test_a_launch_of_milliseconds_is_no_launch():
    device = Gpu()
    device.slower = lambda: 4000.0  # 8 ms
    with pytest.raises(Noisy, match="a launch took 8 ms, which other programs must have caused"):
        judged(measured(device), force=True)


# ---- the command


@pytest.fixture
def here(monkeypatch):
    class Here:
        device, others = Gpu(), 0.0

    def run(device, progress):
        return measure_launches(device, progress, watch=lambda: Quiet(device.clock, Here.others))

    monkeypatch.setattr(measure_host, "choose", lambda kind: Here.device)
    monkeypatch.setattr(measure_host, "measure_launches", run)
    return Here


def ran(capsys, *argv):
    code = main(argv)
    out, err = capsys.readouterr()
    return code, " ".join(out.split()), err


def test_it_is_stored_and_predicted_with(here, capsys, ironlaw_home):
    code, out, _ = ran(capsys, "measure", "--host")
    assert code == 0 and "softmax 6 µs" in out and "--host here" in out
    assert (ironlaw_home / "host/this_machine.json").exists()
    assert il.host("here").default == pytest.approx(2e-6, rel=0.01)
    told = json.loads(ran(capsys, "predict", "mlp8_1024", "--on", "h200_sxm", "--host", "here", "--json")[1])["predictions"][0]
    assert told["host"]["slug"] == "this_machine" and told["host"]["launch_s"] == il.host("here").default
    assert told["seconds"] < il.predict(il.workload("mlp8_1024"), il.hardware("h200_sxm")).seconds
    assert told["busy_s"] == il.predict(il.workload("mlp8_1024"), il.hardware("h200_sxm")).busy_s


def test_a_busy_machines_host_is_marked_in_every_prediction(here, capsys, ironlaw_home):
    here.others = 0.9
    code, _, err = ran(capsys, "measure", "--host")
    assert code == 2 and "nothing was stored" in err and not (ironlaw_home / "host/this_machine.json").exists()
    code, out, _ = ran(capsys, "measure", "--host", "--force", "--json")
    assert code == 0 and json.loads(out)["noise"]["noisy"] and json.loads(out)["host"]["caveats"]
    _, out, _ = ran(capsys, "predict", "mlp8_1024", "--on", "h200_sxm", "--host", "here")
    assert "! what launching costs was measured while the machine was busy" in out


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("resnet50", "--host"), "leave out --host or resnet50"),
        (("--host", "--full"), "--full is for measuring the whole machine"),
        (("--host", "--out", "x.json"), "--out is for measuring the whole machine"),
    ],
)
def test_what_does_not_go_together(argv, told, capsys):
    code, _, err = ran(capsys, "measure", *argv)
    assert code == 2 and told in err
