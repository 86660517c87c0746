"""Commands that run a user's file do so in a process of its own, which imports PyTorch anew: seconds each time.

Here the same job runs in this process, and what it takes and gives still goes through JSON. tests/worker and tests/attack start processes,
and tests/torch/test_capture_job.py holds that both ways give the same graphs.
"""

import json
from importlib import import_module

import pytest
from described import json_is_described  # noqa: F401

from ironlaw import worker


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch):
    def run(job, request, *, name, limit_s=0.0, on_part=None):
        module, _, function = job.partition(":")
        send = (lambda part: on_part(copied(part))) if on_part else (lambda part: None)
        return copied(getattr(import_module(module), function)(copied(request), send))

    monkeypatch.setattr(worker, "run", run)


def pytest_collection_modifyitems(items):
    """The zoo first: its three tests share half a minute of capturing, and two workers begin in the middle of what is listed."""
    items.sort(key=lambda item: item.path.name != "test_capture_zoo.py")


def copied(message):
    return json.loads(json.dumps(message))
