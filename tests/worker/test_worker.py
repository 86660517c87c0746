"""A user's code in a process of its own: whatever it does, there is a result or a clear message, and nothing is left running."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ironlaw.errors import BadValue, CaptureBreak, IronlawError
from ironlaw.worker import process_group, worker_session
from ironlaw.worker.json_values import decode, encode

posix = pytest.mark.skipif(os.name != "posix", reason="signals")
linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def gone(pid, within=120.0):
    """Whether a process is no more, or only waits to be reaped."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


# ---- what comes back


def test_a_result_and_its_parts(job):
    parts = []
    code = """
    def job(request, send):
        for i in range(3):
            send({"i": i, "text": "µ\\n" * 3})
        return {"request": request, "argv": sys.argv, "pid": os.getpid()}
    """
    result = job(code, {"a": [1, 2.5, None, "x"]}, on_part=parts.append)
    assert result["request"] == {"a": [1, 2.5, None, "x"]} and result["argv"] == ["job_1.py"] and result["pid"] != os.getpid()
    assert parts == [{"i": i, "text": "µ\n" * 3} for i in range(3)]


def test_a_large_result(job):
    """More than a pipe holds, while the code prints as well."""
    code = """
    def job(request, send):
        for i in range(200):
            send("x" * 100_000)
            print("y" * 1000)
        return 7
    """
    parts = []
    assert job(code, on_part=parts.append) == 7 and [len(part) for part in parts] == [100_000] * 200


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        -2.5,
        float("inf"),
        "µ",
        b"\xff\0",
        1 + 2j,
        ...,
        (),
        (1, (2, [3])),
        [1, (2,)],
        {1: (2,), "a": {"b": [()]}},
        {1, 2},
        10**40,
    ],
)
def test_values_there_and_back(value):
    import json

    back = decode(json.loads(json.dumps(encode(value))))
    assert back == value and type(back) is type(value)


def test_values_that_have_no_place_in_json():
    with pytest.raises(TypeError, match=r"a Path can't be sent|a PosixPath can't be sent|a WindowsPath can't be sent"):
        encode([Path()])
    for bad in ({}, {"tuple": [], "set": []}, {"class": "os.system"}):
        with pytest.raises((ValueError, KeyError)):
            decode(bad)


def test_an_error_of_ours_keeps_its_class_and_field(job):
    code = """
    from ironlaw.errors import CaptureBreak

    def job(request, send):
        raise CaptureBreak("at line 3", "batch")
    """
    with pytest.raises(CaptureBreak, match="at line 3") as caught:
        job(code)
    assert caught.value.field == "batch"


def test_a_fault_of_ours_is_not_blamed_on_the_file(job):
    with pytest.raises(RuntimeError, match="ModuleNotFoundError: No module named 'no_such_module'"):
        worker_session.run("no_such_module:job", None, name="model.py", limit_s=30)


# ---- how it ends


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("sys.exit(0)", r"job_1\.py calls sys\.exit\(0\) at job_1\.py:5 \(sys\.exit\(0\)\), so there is no result; .*__main__"),
        ("sys.exit('bye')", r"calls sys\.exit\('bye'\) at job_1\.py:5"),
        ("os._exit(0)", r"job_1\.py ended its own process \(exit code 0\) before there was a result"),
        ("os._exit(3)", r"exit code 3"),
        ("raise ValueError('no such head')", r"job_1\.py fails at job_1\.py:5 .*: ValueError: no such head; fix it first"),
        ("raise KeyboardInterrupt", r"KeyboardInterrupt; fix it first"),
        ("raise type('Mute', (Exception,), {'__str__': lambda self: 1 / 0})", r"fails at .*: Mute; fix it first"),
        ("def f(): f()\n        f()", r"RecursionError"),
        ("threading.Thread(target=time.sleep, args=(600,)).start(); sys.exit(0)", r"calls sys\.exit"),
        ("os.fork() or time.sleep(600); sys.exit(1)", r"calls sys\.exit"),
        ("os.closerange(3, 64); os._exit(5)", r"exit code 5"),
    ],
    ids=["exit", "exit with words", "_exit", "_exit 3", "raises", "interrupts itself", "mute", "recursion", "thread", "fork", "closes all"],
)
@posix
def test_an_end_without_a_result(job, code, words):
    began = time.monotonic()
    with pytest.raises(BadValue, match=words):
        job(f"def job(request, send):\n        {code}\n")
    assert time.monotonic() - began < 500  # not the ten minutes that some sleep


@posix
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("SIGKILL", "was killed .SIGKILL., most often because the machine ran out of memory; build the model in a class or function"),
        ("SIGSEGV", "crashed its process .SIGSEGV. in native code"),
        ("SIGTERM", "ended from outside .SIGTERM.; run the command again"),
    ],
)
def test_an_end_by_a_signal(job, name, words):
    with pytest.raises(BadValue, match=words):
        job(f"def job(request, send):\n        os.kill(os.getpid(), signal.{name})\n        time.sleep(60)\n")


def test_a_hang_ends_at_its_limit_and_says_where(job):
    with pytest.raises(BadValue, match=r"job_1\.py was not done after 2 s, and was then at line 5; .* more time with --limit"):
        job("def job(request, send):\n        time.sleep(600)\n", limit_s=2.0)


def test_a_hang_that_keeps_sending(job):
    with pytest.raises(BadValue, match=r"was not done after 0.2 s"):
        job("def job(request, send):\n        while True:\n            send(1)\n", limit_s=0.2)


@posix
def test_the_way_back_may_be_closed(job):
    with pytest.raises(BadValue, match="closed the way back"):
        job("def job(request, send):\n        os.closerange(3, 64)\n        time.sleep(60)\n")


# ---- what it prints


def test_prints_never_reach_standard_output(job, capfd):
    code = """
    def job(request, send):
        print("python")
        os.write(1, b"descriptor 1\\n")
        subprocess.run([sys.executable, "-c", "print('child')"])
        print("error", file=sys.stderr)
        assert sys.stdin.read() == ""
        return 1
    """
    assert job(code) == 1
    out, err = capfd.readouterr()
    assert out == "" and sorted(err.split("\n")) == ["", "child", "descriptor 1", "error", "python"]


def test_a_flood_of_output_is_cut(job, capsys):
    code = "def job(request, send):\n    for _ in range(200):\n        print('x' * 100_000)\n    return 1\n"
    assert job(code) == 1
    err = capsys.readouterr().err
    assert worker_session.RELAYED < len(err) < worker_session.RELAYED + 200 and "the rest of what job_1.py prints is left out" in err


# ---- what it starts

CHILDREN = """
def job(request, send):
    sleeping = [sys.executable, "-c", "import time; time.sleep(600)"]
    plain = subprocess.Popen(sleeping)
    daemon = subprocess.Popen(sleeping, start_new_session=True)
    unmarked = subprocess.Popen(sleeping, start_new_session=True, env={{}})
    forked = os.fork()
    if not forked:
        time.sleep(600)
    send([os.getpid(), plain.pid, daemon.pid, unmarked.pid, forked])
    {end}
"""


@linux
@pytest.mark.parametrize("end", [
    "return 1", "sys.exit(0)", "os._exit(0)", "os.kill(os.getpid(), 9)", "time.sleep(600)",
    "os.kill(os.getppid(), 9); time.sleep(600)", "os.kill(os.getppid(), 11); os._exit(0)", "os.kill(os.getppid(), 19); os._exit(0)",
])  # fmt: skip
def test_nothing_that_it_started_survives(job, end):
    """Children, a daemon in a session of its own, one without an environment too, and a fork that holds the pipes open. Some kill or stop
    the process above their own as well. What the command itself started goes on."""
    pids = []
    beside = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    try:
        job(CHILDREN.format(end=end), on_part=pids.extend, limit_s=5.0 if "sleep" in end or "19" in end else 120.0)
    except BadValue:
        assert end != "return 1"
    assert len(pids) == 5 and all(gone(pid) for pid in pids)
    assert beside.poll() is None
    beside.kill()
    beside.wait()


PARENT = """
import sys
sys.path.insert(0, sys.argv[1])
from ironlaw import worker
worker.run("waiting:job", None, name="waiting.py", on_part=lambda part: print(*part, flush=True))
"""
WAITING = """
import os, subprocess, sys, time


def job(request, send):
    sleeping = [sys.executable, "-c", "import time; time.sleep(600)"]
    environments = ((False, None), (True, None), (True, {}))
    send([os.getpid(), *(subprocess.Popen(sleeping, start_new_session=daemon, env=env).pid for daemon, env in environments)])
    time.sleep(600)
"""


@linux
@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_it_ends_with_its_parent(tmp_path, name):
    """Ctrl-C, a polite end, and one that leaves the parent no time."""
    (tmp_path / "waiting.py").write_text(WAITING)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as parent:
        assert parent.stdout is not None
        pids = [int(word) for word in parent.stdout.readline().split()]
        assert len(pids) == 4
        parent.send_signal(getattr(signal, name))
        try:
            parent.wait(120)
        finally:
            parent.kill()
    assert all(gone(pid) for pid in pids)


@linux
def test_only_its_own_processes_are_ended():
    """A process of somebody else in the same group of tests, with another mark."""
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], **process_group.settings("other"))
    own = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], **process_group.settings("own"))
    try:
        time.sleep(0.2)
        assert list(process_group.marked("other")) == [other.pid]
        process_group.end(own, "own")
        assert own.poll() is not None and other.poll() is None
    finally:
        process_group.end(other, "other")


def test_what_the_file_writes_into_the_channel_is_not_taken_for_ours(job):
    """Messages that look like ours, nonsense, and half a line before a real one."""
    lines = ['{"result": 5}', '{"part": 5}', '{"internal": "boom"}', '{"error": 5}', '{"key": "x", "result": 5}', "[" * 50, "", '{"resu']
    code = f"""
    def job(request, send):
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, {chr(10).join(lines).encode()!r})
            except OSError:
                pass
        send("real")
        return 7
    """
    parts = []
    assert (job(code, on_part=parts.append), parts) == (7, ["real"])


@posix
@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("os.mkdir('x'); os.chdir('x'); os.rmdir('../x'); from pathlib import Path", "takes away the folder that it runs in"),
        ("sys.path.clear()", r"takes away folders of sys\.path"),
        ("sys.modules.clear()", r"takes away modules of sys\.modules"),
    ],
)
def test_a_file_that_takes_away_what_we_need_is_named(tmp_path, monkeypatch, code, words):
    """The file itself succeeds; what fails is ours, later."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "user.py").write_text(f"import os, sys\n{code}\n")
    (tmp_path / "ours.py").write_text(
        "def job(request, send):\n    import user\n    import os, sndhdr_that_is_not_there\n    return os.getcwd()\n"
    )
    with pytest.raises(BadValue, match=rf"user\.py {words}, .*; leave it as it was"):
        worker_session.run("ours:job", None, name="user.py", limit_s=30)


@posix
def test_a_deleted_folder_is_named_before_anything_starts(tmp_path, monkeypatch):
    (tmp_path / "x").mkdir()
    monkeypatch.chdir(tmp_path / "x")
    (tmp_path / "x").rmdir()
    with pytest.raises(BadValue, match="the folder that this command runs in was deleted"):
        worker_session.run("ours:job", None, name="user.py")


@pytest.mark.parametrize(
    "message", [{}, {"error": 5}, {"error": {"kind": "x"}}, {"error": {"kind": "annotations", "message": "m", "field": ""}}]
)
def test_a_message_that_we_never_send_is_refused(message):
    error = worker_session._error(message)
    assert isinstance(error, IronlawError) and str(error)
