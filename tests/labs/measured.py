"""Runs of the experiments with figures that a hand can check, as the ledger of this machine would hold them."""

from ironlaw.measure.experiments import fan_out, omission, trials
from ironlaw.measure.rows import case_row, figure_row
from ironlaw.measure.software_host import machine


def timing(seconds):
    return {"wall_s": seconds, "low_s": 0.9 * seconds, "high_s": 1.2 * seconds, "best_s": 0.9 * seconds, "samples": 30}


def function(name, params, mode, seconds):
    return {"kind": "function", "name": name, "params": {**params, "dtype": "fp32"}, "mode": mode, **timing(seconds)}


def launch(op, seconds):
    return {"kind": "launch", "op": op, "params": {"dtype": "fp32"}, **timing(seconds), "sync_s": seconds, "sync_low_s": seconds,
            "sync_high_s": seconds}  # fmt: skip


FASTER = {"fp64": 1, "fp32": 2, "half": 8, "tenth": 40}


ROWS = {
    "tiny_ops": [launch("nothing", 1e-7), launch("add", 2e-6)],
    "ds_cnn": [
        {"kind": "model", "workload": "dscnn_kws", "params": {"batch": n, "dtype": "fp32"}, "mode": "eager", **timing(n * 2e-3)}
        for n in trials.BATCHES
    ],
    # twice as fast in one pass on every size but the smallest
    "three_op_chain": [
        function("layernorm_dropout_relu", {"shape": list(shape)}, mode, seconds)
        for shape in trials.SHAPES
        for mode, seconds in (("eager", 4e-3), ("blocked", 4e-3 if shape == trials.SHAPES[0] else 2e-3))
    ],
    # n ops take n milliseconds, in one pass a quarter of that
    "pointwise_chain": [
        function("pointwise_chain", {"shape": list(trials.WIDE), "ops": n}, mode, n * 1e-3 * (1.0 if mode == "eager" else 0.25))
        for n in trials.LENGTHS
        for mode in ("eager", "blocked")
    ],
    # 10 GFLOP/s at N = 64, then 40
    "gemm_sweep": [
        {"kind": "op", "op": "matmul", "params": {"m": n, "n": n, "k": n, "dtype": "fp32"}, **timing(2 * n**3 / rate)}
        for n, rate in ((64, 1e10), (512, 2e10), (1024, 4e10))
    ],
    # a stall of half a second: 4 ms to the polite, 480 ms to the users
    "omission": [
        figure_row(way, f"P{100 * p:g}, {omission.LABELS[way]}", value, 0.9 * value, 1.1 * value, "s", 400, p=p)
        for way, values in ((omission.CLOSED, (6e-4, 7e-4, 4e-3)), (omission.OPEN, (7e-4, 0.3, 0.48)))
        for p, value in zip(omission.PERCENTILES, values, strict=True)
    ],
    # a call takes 10 µs, and one in a hundred 1 ms; slow ones come together: pages of a hundred take half of what independent ones would
    "fan_out": [
        case_row(fan_out.LEAF, "one call", {"k": 1, "quantiles": [1e-5] * 198 + [1e-3] * 3}, timing(1e-5)),
        *(case_row(fan_out.PAGE, f"slowest of {k} in a row", {"k": k}, timing(k * 1e-6 + 1e-5)) for k in fan_out.JOINED[1:]),
        *(case_row(fan_out.INDEPENDENT, f"slowest of {k}", {"k": k}, timing(2 * k * 1e-6 + 1e-5)) for k in fan_out.JOINED[1:]),
    ],
    # the model is 8 ms of 10; it gets 2, 8 and 40 times as fast, and the whole as Amdahl's law says
    "stages": [
        case_row(name, name, {"variant": "fp64"}, timing(seconds))
        for name, seconds in (("inflate", 1e-3), ("resize", 0.9e-3), ("best", 0.1e-3))
    ]
    + [case_row("model", "the model", {"variant": variant}, timing(8e-3 / factor)) for variant, factor in FASTER.items()]
    + [case_row("whole", "the whole", {"variant": variant}, timing(2e-3 + 8e-3 / factor)) for variant, factor in FASTER.items()],
    # the gaps of COMPAS as drawn once, and intervals that narrow with the people
    "resample": [
        figure_row(f"{rate}_gap", rate, value, low, high, "%", 2000)
        for rate, value, low, high in (("fpr", 21.4, 18.2, 24.6), ("fnr", -19.7, -23.4, -16.1), ("ppv", 3.8, -0.1, 7.6))
    ]
    + [figure_row(f"{rate}_ratio", rate, value, 0.9 * value, 1.1 * value, "×", 2000) for rate, value in (("fpr", 1.91), ("ppv", 1.07))],
    "train_here": [
        figure_row("precision", f"{group}, {people}", value, value - half, value + half, "%", people, people=people, group=group)
        for people, half in ((1_000, 5.0), (10_000, 1.5), (100_000, 0.5))
        for group, value in (("A", 60.0), ("B", 30.0))
    ],
    # threads: 1.6 and 2 times as fast on two and four workers; processes: 1.9 and 3.4
    "workers": [
        case_row(way, f"{n} {way}", {"workers": n, "items": 48}, timing(0.2 / speedup))
        for way, speedups in (("threads", (1, 1.6, 2)), ("processes", (1, 1.9, 3.4)))
        for n, speedup in zip((1, 2, 4), speedups, strict=True)
    ],
}  # fmt: skip


def keep(ledger, lab, *names, **more):
    """Store runs of these experiments."""
    for name in names:
        told = {
            "experiment": name, "library": "NumPy 2.1.3", "rows": ROWS[name], "machine": machine(), "software": {"python": "3.11.2"},
            "noise": {"noisy": False, "reasons": []}, **more,
        }  # fmt: skip
        ledger.append(lab, "measured", told)
