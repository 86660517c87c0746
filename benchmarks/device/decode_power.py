"""Board power while a decoder decodes, by batch: joules a token, measured.

    PYTHONPATH=src python3 benchmarks/device/decode_power.py --out DIR [--model llama3_8b] [--seconds 6]

Writes DIR/decode_power.json: a row per batch and context. The steps are those of serving_steps.py, recorded as one CUDA graph and
replayed for seconds on end. Without a GPU a two-layer model runs on the processor and no power is read, to try the program.
"""

import argparse
import functools
import statistics
import subprocess
import threading
import time

import torch
from gpu import sync, write
from serving_steps import CUDA, SMALL, Decoder, inputs

from ironlaw.measure.devices.cuda_graphs import record
from ironlaw.registry.workloads import about

METHOD = (
    "Decoding steps of a decoder with random weights in BF16 (see serving_steps), recorded as one CUDA graph and replayed without a pause "
    "for `seconds`. watts: mean of nvidia-smi's power.draw.instant every 100 ms over the last two thirds; idle_watts: over two seconds "
    "before the first step, with the weights in memory. piped_s: of a step, over the same part. joules_per_token: watts x piped_s / batch"
)
CASES = [(batch, context) for context in (1024, 4096) for batch in (1, 8, 32, 64, 128, 256, 512) if batch * context <= 524_288]


class Meter:
    """Reads the board's power in the background; empty where there is no nvidia-smi."""

    def __init__(self):
        self.readings = []
        command = ["nvidia-smi", "--query-gpu=power.draw.instant", "--format=csv,noheader,nounits", "-lms", "100"]
        try:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        except OSError:
            self.process = None
            return
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.readings.append((time.perf_counter(), float(line)))

    def mean(self, begin, end):
        inside = [watts for at, watts in self.readings if begin <= at <= end]
        return round(statistics.fmean(inside), 2) if inside else None

    def stop(self):
        if self.process:
            self.process.kill()


def steady(call, seconds):
    """Begin and end of the last two thirds, and the seconds of a call in it."""
    begin = time.perf_counter()
    counted, since = 0, 0.0
    while not counted or time.perf_counter() - begin < seconds:
        for _ in range(8):
            call()
        sync()
        now = time.perf_counter()
        if now - begin > seconds / 3:
            since, counted = since or now, counted + 8 * bool(since)
    end = time.perf_counter()
    return since, end, (end - since) / counted


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser(description=METHOD)
    parser.add_argument("--out", required=True)
    parser.add_argument("--model", default="llama3_8b")
    parser.add_argument("--seconds", type=float, default=6.0)
    args = parser.parse_args()
    p = about(args.model)["params"]
    model = Decoder(p if CUDA else SMALL, p["layers"] if CUDA else 2)
    sync()
    meter = Meter()
    time.sleep(2.5)
    idle = meter.mean(time.perf_counter() - 2.0, time.perf_counter())
    rows = []
    for batch, context in CASES if CUDA else [(1, 16), (2, 16)]:
        sizes = (batch, context, 0, 0)
        given = inputs(model, *sizes)
        step = functools.partial(model.step, *given, *sizes)
        since, end, took = steady(record(torch, step) if CUDA else step, args.seconds if CUDA else 0.3)
        watts = meter.mean(since, end)
        params = {"model": args.model, "batch": batch, "context": context, "dtype": "bf16", "layers": len(model.layers)}
        more = {"watts": watts, "idle_watts": idle, "joules_per_token": round(watts * took / batch, 6)} if watts else {}
        rows.append(
            {"kind": "function", "name": "decode_power", "params": params, "mode": "eager_graphs", "piped_s": round(took, 9), **more}
        )
        print(batch, context, f"{1e3 * took:.3f} ms", more, flush=True)
        del given, step
        if CUDA:
            torch.cuda.empty_cache()
        write(f"{args.out}/decode_power.json", METHOD, rows, seconds=args.seconds)
    meter.stop()


if __name__ == "__main__":
    main()
