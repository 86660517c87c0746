"""A backend from outside: everything that a device needs, in one class, and nothing of ironlaw changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

import ironlaw as il
from ironlaw import backends
from ironlaw.backends import Backend
from ironlaw.backends.kernel import Kernel, Sample
from ironlaw.backends.rows import Row
from ironlaw.calibration.curve import Curve
from ironlaw.calibration.fit import calibrate
from ironlaw.calibration.machine_calibration import Calibration
from ironlaw.engine.device.compiler_rules import POINTWISE
from ironlaw.engine.device.host import Host
from ironlaw.engine.device.machine import Plan
from ironlaw.errors import BadValue, UnknownName
from ironlaw.registry.workloads import workload


class Abacus(Backend):
    """One bead a byte: every op is one kernel, and a stream of its bytes."""

    name = "abacus"
    dispatch = "queued"
    rules = POINTWISE
    fallback = {"carry": "slide"}  # noqa: RUF012
    caches = ("rod_bytes",)

    def lower(self, op, machine, mode):
        beads = machine.units.get("beads", 1.0)
        return (Kernel("slide", op.work.bytes / beads, count=1.0 if mode == "eager" else 0.5),) if op.work.launches else ()

    def samples(self, rows, machine):
        for row in rows:
            if row.kind == "op" and row.busy_s:
                yield Sample(Kernel("slide", float(row.params["numel"])), row.busy_s)


@pytest.fixture
def abacus(monkeypatch):
    monkeypatch.setattr(backends, "_registered", {})
    backends.register(Abacus())
    curves = {"slide": Curve(floor=1.0, cache=100.0, main=100.0), "elementwise": Curve(9.0)}
    calibration = Calibration(curves, Host({"default": 0.25}), 1e9, backend="abacus", sources=("by hand",))
    machine = replace(il.hardware("h100_sxm"), slug="abacus", backend="abacus", units={"beads": 2.0}, calibration=calibration)
    return machine


def test_the_folders_are_the_backends():
    assert set(backends.names()) >= {"cpu", "cuda", "mps"}
    assert [backends.require(name).name for name in backends.names()] == list(backends.names())
    assert backends.find("rocm") is None
    with pytest.raises(UnknownName, match=r"no backend 'rocm'.*cuda.*backends/rocm/"):
        backends.require("rocm")


def test_a_models_device_time_is_profiled_where_there_is_a_profiler(abacus):
    """On the others a call's wall time is all there is. A backend that says nothing has a profiler."""
    assert {name: backends.require(name).row_time for name in backends.names()} == {
        "abacus": "busy_s", "cpu": "wall_s", "cuda": "busy_s", "mps": "wall_s",
    }  # fmt: skip


def test_a_prediction_asks_the_registered_backend(abacus):
    graph = workload("gpt2_layer", batch=1)
    p = il.predict(graph, abacus)
    assert p.calibrated and p.sources == ("by hand",)
    for row in p.ops:
        launched = row.op.work.launches > 0
        assert row.kernels == (1.0 if launched else 0.0)
        assert float(row.seconds) == pytest.approx(1.0 + float(row.op.work.bytes) / 2.0 / 100.0 if launched else 0.0)


def test_its_compiler_fuses_by_its_own_rules(abacus):
    compiled = il.predict(il.workload("gpt2_layer"), abacus, Plan("compiled"))
    assert compiled.graph.ops == il.fuse(il.workload("gpt2_layer"), POINTWISE).graph.ops
    assert {float(row.kernels) for row in compiled.ops} <= {0.0, 0.5}


def test_its_rows_are_fitted(abacus):
    rows = [Row(kind="launch", op="add", wall_s=0.5)]
    rows += [Row(kind="op", op="anything", params={"numel": n}, busy_s=1.0 + n / 100.0) for n in (10, 100, 1000, 10_000)]
    found = calibrate(rows, {"rod_bytes": 1e9}, abacus, ("here",))
    assert (found.backend, found.cache_bytes, found.host.default) == ("abacus", 1e9, 0.5)
    assert found.curves["slide"].main == pytest.approx(100.0, rel=0.05)
    assert found.curve("carry", "x") is found.curves["slide"]


def test_names_are_taken_once(abacus):
    class Other(Abacus):
        name = "cuda"

    with pytest.raises(BadValue, match="backend 'cuda' is ironlaw's own"):
        backends.register(Other())


def test_an_unfinished_backend_can_not_be_made():
    class Half(Backend):
        name = "half"

    with pytest.raises(TypeError, match="lower"):
        Half()


@pytest.mark.parametrize(("slug", "label"), [("mi300x", "transferred"), ("tpu_v5e", "bound"), ("m3_max", "bound")])
def test_a_device_without_a_backend_is_a_bound_and_says_so(slug, label):
    machine, words = il.hardware(slug), "bound: ironlaw does not know how libraries run on"
    graph = il.workload("mlp8_1024", dtype=next(f for f in ("fp16", "bf16", "fp32") if f in machine.peaks))
    p, bound = il.predict(graph, machine), il.predict(graph, machine, il.Plan(transferred=False))
    assert (p.label, bound.label, machine.calibration) == (label, "bound", None)
    assert any(source.startswith(words) for source in bound.sources)
    assert any(source.startswith(words) for source in p.sources) == (label == "bound")
    assert il.predict(il.workload("mlp8_1024"), il.hardware("a100"), il.Plan(transferred=False)).sources[-1].startswith("launch")


def test_chip_constants_come_from_the_machine():
    """The same attention on chips of other sizes: as many waves as the chip's own multiprocessors make."""
    from on_machines import lower

    graph = il.workload("vit_b16", batch=8, dtype="fp16")
    op = next(op for op in graph.ops if op.kind == "attention")
    flops = {slug: lower(op, machine=slug)[0].flops for slug in ("h200_sxm", "a100_80gb_sxm")}
    b, h, s, _ = op.inputs[0].shape
    tiles = -(-s // 128)
    for slug, exponential in (("h200_sxm", 256.0), ("a100_80gb_sxm", 128.0)):
        sms = il.hardware(slug).units["sms"]
        waves = -(-(b * h * tiles) // sms)
        assert flops[slug] == waves * sms * 128 * (tiles * 128) * (4.0 * 64 + exponential)
    bare = replace(il.hardware("h200_sxm"), units={})
    with pytest.raises(BadValue, match=r"h200_sxm has no sms under \[units\]"):
        lower(op, machine=bare)


def test_a_chip_whose_clock_is_not_known_is_taken_for_a_hopper():
    from ironlaw.backends.cuda.chip import exponential_flops

    h200 = il.hardware("h200_sxm")
    assert exponential_flops(replace(h200, units={"sms": 132.0})) == exponential_flops(h200) == 256.0


def test_what_the_room_offers():
    assert sorted(backends.__all__) == ["Backend", "find", "names", "register", "require"]
    assert all(hasattr(backends, name) for name in backends.__all__)


def test_a_folder_without_a_backend_in_it_is_named(monkeypatch):
    from types import SimpleNamespace

    monkeypatch.setattr(backends, "import_module", lambda name: SimpleNamespace(BACKEND=3))
    with pytest.raises(BadValue, match=r"^ironlaw\.backends\.cuda\.BACKEND is 3, not a Backend; see backends/backend\.py$"):
        backends._load.__wrapped__("cuda")


def test_a_chips_own_shared_memory_says_how_wide_a_resident_state_is():
    from ironlaw.backends.cuda.chip import resident_share

    assert resident_share(il.hardware("h200_sxm")) == 1.0
    assert resident_share(il.hardware("a100_80gb_sxm")) == pytest.approx((192 / 256) ** 0.5)
    assert resident_share(replace(il.hardware("a100_80gb_sxm"), levels=())) == 1.0
