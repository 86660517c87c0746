"""Jobs for a worker, written to a folder on the path: the worker imports them as it would ironlaw's own."""

import textwrap

import pytest

from ironlaw import worker


@pytest.fixture
def job(tmp_path, monkeypatch):
    """`job("def job(request, send): …")` runs that in a worker; user's code is in user.py beside it."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    count = 0

    def run(code, request=None, **options):
        nonlocal count
        count += 1
        (tmp_path / f"job_{count}.py").write_text("import os, signal, subprocess, sys, time, threading\n\n\n" + textwrap.dedent(code))
        options = {"name": f"job_{count}.py", "limit_s": 30.0} | options
        return worker.run(f"job_{count}:job", request, **options)

    return run
