"""This machine: read from ironlaw's home like any other, fresh after each measurement, and clear about what is wrong with it."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import pytest

import ironlaw as il
from ironlaw import home as home_of
from ironlaw.backends.rows import Row
from ironlaw.calibration import local_fit, local_machine
from ironlaw.calibration.curve import Curve
from ironlaw.calibration.machine_calibration import Calibration
from ironlaw.errors import BadRegistry, UnknownName
from ironlaw.registry import calibrations as curves
from ironlaw.registry.evidence import evidence, measured
from ironlaw.registry.loader import folder, normal, read, slugs
from ironlaw.registry.machines import known_local, reported

LAPTOP = (folder("hardware") / "laptop_cpu.toml").read_text()
FILE = {
    "format": "ironlaw-evidence/1", "machine": {"hardware": "this_machine", "l3_bytes": 32 << 20}, "software": {"torch": "2"},
    "date": "2026-11-15", "method": "by hand",
}  # fmt: skip


@pytest.fixture
def home(ironlaw_home):
    """Puts files of this machine where measuring leaves them."""

    def put(kind, name, text):
        path = ironlaw_home / kind / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if isinstance(text, str) else json.dumps(text))
        return path

    return put


@pytest.fixture
def laptop(home):
    return home("hardware", "this_machine.toml", LAPTOP)


@pytest.fixture
def workstation(home):
    """One that was measured on its GPU."""
    return home("hardware", "this_machine.toml", (folder("hardware") / "h200_sxm.toml").read_text())


# ---- a GPU of the registry that was measured briefly


def briefly(tb_s: float, tflops: float) -> str:
    """What a short measurement of an A100 leaves: rates, and no row for curves."""
    told = 'estimate = true\nwhy = "measured"\nsource = "ironlaw measure"\ndate = "2026-11-16"\n'
    figures = {"memory": "80 GiB", "bandwidth": f"{tb_s} TB/s", "power": "400 W", "launch": "6 us", "peak.fp16": f"{tflops} TFLOP/s"}
    head = 'name = "This machine: NVIDIA A100-SXM4-80GB"\nkind = "gpu"\nbackend = "cuda"\ncontext = "cloud"\ndatasheet = "a100_80gb_sxm"\n'
    return head + "".join(f'[{name}]\nvalue = "{value}"\n{told}' for name, value in figures.items())


def test_a_short_measurement_pulls_in_what_other_machines_taught(home):
    times = {}
    for rates in ((1.8, 250.0), (1.5, 250.0), (1.8, 150.0)):
        home("hardware", "this_machine.toml", briefly(*rates))
        machine = il.hardware("this")
        p = il.predict(il.workload("gpt2", batch=8, dtype="fp16"), machine)
        assert (machine.slug, p.basis) == ("this_machine", "transferred") and p.interval[0] < p.seconds < p.interval[1]
        assert any(source.startswith("measured briefly") for source in p.sources)
        times[rates] = p.busy_s
    assert times[1.8, 250.0] < min(times[1.5, 250.0], times[1.8, 150.0])
    assert machine.peaks == il.hardware("a100").peaks and machine.launch == pytest.approx(6e-6)
    home("hardware", "this_machine.toml", briefly(1.8, 250.0).replace("ironlaw measure", f"ironlaw measure{local_machine.NOISY}"))
    assert {said.partition(":")[0] for said in il.hardware("this").caveats} == {"noisy", "measured briefly"}


def test_a_file_that_names_no_machine_of_the_registry(home):
    home("hardware", "this_machine.toml", briefly(1.8, 250.0).replace("a100_80gb_sxm", "z1000"))
    with pytest.raises(BadRegistry, match=r"this_machine\.toml can't be used: no hardware 'z1000'.*; or run `ironlaw measure`"):
        il.hardware("this")


def test_every_name_that_a_driver_reports_is_one_machine_s():
    names = [name for slug in slugs("hardware") for name in read(folder("hardware") / f"{slug}.toml").get("reported", ())]
    assert len(names) == len(set(names)) == len(reported()) and reported()["NVIDIA A100-SXM4-80GB"] == "a100_80gb_sxm"


# ---- the machine


@pytest.mark.parametrize("typed", ["this", "here", "This Machine", "this-machine", "this_machine", "local", " THIS "])
def test_the_names_people_type(typed, laptop):
    assert il.hardware(typed).slug == "this_machine"


@pytest.mark.parametrize("typed", ["this", "here", "this machine", "local"])
def test_not_measured_yet_says_how(typed):
    with pytest.raises(UnknownName, match=r"^this machine was not measured yet; run `ironlaw measure` first .* ask again$"):
        il.hardware(typed)
    assert "this_machine" not in il.machines() and "this_machine" not in measured()
    assert evidence("this_machine") == () and curves.calibration("this_machine") is None and known_local() is None


def test_it_is_read_as_the_registry_reads_its_own(laptop):
    here, there = il.hardware("this"), il.hardware("laptop_cpu")
    assert (here.peaks, here.bandwidth, here.levels, here.figures) == (there.peaks, there.bandwidth, there.levels, there.figures)
    assert (here.aliases, here.calibration) == (("this", "here", "local"), None)
    assert il.machines()[-1] == "this_machine" and len(set(il.machines())) == len(il.machines())
    assert il.hardware("this") is here  # not read again


def test_no_machine_of_the_registry_may_take_its_names():
    for slug in il.machines():
        assert not {normal(name) for name in (slug, *il.hardware(slug).aliases)} & set(local_machine.NAMES)


def test_a_near_miss_names_it():
    with pytest.raises(UnknownName, match=r"did you mean .*this"):
        il.hardware("thsi")


def test_measured_again_it_is_read_again(laptop):
    assert il.hardware("this").bandwidth == 89.6e9
    other = laptop.with_suffix(".new")
    other.write_text(LAPTOP.replace("89.6 GB/s", "12.5 GB/s"))
    os.replace(other, laptop)  # as another process does it
    assert il.hardware("this").bandwidth == 12.5e9
    laptop.unlink()
    with pytest.raises(UnknownName):
        il.hardware("this")


def test_another_home_is_another_machine(laptop, tmp_path, monkeypatch):
    assert il.hardware("this")
    monkeypatch.setenv("IRONLAW_HOME", str(tmp_path / "elsewhere"))
    with pytest.raises(UnknownName):
        il.hardware("this")


def test_a_damaged_file_is_an_error_with_a_next_step_and_no_hindrance(laptop):
    laptop.write_text("damaged = ")
    with pytest.raises(BadRegistry, match=r"this_machine\.toml can't be used: .*run `ironlaw measure` to measure this machine again"):
        il.hardware("this")
    assert known_local() is None and "this_machine" not in il.machines()
    laptop.write_text(LAPTOP.replace('source = "AMD Ryzen', 'sauce = "AMD Ryzen'))
    with pytest.raises(BadRegistry, match="has no source"):
        il.hardware("this")


def test_a_file_that_is_no_file(laptop):
    laptop.unlink()
    laptop.mkdir()
    with pytest.raises(BadRegistry, match="can't be read"):
        il.hardware("this")


def test_without_a_home_the_registry_still_works(monkeypatch):
    monkeypatch.setenv("IRONLAW_HOME", "~nobody_by_that_name/ironlaw")
    assert known_local() is None and local_machine.state() == ()
    assert "h100_sxm" in il.machines() and "h200_sxm" in measured()


def test_a_stamp_is_of_one_place(laptop):
    """The same file under another name is another file; one that is not there leaves no trace."""
    twin = laptop.with_name("twin.toml")
    os.link(laptop, twin)
    assert local_machine.stamp(laptop) != local_machine.stamp(twin)
    assert local_machine.stamp(twin, laptop.with_name("absent.toml")) == local_machine.stamp(twin)


# ---- curves


STORED = il.hardware("h200_sxm").calibration


def test_curves_are_read_and_read_again(workstation, home):
    assert il.hardware("this").calibration is None
    path = home("calibration", "this_machine.json", STORED.to_json())
    assert il.hardware("this").calibration == STORED == curves.calibration("this_machine")
    path.write_text(json.dumps(replace(STORED, graph_gap=1.0).to_json()))
    assert il.hardware("this").calibration.graph_gap == 1.0
    path.unlink()
    assert il.hardware("this").calibration is None


def test_curves_of_another_device_are_not_used(laptop, home):
    """A processor's figures beside a GPU's curves: the figures count, and the prediction says so."""
    home("calibration", "this_machine.json", STORED.to_json())
    machine = il.hardware("this")
    assert machine.calibration is None
    assert any(
        "of another device; run `ironlaw measure`" in source
        for source in il.predict(il.workload("mlp8_1024", dtype="fp32"), machine).sources
    )


NEWER = STORED.to_json() | {"curves": {"gemm": {"floor": 1e-6, "warp_drive": 9.0}}}


@pytest.mark.parametrize(
    ("content", "why"),
    [("{", "JSONDecodeError"), ("[]", "TypeError"), ("null", "TypeError"), ("{}", "KeyError"), (json.dumps(NEWER), "TypeError")],
    ids=["cut", "list", "null", "empty", "newer"],
)
def test_damaged_or_newer_curves(laptop, home, content, why):
    home("calibration", "this_machine.json", content)
    message = rf"this_machine\.json is damaged, or another version of ironlaw wrote it \({why}: .+\); run `ironlaw measure`"
    with pytest.raises(BadRegistry, match=message):
        il.hardware("this")
    assert known_local() is None


def test_curves_that_can_not_be_read_say_why(laptop, ironlaw_home):
    (ironlaw_home / "calibration" / "this_machine.json").mkdir(parents=True)
    with pytest.raises(BadRegistry, match=r"this_machine\.json can't be read \(Is a directory\); check its permissions, or run `ironlaw"):
        local_machine.calibration()


def test_curves_are_written_as_the_registry_writes_its_own(ironlaw_home):
    stored = il.hardware("neoverse_n1_2core").calibration
    local_machine.store_curves(stored)
    text = (ironlaw_home / "calibration" / "this_machine.json").read_bytes()
    assert text == (folder("calibration") / "neoverse_n1_2core.json").read_bytes()


# ---- evidence


def test_evidence_is_read_and_read_again(laptop, home):
    home("evidence/this_machine", "machine.json", FILE | {"rows": [{"kind": "launch", "op": "add", "wall_s": 1e-6}]})
    (found,) = evidence("this_machine")
    assert (found.name, len(found.rows)) == ("this_machine/machine", 1)
    assert measured()[-1] == "this_machine"
    home("evidence/this_machine", "models.json", FILE | {"rows": [{"kind": "model", "model": "x"}]})
    assert [file.name for file in evidence("this_machine")] == ["this_machine/machine", "this_machine/models"]
    home("evidence/this_machine", ".models.json", "half a file that someone left")
    assert len(evidence("this_machine")) == 2


def test_newer_evidence_says_what_to_do(laptop, home):
    home("evidence/this_machine", "machine.json", FILE | {"format": "ironlaw-evidence/9", "rows": [1]})
    with pytest.raises(
        BadRegistry, match=r"this_machine/machine has format 'ironlaw-evidence/9', .*update ironlaw, or run `ironlaw measure`"
    ):
        evidence("this_machine")


def test_rows_without_figures_are_no_measured_machine(home):
    home("evidence/this_machine", "models.json", FILE | {"rows": [{"kind": "model", "model": "x"}]})
    assert "this_machine" not in measured()


# ---- fitting


def rows(*kinds):
    known = [row for file in evidence("h200_sxm") for row in file.rows]
    return [row for row in known if row.kind in kinds][:400]


def some(*ops, each=5):
    """A few rows of each op, with the device's time."""
    known = [row for file in evidence("h200_sxm") for row in file.rows if row.kind == "op" and row.busy_s and not row.error]
    return [row for op in ops for row in [r for r in known if r.op == op][:each]]


def store_fit(rows, described, sources, machine="h200_sxm"):
    typed = [row if isinstance(row, Row) else Row.from_json(row) for row in rows]
    return local_machine.store_curves(local_fit.fit(typed, described, il.hardware(machine), sources))


@pytest.mark.parametrize("missing", ["add", "linear", "conv2d", "layer_norm"])
def test_curves_need_every_kind_of_op(missing, laptop):
    ops = [op for op in ("add", "linear", "conv2d", "layer_norm") if op != missing]
    assert store_fit(rows("launch") + some(*ops), {"l2_bytes": 1 << 25, "gpu": "x"}, ()) is None


class Asked:
    """Curves that remember which op was asked for, where and how."""

    def __init__(self):
        self.questions = []

    def fitted_cost(self, op, hardware, plan):
        self.questions.append((op, hardware, plan))
        return SimpleNamespace(device=1e-6)


PRODUCTS, NORMS, STREAMS = ("linear", "matmul"), ("layer_norm", "softmax", "batch_norm"), ("add", "mul", "relu")


def test_one_op_of_each_kind_is_enough_and_without_a_kind_there_are_no_curves(monkeypatch):
    monkeypatch.setattr(local_fit, "calibrate", lambda *_, **__: Asked())

    def fitted(*ops):
        return local_fit.fit([Row(kind="op", op=op) for op in ops], {}, il.hardware("h200_sxm"), ()) is not None

    for ops in product(PRODUCTS, ("conv2d",), NORMS, STREAMS):
        assert fitted(*ops) and not any(fitted(*ops[:i], *ops[i + 1 :]) for i in range(4)), ops
    assert not fitted(*PRODUCTS, *NORMS, *STREAMS)


def test_the_usual_ops_are_tried_on_this_machine_before_curves_are_kept(monkeypatch):
    """In FP32, which every device has, and in whole tiles: 64 divides by every alignment."""
    monkeypatch.setattr(local_fit, "calibrate", lambda *_, **__: asked)
    asked, machine = Asked(), il.hardware("t4")
    assert local_fit.fit([Row(kind="op", op=op) for op in ("linear", "conv2d", "softmax", "add")], {}, machine, ()) is asked
    assert {op.kind for op, _, _ in asked.questions} >= {"matmul", "add", "layer_norm", "softmax"}
    for op, where, plan in asked.questions:
        assert where is machine and plan.mode == "eager"
        for tensor in (*op.inputs, *op.outputs):
            assert tensor.dtype == "fp32" and all(size % 64 == 0 for size in tensor.shape)


def test_curves_are_fitted_and_stored(workstation, ironlaw_home):
    machine = evidence("h200_sxm")[1].machine
    fitted = store_fit(rows("launch") + some("add", "linear", "conv2d", "layer_norm"), machine, ("by a test",))
    assert isinstance(fitted, Calibration) and fitted.sources == ("by a test",)
    path = ironlaw_home / "calibration" / "this_machine.json"
    here, like = il.hardware("this").calibration, il.hardware("h200_sxm").calibration
    assert Calibration.from_json(json.loads(path.read_text())) == replace(here, scatter={}, common=0.0) == fitted
    # no model was measured here: a prediction has an interval all the same, and says by whose models
    assert (here.scatter, here.common) == (like.scatter, like.common)
    p = il.predict(il.workload("mlp8_1024"), il.hardware("this"))
    assert p.interval[0] < p.seconds < p.interval[1] and any("scatter as on h200_sxm" in source for source in p.sources)
    assert [p.name for p in path.parent.iterdir()] == ["this_machine.json"]  # nothing half-written stays


@pytest.mark.parametrize("few", [[], rows("op")[:2], rows("launch"), [{"kind": "op", "op": "add", "params": {}, "error": "no"}]])
def test_too_few_rows_leave_no_curves(few, laptop, home):
    stale = home("calibration", "this_machine.json", STORED.to_json())
    assert store_fit(few, {"l3_bytes": 1 << 25}, ()) is None
    assert not stale.exists() and il.hardware("this").calibration is None


def test_a_device_without_a_backend_gets_no_curves(laptop):
    """An AMD GPU under PyTorch looks like CUDA; nothing of it is fitted to another device's kernels."""
    some_rows = rows("launch") + some("add", "linear", "conv2d", "layer_norm")
    assert store_fit(some_rows, {"l2_bytes": 1 << 25}, (), "mi300x") is None


def test_a_machine_that_tells_no_cache_gets_no_curves(laptop):
    assert store_fit(rows("launch") + some("add", "linear", "conv2d", "layer_norm"), {}, ()) is None


@pytest.mark.parametrize("curve", [Curve(0.0), Curve(float("inf")), Curve(-1.0), None], ids=["nothing", "forever", "negative", "missing"])
def test_curves_that_predict_nonsense_are_not_stored(curve, laptop, monkeypatch):
    """Each op of a small graph must get a finite time above zero."""
    usable = rows("launch") + some("add", "linear", "conv2d", "layer_norm")
    described = evidence("h200_sxm")[1].machine
    bad = replace(STORED, curves={} if curve is None else {"elementwise": curve, "gemm_fp32": curve, "layer_norm": curve, "softmax": curve})
    monkeypatch.setattr(local_fit, "calibrate", lambda *_, **__: bad)
    assert local_fit.fit(usable, described, il.hardware("h200_sxm"), ()) is None
    monkeypatch.setattr(local_fit, "calibrate", lambda *_, **__: STORED)
    assert local_fit.fit(usable, described, il.hardware("h200_sxm"), ()) is STORED


def test_a_write_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    path.write_text("before")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        home_of.replace_text(path, "after")
    assert path.read_text() == "before" and list(tmp_path.iterdir()) == [path]


# ---- from another process, and at the command line


def test_a_measurement_of_another_process_is_seen(laptop, ironlaw_home):
    before = il.hardware("this").bandwidth
    code = (
        "from ironlaw import home; from ironlaw.calibration import local_fit, local_machine; p = local_machine.figures();"
        + "home.replace_text(p, p.read_text(encoding='utf-8').replace('89.6 GB/s', '42 GB/s'))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
    assert (before, il.hardware("this").bandwidth) == (89.6e9, 42e9)
