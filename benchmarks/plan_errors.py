"""Compiled runs of opened own code, priced by what Inductor itself makes of them, beside our own planner and the measured times.

    python benchmarks/plan_errors.py [--runs]

Plans are in compiler_plans.json.gz (benchmarks/device/compiler_plans.py), calls of libraries timed alone with the strides they have in
them in compiler_calls.json.gz (benchmarks/device/compiler_calls.py). A loop has a rough price here: its bytes or its instructions. What
takes integers was timed on zeros, so its price is the prediction's. `held` are the models that nobody looks at by row, as in
compiled_errors.py; with --runs the others one by one. Where a plan has far more or fewer kernels than our planner it is incomplete, and
`both` then takes the planner's time, otherwise the geometric mean of the two.
"""

import argparse
import gzip
import json
import math
import warnings
from pathlib import Path
from statistics import mean, median

from compiled_errors import held
from sealed import MACHINE, SETS, key_of, opened, stored

HERE = Path(__file__).resolve().parent
START, BANDWIDTH, INSTRUCTIONS, PICKED = 1.6e-6, 3.9e12, 132 * 128 * 1.7e9, 10.0  # of a loop: rough figures of an H200
WEIGHTS = {
    "tanh": 24, "exp": 6, "sigmoid": 11, "erf": 20, "cos": 28, "sin": 28, "sqrt": 26, "rsqrt": 6, "truediv": 20, "pow": 62, "log": 8,
    "load": 0, "store": 0, "constant": 0, "reduction": 2,
}  # fmt: skip
APART = 0.35  # log of the ratio of kernels, from which on a plan is not believed


def read(name):
    return json.loads(gzip.decompress((HERE / name).read_bytes()))


def key(step):
    return json.dumps({part: step[part] for part in ("args", "call", "kwargs")}, sort_keys=True)


def integers(value):
    if isinstance(value, list):
        return any(map(integers, value))
    return isinstance(value, dict) and "tensor" in value and any(word in value["tensor"][2] for word in ("int", "bool"))


def of_loop(step):
    work = sum(count * WEIGHTS.get(kind, 1) for kind, count in step["steps"].items()) + PICKED * step["picked"]
    return START + max((step["read"] + step["written"]) / BANDWIDTH, work / INSTRUCTIONS)


def priced(steps, timed):
    """(seconds, kernels) of a plan."""
    seconds = kernels = 0.0
    for step in steps:
        if "loop" in step:
            seconds, kernels = seconds + of_loop(step), kernels + 1
        elif "call" in step:
            call = timed.get(key(step), {})
            if "busy_s" not in call or integers(step["args"]):
                call = predicted(step, timed)
            seconds, kernels = seconds + call["busy_s"], kernels + call["kernels"]
    return seconds, kernels


def predicted(step, known):
    from compiler import nodes

    import ironlaw as il
    from ironlaw.errors import IronlawError

    name = "predicted " + key(step)
    if name not in known:
        try:
            p = il.predict(il.capture(nodes.function_of(step), tuple(map(nodes.revived, step["args"]))), il.hardware(MACHINE))
            known[name] = {"busy_s": float(p.busy_s), "kernels": float(p.kernels)}
        except (IronlawError, AttributeError):  # a view, or a call that capture has no rule for
            known[name] = {"busy_s": 0.0, "kernels": 0.0}
    return known[name]


def runs(timed):
    """(model, measured row, our prediction, seconds and kernels of the plan)."""
    import ironlaw as il
    from ironlaw.tracing.graph_json import from_json

    plans = {(row["set"], row["model"], row["dtype"]): row["steps"] for row in read("compiler_plans.json.gz")}
    for name in dict.fromkeys(one for one, _, _ in plans):
        kept, graphs = json.loads((SETS / f"{name}.json").read_text()), stored(name)
        for row in kept["rows"]:
            steps, graph = plans.get((name, row["model"], row["dtype"]), ""), graphs.get(key_of(row), {"error": ""})
            whole = "error" not in graph and not isinstance(steps, str)
            if whole and row["mode"] == "compiled" and "busy_s" in row and row["model"] in opened(kept):
                p = il.predict(from_json(graph), il.hardware(MACHINE), il.Plan(mode="compiled"))
                yield row["model"], row, (float(p.busy_s), float(p.kernels)), priced(steps, timed)


def both(ours, plan):
    if not plan[1] or abs(math.log(plan[1] / ours[1])) > APART:
        return ours[0]
    return math.sqrt(ours[0] * plan[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", action="store_true")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    errors = {(side, name): [] for side in ("looked at", "held") for name in ("ours", "plan", "both", "kernels, ours", "kernels, plan")}
    for model, row, ours, plan in runs({key(call): call for call in read("compiler_calls.json.gz")}):
        side = "held" if held(model) else "looked at"
        values = [one / row["busy_s"] - 1 for one in (ours[0], plan[0], both(ours, plan))]
        values += [one / row["kernels"] - 1 for one in (ours[1], plan[1])]
        for name, value in zip(("ours", "plan", "both", "kernels, ours", "kernels, plan"), values, strict=True):
            errors[side, name].append(value)
        if args.runs and side != "held":
            print(f"{model:40}", *(f"{value:+6.0%}" for value in values))
    for (side, name), values in errors.items():
        sizes = [abs(value) for value in values]
        print(f"{side:10} {name:14} {len(values):4} runs: mean {mean(sizes):5.1%}, median {median(sizes):5.1%}, bias {mean(values):+6.1%}")


if __name__ == "__main__":
    main()
