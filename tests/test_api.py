"""The public names and their signatures: changing one is a decision, not an accident."""

import inspect

import pytest

import ironlaw as il

# fmt: off
NAMES = {
    "Graph", "Hardware", "IronlawError", "Plan", "Prediction", "advise", "analyze", "breakeven", "capacity", "capture", "fuse", "hardware",
    "cluster", "diff", "kv_cache", "levers", "machines", "memory", "predict", "predictions", "privacy", "quantise", "queue", "scale",
    "run_study", "serve", "slo", "study", "register_cost", "roofline", "workload", "workloads", "host", "hosts",
}
MACHINES = (
    "h100_sxm", "h100_pcie", "h200_sxm", "a100_80gb_sxm", "a100_40gb_pcie", "b200", "l4", "t4", "v100", "mi300x", "tpu_v5e",
    "orin_nx_16gb", "a17_npu", "laptop_cpu", "pi5", "cortex_m7",
)
WORKLOADS = (
    "resnet50", "mobilenet_v2", "dscnn_kws", "mlp8_1024", "vit_b16", "bert_base", "gpt2", "gpt2_layer", "llama3_8b", "llama3_70b",
)
# fmt: on


def test_the_list():
    assert set(il.__all__) == NAMES
    assert len(il.__all__) == len(NAMES)
    for name in il.__all__:
        assert getattr(il, name) is not None
    assert il.__version__.count(".") == 2
    assert sorted([*(name for given in il.HOMES.values() for name in given), *il.QUESTIONS]) == sorted(il.__all__)
    assert set(il.__all__) <= set(dir(il))
    with pytest.raises(AttributeError, match="no attribute 'predicts'"):
        il.predicts  # noqa: B018


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("hardware", ["name"]),
        ("workload", ["name", "settings"]),
        ("predict", ["graph", "hardware", "plan"]),
        ("roofline", ["flops", "bytes", "hardware", "fmt", "level", "work"]),
        ("fuse", ["graph", "rules"]),
        ("capture", ["module_or_fn", "args", "kwargs", "training", "progress", "changes"]),
        ("analyze", ["model", "args", "kwargs", "on", "modes", "training", "host", "launch", "per_day", "more"]),
        ("breakeven", ["compile_s", "eager_rate", "compiled_rate"]),
        ("kv_cache", ["name", "batch", "context", "dtype"]),
        ("machines", []),
        ("workloads", []),
        ("host", ["name"]),
        ("hosts", []),
        ("Plan", ["mode", "dispatch", "calibrated", "launch", "efficiency", "fp32", "host", "transferred"]),
    ],
)
def test_signatures(name, parameters):
    assert list(inspect.signature(getattr(il, name)).parameters) == parameters


def test_the_front_page():
    """The calls that README and issue promise, as they are written there."""
    hw = il.hardware("h100_sxm")
    assert hw.peak("fp16") == pytest.approx(989e12, rel=1e-3)
    assert hw.bandwidth == 3.35e12
    assert (hw.capacity, hw.usable) == (80 * 2**30, 80 * 2**30 - hw.reserved)
    assert hw.ridge("fp16") == pytest.approx(295, abs=0.5)
    g = il.workload("resnet50", batch=1, dtype="fp16")
    assert g.params == 25_557_032
    assert g.flops == pytest.approx(8.178e9, rel=1e-3)
    assert g.bytes > 2 * g.params
    assert g.kernels == pytest.approx(len(g.ops), rel=0.5)
    p = il.predict(g, hw, il.Plan(mode="eager"))
    assert isinstance(p, il.Prediction)
    assert p.overlap[0] <= p.seconds <= p.overlap[1]
    for name in ("data_s", "compute_s", "overhead_s", "busy_s", "utilization", "kernels"):
        assert getattr(p, name) > 0
    assert p.bound in ("memory", "compute", "overhead")
    assert len(p.ops) == len(g.ops)
    assert p.fits
    assert p.memory.total > 0
    assert p.calibrated is False
    assert il.predict(g, hw).seconds == p.seconds
    assert il.predict(g, hw, il.Plan(mode="eager", dispatch="synchronous")).seconds >= p.seconds


def test_the_other_calls():
    hw = il.hardware("h100_sxm")
    point = il.roofline(1e12, 1e9, hw, "fp16")
    assert (point.regime, point.mfu) == ("compute", 1.0)
    assert point.attainable == hw.peak("fp16")
    plan = il.fuse(il.workload("resnet50"))
    assert plan.kernels == plan.graph.kernels < il.workload("resnet50").kernels
    assert all(group.reason for group in plan.groups)
    assert il.breakeven(compile_s=30, eager_rate=1450, compiled_rate=2150) == pytest.approx(133607.142857, abs=1e-5)
    assert il.breakeven(compile_s=30, eager_rate=1450, compiled_rate=1450) == float("inf")
    assert il.kv_cache("llama3_8b", batch=1, context=1, dtype="fp16") == 131072


@pytest.mark.parametrize("slug", MACHINES)
def test_machines_to_keep(slug):
    assert slug in il.machines()
    assert il.hardware(slug).slug == slug


@pytest.mark.parametrize("slug", WORKLOADS)
def test_workloads_to_keep(slug):
    assert slug in il.workloads()
    assert il.workload(slug).flops > 0


def test_what_a_session_shows_is_short():
    assert (
        repr(il.fuse(il.workload("resnet50"))).startswith("<FusionPlan of resnet50: ") and len(repr(il.fuse(il.workload("resnet50")))) < 100
    )
    assert not any(name.isupper() for name in dir(il)) and set(il.__all__) <= set(dir(il))


def test_a_plan_takes_its_host_by_name():
    named, given = (il.predict("resnet50", "h100", il.Plan(host=host)) for host in ("bare", il.host("bare")))
    assert named.seconds == given.seconds


@pytest.mark.parametrize("name", [None, 3])
def test_a_machine_has_a_name(name):
    with pytest.raises(il.IronlawError, match="such as 'h100'"):
        il.hardware(name)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: il.roofline("resnet50", "h100"), "il.roofline(2e12, 3e9, 'h200', 'fp16')"),
        (lambda: il.roofline("resnet50", 1, "h100", "fp16"), "il.predict('resnet50', 'h100')"),
        (lambda: il.predict("resnet50", "h100", dtype="fp16"), "no parameter `dtype`"),
        (lambda: il.predict("resnet50"), "also needs `hardware`"),
        (lambda: il.queue(rat=5, service="5 ms"), "did you mean `rate`"),
        (lambda: il.queue(1, "5 ms", rate=2), "`rate` is given twice"),
        (lambda: il.cluster("llama3_8b", "h100"), "also needs `box` and `batch_tokens`"),
        (lambda: il.scale(*range(50)), "and there are 50"),
        (lambda: il.serve("llama3_2_1b", on="h200").devices, "how much traffic is there?"),
        (lambda: il.workload("resnet50", batch=1.5), "give a whole number"),
        (lambda: il.workload("gpt2", context=512), "phase='decode'"),
        (lambda: il.workload("gpt2", phase="prefill", context=5), "phase='decode'"),
        (lambda: il.workload("gpt2", phase="decode", seq=5), "give `context`"),
        (lambda: il.workload("resnet50", batch=True), "give a whole number"),
        (lambda: il.memory("gpt2", on=5), "such as 'h100'"),
        (lambda: il.host(None), "such as 'bare'"),
        (lambda: il.breakeven("resnet50", "h100"), "il.breakeven(compile_s=45"),
        (lambda: il.machines("h100"), "at most 0 values"),
        (lambda: il.diff(5, "new.json"), "this is an int; give a file"),
        (lambda: il.study(1), "il.study('my.toml')"),
    ],
)
def test_a_wrong_call_is_answered_by_what_to_write(wrong, said):
    with pytest.raises(il.IronlawError) as error:
        wrong()
    assert said in str(error.value)


def test_serve_is_asked_by_names():
    assert il.serve is il.capacity
    assert il.roofline(2e12, 3e9, "h200", "float16") == il.roofline(2e12, 3e9, il.hardware("h200"), "fp16")
