"""Commands that run a user's file do so in a process of its own, which imports PyTorch anew: seconds each time.

Here the same job runs in this process, and what it takes and gives still goes through JSON. A capture that was asked for before, of the
same file with the same settings, is handed out again. tests/worker and tests/attack start processes, and
tests/torch/test_capture_job.py holds that both ways give the same graphs.
"""

import json
from importlib import import_module
from pathlib import Path

import pytest
from described import json_is_described  # noqa: F401
from shell import sh  # noqa: F401

from ironlaw import worker
from ironlaw.systems.captures import file_of

CAPTURED = {}  # what was asked -> what the job sent and gave, as JSON


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch):
    def run(job, request, *, name, limit_s=0.0, on_part=None):
        module, _, function = job.partition(":")
        parts, key = [], json.dumps([job, request, source(request)])

        def send(part):
            parts.append(json.dumps(part))
            if on_part:
                on_part(json.loads(parts[-1]))

        if key in CAPTURED:
            for part in CAPTURED[key][0]:
                send(json.loads(part))
            return json.loads(CAPTURED[key][1])
        gave = json.dumps(getattr(import_module(module), function)(json.loads(json.dumps(request)), send))
        if source(request):
            CAPTURED[key] = parts, gave
        return json.loads(gave)

    monkeypatch.setattr(worker, "run", run)


@pytest.fixture
def one_compilation(monkeypatch):
    """PyTorch's compiler tries each set of vector instructions and compiles its headers first: four times what one loop takes."""
    monkeypatch.setattr("torch._inductor.cpu_vec_isa.valid_vec_isa_list", lambda: [])
    monkeypatch.setattr("torch._inductor.config.cpp_cache_precompile_headers", False, raising=False)


def source(request):
    """What a capture follows from beside its settings: a class of transformers, or the text of a file. Nothing of other jobs is kept."""
    target = Path(file_of(request["target"])) if "phases" in request else Path()
    if target.suffix == ".py" and target.is_file():
        return target.read_text(encoding="utf-8")
    return target.name if target.name.startswith("hf:") and target.name.endswith("Config") else ""
