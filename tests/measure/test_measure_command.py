"""`ironlaw measure` without a target, on a machine made of a fake clock; and what it needs to run at all."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from described import json_is_described  # noqa: F401
from fake import FakeDevice, Quiet

from ironlaw import hardware
from ironlaw.cli import main, parser
from ironlaw.cli import measure as command
from ironlaw.cli.show.progress_bar import ProgressBar
from ironlaw.measure.devices.device_kinds import KINDS
from ironlaw.measure.machine.characterise import characterise
from ironlaw.measure.noise import Noise
from ironlaw.measure.rows import typed
from ironlaw.measure.suites.cuda.parts import PARTS
from ironlaw.registry.evidence import read

SOURCE = Path(command.__file__).parents[2]


@pytest.fixture
def here(monkeypatch):
    """This machine is a fake one; `here.others` is what others take of a processor, `here.before` their share before it begins."""

    class Here:
        device, others, before = FakeDevice(), 0.0, 0.0

    def run(device, sizes, progress, rest=None):
        few = replace(sizes, each=sizes.each / 10, tiny=sizes.tiny / 10)  # its calls take the same time every time
        return characterise(device, few, progress, watch=lambda: Quiet(device.clock, Here.others), rest=rest)

    monkeypatch.setattr(command, "settled", lambda *_: Noise(Here.before, 0.0, 0.0))
    monkeypatch.setattr(command, "choose", lambda kind: Here.device)
    monkeypatch.setattr(command, "characterise", run)
    return Here


def ran(capsys, *argv):
    code = main(["measure", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_machine_is_measured_told_and_stored(here, capsys, ironlaw_home):
    code, out, _ = ran(capsys)
    assert code == 0
    for word in ("fp32", "1 TFLOP/s", "converted in software", "50 GB/s", "softmax", "6 µs", "quiet", "--on this"):
        assert word in out, word
    assert "this_machine.toml" in "".join(out.split())  # a long path is broken at the terminal's edge
    assert hardware("this").peak("fp32") == pytest.approx(1e12, rel=0.02)
    assert (ironlaw_home / "evidence/this_machine/machine.json").exists()


def test_one_of_several_gpus_is_named(here, capsys, monkeypatch):
    asked = []
    monkeypatch.setattr(command, "choose", lambda kind: asked.append(kind) or here.device)
    gpu = {"hardware": "this_machine", "backend": "cuda", "gpu": "NVIDIA H200", "sms": 132, "cores": 8, "device": "cuda:1"}
    monkeypatch.setattr(here.device, "machine", lambda: gpu)
    code, out, _ = ran(capsys, "--short", "--device", "cuda:1")
    assert code == 0 and asked == ["cuda:1"] and "cuda:1" in out
    assert hardware("this").name == "This machine: NVIDIA H200, cuda:1"


def test_json(here, capsys):
    code, out, _ = ran(capsys, "--short", "--json")
    told = json.loads(out)
    assert code == 0 and told["slug"] == "this_machine"
    assert told["peaks"]["fp32"] == pytest.approx(1e12, rel=0.02)
    assert told["launches"]["add"] == pytest.approx(2e-6, rel=0.02)
    assert told["compile_s"] is None
    assert all(Path(path).exists() for path in told["stored"])


def test_a_noisy_machine_is_set_aside_and_taken_as_it_is_on_request(here, capsys, ironlaw_home):
    here.others = 0.9
    code, out, err = ran(capsys, "--short")
    aside = ironlaw_home / "noisy_measurement.json"
    assert (code, out) == (2, "") and "set aside, not stored" in err
    assert list(ironlaw_home.rglob("*.*")) == [aside]
    code, out, _ = ran(capsys, "--keep", str(aside))
    assert code == 0 and "NOISY: other processes took" in out and "--on this" in out
    assert "noisy" in hardware("this").figures["bandwidth"].source


def test_a_noisy_measurement_for_a_file_lies_beside_it(here, capsys, tmp_path, ironlaw_home):
    here.others, out = 0.9, tmp_path / "mine.json"
    code, _, err = ran(capsys, "--short", "--out", str(out))
    beside = tmp_path / "mine_noisy.json"
    assert code == 2 and f"--keep {beside}" in " ".join(err.split()) and list(tmp_path.glob("*.json")) == [beside]
    assert list(ironlaw_home.rglob("*.*")) == []
    assert {row.extra.get("noisy") for row in read(beside).rows} == {True}


def test_a_machine_that_is_busy_before_is_refused_at_once(here, capsys, monkeypatch):
    here.before = 0.7
    monkeypatch.setattr(here.device, "launches", lambda: pytest.fail("measured all the same"))
    code, out, err = ran(capsys)
    assert (code, out) == (2, "")
    assert "nothing was measured" in err and "70%" in err


def test_unless_forced(here, capsys):
    here.others = here.before = 0.9
    code, out, _ = ran(capsys, "--short", "--force")
    assert code == 0 and "NOISY" in out and "measured twice" in " ".join(out.split())


def test_out_writes_evidence_and_stores_no_machine(here, capsys, tmp_path, ironlaw_home):
    code, out, _ = ran(capsys, "--short", "--out", str(tmp_path / "a" / "machine.json"))
    assert code == 0 and "nothing is stored as `this`" in out
    assert read(tmp_path / "a" / "machine.json").rows
    assert list(ironlaw_home.rglob("*.*")) == []


def test_ctrl_c_leaves_nothing_and_is_130(here, capsys, ironlaw_home, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(here.device, "launches", interrupted)
    assert ran(capsys)[0] == 130
    assert list(ironlaw_home.rglob("*.*")) == []


def test_ctrl_c_among_the_operators_keeps_what_is_there(here, capsys, monkeypatch):
    real = list(here.device.cases())

    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(here.device, "cases", lambda: iter([*real[:2], replace(real[2], prepare=interrupted)]))
    monkeypatch.setattr(here.device, "compiles", lambda longest: pytest.fail("measured on"))
    code, out, _ = ran(capsys, "--json")
    told = json.loads(out)
    assert code == 130 and hardware("this").peak("fp32") == pytest.approx(1e12, rel=0.02)
    assert "stopped after 2 of 3 operators, which are kept; `ironlaw measure` measures the rest" in told["notes"]
    rows = read(Path(told["stored"][0])).rows
    assert [row.op for row in rows if row.kind == "op"][-2:] == ["relu", "relu"]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("--short", "--full"), "give one of them"),
        (("--keep", "a.json", "--short"), "give it alone"),
        (("--keep", "no_such_file.json"), "can't be read"),
        (("--short", "--seconds", "3"), "leave --seconds out"),
        (("--device", "tpu"), "cpu, cuda, mps"),
        (("--device", "cuda:x"), "'cuda:x' is not a valid device"),
        (("--device", "mps:1"), "with several GPUs cuda:0, cuda:1"),
        (("resnet50", "--short"), "leave it out"),
        (("resnet50", "--part", "ops"), "--part is for measuring the machine; leave it out"),
        (("--part", "ops"), "give --full too"),
        (("--full", "--seconds", "0"), "give a finite number above 0"),
        (("--full", "--seconds", "10s"), "'10s' is not a number; write one such as"),
        (("--batch", "4"), "--batch needs a model; name one (ironlaw measure resnet50 --batch …)"),
        (("--ops", "3"), "--ops needs a model"),
        (("--input", "2x2"), "--input needs a model"),
    ],
)
def test_bad_input(capsys, argv, words):
    code, out, err = ran(capsys, *argv)
    assert (code, out) == (2, "") and words in err


def test_a_place_that_can_not_be_written_to_is_said_before_anything_is_measured(here, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(here.device, "launches", lambda: pytest.fail("measured all the same"))
    file = tmp_path / "thesis.txt"
    file.write_text("mine")
    for out, words in (
        (tmp_path, f"{tmp_path} is a folder; give a file in it, such as --out {tmp_path / 'evidence.json'}"),
        (file, f"{file} exists but can't be read as evidence, so it is left as it is; give another --out"),
        (file / "a.json", f"cannot create the folder {file} (File exists); give another --out"),
    ):
        code, told, err = ran(capsys, "--short", "--out", str(out))
        assert (code, told) == (2, "") and words in " ".join(err.split())
    assert file.read_text() == "mine"
    monkeypatch.setattr("os.access", lambda *_: False)
    assert f"cannot write to the folder {tmp_path}; give another --out" in ran(capsys, "--short", "--out", str(tmp_path / "b.json"))[2]
    assert "set IRONLAW_HOME to a folder that you can write to" in ran(capsys, "--short")[2]


def test_the_examples_parse():
    for line in command.EXAMPLE.strip().splitlines():
        assert parser("measure").parse_args(line.split()[2:])


def test_full_needs_torch(here, capsys):
    here.device.library = "numpy"
    code, _, err = ran(capsys, "--full")
    assert code == 2 and "pip install torch" in err


def test_full_knows_no_mps(here, capsys):
    here.device.kind = KINDS["mps"]
    code, _, err = ran(capsys, "--full")
    assert code == 2 and "--device cpu" in err


def test_full_adds_the_wide_sweep(here, capsys, monkeypatch):
    row = {"kind": "op", "op": "relu", "params": {"numel": 4096, "dtype": "fp32"}, "wall_s": 3e-6}
    monkeypatch.setattr(
        "ironlaw.measure.suites.suite_sweep.sweep",
        lambda device, progress, stop, seconds, parts: typed([row | {"asked": [device.kind.name, seconds]}]),
    )
    code, out, _ = ran(capsys, "--full", "--seconds", "7", "--json")
    assert code == 0
    assert read(Path(json.loads(out)["stored"][0])).rows[-1].extra["asked"] == ["cpu", 7.0]


def test_what_the_sweep_could_not_measure_is_told(here, capsys, monkeypatch):
    row = {"kind": "op", "op": "relu", "params": {"numel": 4096, "dtype": "fp32"}, "wall_s": 3e-6}
    broken = {"kind": "op", "op": "gelu", "params": {"numel": 4096, "dtype": "fp32"}, "error": "out of memory"}
    monkeypatch.setattr(
        "ironlaw.measure.suites.suite_sweep.sweep", lambda *asked: typed([row, broken, {"kind": "error", "op": "launches", "error": "no"}])
    )
    code, out, _ = ran(capsys, "--full", "--json")
    assert code == 0
    assert "2 of 3 cases of the wide sweep could not be measured; their rows say why" in json.loads(out)["notes"]


def test_only_a_gpu_has_parts(here, capsys):
    code, _, err = ran(capsys, "--full", "--part", "ops")
    assert code == 2 and "only the sweep of a GPU comes in parts" in err


def test_a_part_that_there_is_not(here, capsys, monkeypatch):
    here.device.kind = KINDS["cuda"]
    monkeypatch.setattr(command, "settled", lambda *_: pytest.fail("waited all the same"))
    code, _, err = ran(capsys, "--full", "--part", "ops, norm")
    assert code == 2 and "no part 'norm' of the sweep; choose from ops, more, norms," in err


def test_help_names_every_part():
    assert all(f" {name}" in parser("measure").format_help() for name in PARTS)


class Terminal:
    def __init__(self, live):
        self.live, self.text = live, ""

    def isatty(self):
        return self.live

    def write(self, text):
        self.text += text

    def flush(self):
        pass


def test_a_bar_on_a_terminal_is_wiped():
    stream = Terminal(True)
    with ProgressBar(stream, columns=60) as meter:
        meter(0.5, "matrix products " + "x" * 100)
    assert " 50%  matrix products" in stream.text
    assert max(len(part) for part in stream.text.split("\r")) < 60 + len("\x1b[K")
    assert stream.text.endswith("\r\x1b[K")


def test_lines_elsewhere_now_and_then():
    stream = Terminal(False)
    with ProgressBar(stream) as meter:
        meter(0.25, "bandwidth")
        meter(0.26, "too soon for another line")
    assert stream.text == " 25%  bandwidth\n"


BLOCK = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Block())
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name.partition(".")[0] in {hidden!r} else real(name, package)
from ironlaw.cli import main, measure
from ironlaw.measure.machine.machine_sizes import Sizes
measure.SHORT = Sizes("tiny", each=0.002, longest=0.01, streams=1, ops=False, patience=0.0)  # a real run, of seconds
sys.exit(main({argv!r}))
"""
THIRD = {
    "rich", "starlette", "uvicorn", "sqlalchemy", "alembic", "marimo", "anywidget", "markdown", "fsrs", "platformdirs", "scipy", "plotly",
    "pandas",
}  # fmt: skip


def bare(hidden, *argv, home):
    """The command in an interpreter that has none of `hidden`."""
    code = BLOCK.format(hidden=THIRD | hidden, argv=["measure", *argv])
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "IRONLAW_HOME": str(home)}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, timeout=300, check=False)


def test_with_neither_numpy_nor_torch_it_says_what_to_install(tmp_path):
    done = bare({"numpy", "torch"}, home=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "needs NumPy or PyTorch" in done.stderr and "pip install numpy" in done.stderr


def test_a_gpu_needs_torch(tmp_path):
    done = bare({"torch"}, "--device", "cuda", home=tmp_path)
    assert done.returncode == 2 and "pip install torch" in done.stderr


def test_numpy_alone_measures_this_machine(tmp_path):
    """A real run, short; what is held is physics that no machine breaks."""
    done = bare({"torch"}, "--short", "--force", "--json", home=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["machine"]["library"] == "numpy"
    assert told["peaks"]["fp32"] > 1e9
    assert 1e-7 < told["launch"] < 1e-3
    assert 1e8 < told["bandwidth"] < 1e13
    assert (tmp_path / "hardware" / "this_machine.toml").exists()


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_in_the_middle_of_a_real_run(tmp_path):
    code = BLOCK.format(hidden=THIRD | {"torch"}, argv=["measure", "--short", "--force"])
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "IRONLAW_HOME": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as process:
        assert "%" in process.stderr.readline()  # it has begun
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=180)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert list(tmp_path.rglob("*.*")) == []


def test_help_needs_nothing(tmp_path):
    done = bare({"numpy", "torch"}, "--help", home=tmp_path)
    assert done.returncode == 0 and "--device" in done.stdout
