"""Fifteen small programs, each written so that it waits for the GPU (or wastes it) and as it should be, timed by turns on a GPU.

    PYTHONPATH=src python3 benchmarks/device/waiting_scripts.py --out DIR [--seconds 70] [--dry-run]
    python benchmarks/device/waiting_scripts.py --judge DIR/waiting_scripts.json

Writes DIR/waiting_scripts.json: the machine, what launching costs its host in these minutes, and for each program and way of writing it
the wall time of a step, its device time and its peak of memory, or why there is none. `--judge` needs ironlaw and PyTorch, no GPU: it
captures the same programs, predicts them, and sets each predicted gain beside the measured one. Nothing was fitted to them.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent))
import torch
from waiting_programs import PROGRAMS

TURNS, QUEUED = 5, 6  # rounds, and steps queued back to back in each
METHOD = (
    f"Random weights and inputs. Both ways of writing a program take turns, {TURNS} times round: after a step of its own each runs "
    f"{QUEUED} steps queued back to back and one synchronise; wall_s: the median over the turns, per step; low_s and high_s: the ends. "
    "busy_s and kernels: GPU activities (copies too) from torch.profiler, medians of 3 steps, after all wall times. memory_bytes: "
    "max_memory_allocated during a step, less what the process held before the program was built."
)


def built(name, right, device, made_on=None):
    """(the step, its batch). `device`: as the step calls it; `made_on`: where tensors are made, if elsewhere."""
    torch.manual_seed(0)
    with torch.device(made_on or device):
        return PROGRAMS[name](right, device)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=".")
    parser.add_argument("--seconds", type=float, default=70.0, help="after which no program is begun any more")
    parser.add_argument("--dry-run", action="store_true", help="without a GPU, one step each, to try it")
    parser.add_argument("--judge", metavar="FILE", help="hold what is in FILE against the predicted gains")
    args = parser.parse_args()
    if args.judge:
        judge(args.judge)
        return
    begun = time.time()
    rows, calls = [], {}
    for name in PROGRAMS:
        if time.time() - begun > args.seconds:
            rows.append({"program": name, "error": "no time left"})
            continue
        try:
            mine = {right: prepared(name, right, args.dry_run, rows) for right in (False, True)}
            time_walls(name, mine, args.dry_run, rows)
            calls |= {(name, right): call for right, call in mine.items()}
        except Exception as error:
            rows.append({"program": name, "error": f"{type(error).__name__}: {str(error)[:200]}"})
        keep(args.out, rows, None)
    host = None
    if not args.dry_run:
        from own_runs import host_profile

        host = host_profile()
        keep(args.out, rows, host)
        profile_steps(calls, rows)
    keep(args.out, rows, host)
    print(f"{len(rows)} rows in {time.time() - begun:.0f} s")


def keep(out, rows, host):
    from gpu import GPU

    from ironlaw.measure.software_host import software

    about = {"method": METHOD, "machine": GPU.machine() | {"hardware": "h200_sxm"}, "software": software(), "host": host}
    Path(out).mkdir(parents=True, exist_ok=True)
    (Path(out) / "waiting_scripts.json").write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n")


def prepared(name, right, dry, rows):
    from gpu import sync

    device = "cpu" if dry else "cuda"
    before = 0 if dry else torch.cuda.memory_allocated()
    step, batch = built(name, right, device)
    if dry:
        batch = tuple(x[:4] for x in batch)
    step(*batch)
    if not dry:
        step(*batch)
        sync()
        torch.cuda.reset_peak_memory_stats()
        step(*batch)
        sync()
        rows.append({"program": name, "right": right, "memory_bytes": torch.cuda.max_memory_allocated() - before})
    return lambda: step(*batch)


def time_walls(name, calls, dry, rows):
    from gpu import sync

    turns, queued = (1, 1) if dry else (TURNS, QUEUED)
    walls = {right: [] for right in calls}
    for turn in range(turns):
        for right in (False, True) if turn % 2 else (True, False):
            calls[right]()
            sync()
            start = time.perf_counter()
            for _ in range(queued):
                calls[right]()
            sync()
            walls[right].append((time.perf_counter() - start) / queued)
    for right, seconds in walls.items():
        ends = min(seconds), max(seconds)
        rows.append({"program": name, "right": right, "wall_s": median(seconds), "low_s": ends[0], "high_s": ends[1]})
    print(name, *(f"{'right' if right else 'wrong'} {1e3 * median(seconds):.2f} ms" for right, seconds in walls.items()), flush=True)


def profile_steps(calls, rows):
    from gpu import GPU

    from ironlaw.measure.devices.kernel_times import profile

    cases = [lambda call=call: call for call in calls.values()]
    for (name, right), seen in zip(calls, profile(GPU, cases, warmup=1, iterations=3, keep=6), strict=True):
        rows.append({"program": name, "right": right, **{key: seen[key] for key in ("kernels", "busy_s", "list", "error") if key in seen}})


# ---- without one


def judge(file):
    import ironlaw as il
    from ironlaw.calibration import stored_curves

    told = json.loads(Path(file).read_text())
    host = stored_curves.host(told["host"]) if told["host"] and "error" not in told["host"] else None
    machine, signs, near, count = il.hardware(told["machine"]["hardware"]), 0, 0, 0
    print(f"{'program':28}{'wrong':>9}{'predicted':>10}{'right':>9}{'predicted':>10}{'gain':>8}{'predicted':>10}{'memory':>12}")
    for name in PROGRAMS:
        seen = {right: {} for right in (False, True)}
        for row in told["rows"]:
            if row["program"] == name and "right" in row:
                seen[row["right"]].update(row)
        if not all("wall_s" in row for row in seen.values()):
            continue
        said = {right: il.predict(il.capture(*built(name, right, "cuda", "cpu")), machine, il.Plan(host=host)) for right in seen}
        measured, predicted = (
            one[False] / one[True]
            for one in ({r: row["wall_s"] for r, row in seen.items()}, {r: float(p.seconds) for r, p in said.items()})
        )
        count += 1
        near += abs(predicted / measured - 1.0) < 0.15
        signs += (measured > 1.0) == (predicted > 1.0) or (abs(measured - 1.0) < 0.03 and abs(predicted - 1.0) < 0.06)
        times = "".join(f"{1e3 * seen[r]['wall_s']:9.2f}{1e3 * float(said[r].seconds):10.2f}" for r in seen)
        memory = " ".join(f"{float(said[r].memory.total) / seen[r]['memory_bytes']:.2f}" for r in seen)
        print(f"{name:28}{times}{measured:8.3f}{predicted:10.3f}{memory:>12}")
    print(f"sign right in {signs} of {count}, within 15 % in {near} of {count}")


if __name__ == "__main__":
    main()
