"""What torch.compile costs on a small function, in a process of its own with empty caches.

The first function pays for loading the compiler (`startup_s`), the second only for itself (`compile_s`). A process of its own can be
abandoned when it takes too long, and leaves nothing behind in this one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from ironlaw.measure.rows import Draft, function_row, rounded

SHAPE = (1024, 1024)
SCRIPT = """
import json, sys, time
import torch
device = sys.argv[1]
if device.startswith("cuda:"):
    torch.cuda.set_device(device)
waits = {"cuda": lambda: torch.cuda.synchronize(), "mps": lambda: torch.mps.synchronize()}
wait = waits.get(device.partition(":")[0], lambda: None)
torch.set_grad_enabled(False)
x, y = (torch.randn(1024, 1024, device=device) for _ in "xy")

def first(x):
    return torch.tanh(x) + 1.0

def function(x, y):
    return torch.sigmoid(x).relu() * y + x

def took(call):
    wait()
    start = time.perf_counter()
    call()
    wait()
    return time.perf_counter() - start

def median(call):
    for _ in range(3):
        call()
    return sorted(took(call) for _ in range(15))[7]

startup = took(lambda once=torch.compile(first, dynamic=False): once(x))
fast = torch.compile(function, dynamic=False)
compiled = took(lambda: fast(x, y))
times = {"startup_s": startup, "compile_s": compiled}
print(json.dumps(times | {"eager": median(lambda: function(x, y)), "compiled": median(lambda: fast(x, y))}))
"""


def cost(device: str, longest: float) -> tuple[list[Draft], list[str]]:
    """Rows of kind function (eager and compiled), or a note on why there are none."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as empty:
        caches = {"TORCHINDUCTOR_CACHE_DIR": os.path.join(empty, "inductor"), "TRITON_CACHE_DIR": os.path.join(empty, "triton")}
        try:
            done = subprocess.run(
                [sys.executable, "-c", SCRIPT, device], capture_output=True, text=True, timeout=longest, env=os.environ | caches, check=True
            )
            times = json.loads(done.stdout.strip().splitlines()[-1])
        except subprocess.TimeoutExpired:
            return [], [f"torch.compile had not compiled two small functions after {longest:.0f} s: it was abandoned"]
        except subprocess.CalledProcessError as error:
            last = (error.stderr or "").strip().splitlines()
            return [], [f"torch.compile failed here: {last[-1][:160] if last else 'no message'}"]
        except (OSError, ValueError, IndexError) as error:
            return [], [f"torch.compile could not be tried: {error}"]
    return rows(times), []


def rows(times: dict[str, float]) -> list[Draft]:
    """What the process printed, as evidence."""
    name, params = "sigmoid_relu_muladd", {"shape": list(SHAPE), "dtype": "fp32"}
    digits = {key: rounded(value) for key, value in times.items()}
    compiled = {"wall_s": digits["compiled"], "compile_s": digits["compile_s"], "startup_s": digits["startup_s"]}
    return [function_row(name, params, "eager", {"wall_s": digits["eager"]}), function_row(name, params, "compiled", compiled)]
