"""60 argument lists, 300 before a release, drawn by seed over all commands: whatever is typed, the answer is a result or one paragraph,
never a traceback."""

import random
import shutil

import pytest
from how_thorough import RELEASE

from ironlaw.cli import COMMANDS, parser
from ironlaw.errors import BadValue
from ironlaw.kit.lab import LABS

LISTS = 300 if RELEASE else 60
PARTS = 12  # tests that share them
BAD = ("", "0", "-1", "nan", "1e400", "½", "--", "a,b", ",", "None", "x" * 300, "../..", "🙂", "1,,2", "%", "=", ":", "1000000000000")
POOLS = {
    "HW": ("h200", "t4", "this", "cortex_m7", "laptop_cpu"),
    "HW[,HW]": ("h200", "h200,t4", "mi300x,h100,h100", "a100_80gb_sxm", "tpu_v5e", "cortex_m7"),
    "HW=N[,…]": ("h200=3.5", "h200=3.5,t4=0.4", "t4=0"),
    "WORKLOAD": ("mlp8_1024", "dscnn_kws", "gpt2_layer", "resnet18"),
    "MODEL": ("llama3_2_1b", "gpt2", "llama3_8b"),
    "TARGET": ("mlp8_1024", "gpt2_layer", "resnet18", "none.py:net", "hf:GPT2Config", "x.pt2"),
    "FMT": ("fp16", "float64", "torch.bfloat16", "half", "int8", "fp8", "tf32", "float32"),
    "FMT[,FMT]": ("own,int8", "int4"),
    "N": ("1", "2", "8", "64"),
    "N[,N]": ("1", "1,8", "64,8,64"),
    "N,N": ("8,4", "2", "16"),
    "MODE[,MODE]": ("eager", "compiled,graphs", "eager_graphs"),
    "TIME": ("5ms", "10 us", "0", "2 min", "1e-9"),
    "SIZE": ("51 MB", "1", "1e30"),
    "SHARE": ("5%", "0.5", "100%"),
    "SHAPE[:FMT]": ("8x3x224x224", "8x128:int64", "0x1"),
    "KEY=VALUE": ("a=1", "num_hidden_layers=2"),
    "NAME": ("vm", "bare", "mlp8_1024", "predict", "adamw", "mixed", "main", "layout"),
    "POINTS": ("2:1.8,4:2.9", "1:95,2:51", "1:1"),
    "SIZES": ("1:5 ms,8:6 ms", "1:1"),
    "M,N,K": ("64,64,64", "1,1,1"),
    "K=N,…": ("tensor=8", "data=3"),
    "BOX": ("dgx_h100",),
    "KIND": ("claim",),
    "ACT": ("show", "verify", "path", "report"),
    "ACTION": ("check",),
    "TABLE": ("llama_cpp_scoreboard",),
    "N|all": ("all", "3"),
    "STAGE": ("0", "2", "9"),
    "S": ("fixed", "exponential", "0.5"),
    "[check | add FILE] [NAME]": ("check", "h200", "h100_sxm"),
    "FILE": ("none.json", "."),
}


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """Without what takes minutes or never ends: a server, a browser, a GPU's worth of measuring, the user's own file."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(LABS / "_template", tmp_path / "labs" / "_template")
    monkeypatch.setattr("ironlaw.cli.lab.labs", lambda: tmp_path / "labs")  # where `lab new` writes

    def refuse(*args, **kwargs):
        raise BadValue("not here; try elsewhere")

    for place in (
        "ironlaw.worker.run", "ironlaw.server.serve", "ironlaw.cli.measure.choose", "ironlaw.cli.measure_host.choose",
        "ironlaw.cli.measure_model.measured", "ironlaw.cli.coverage.corpus", "ironlaw.site.build_site.build",
        "ironlaw.kit.lab_check.problems", "ironlaw.compare.comparisons",
    ):  # fmt: skip
        monkeypatch.setattr(place, refuse)


def value(action, draw):
    """One that the option takes, or now and then any text at all."""
    if draw.random() < 0.05:
        return draw.choice(BAD)
    if action.choices:
        return draw.choice(list(action.choices))
    return draw.choice(POOLS.get(action.metavar, ("1", "x", "resnet18")))


def arguments(command, draw):
    argv = [command]
    for action in parser(command)._actions:
        if action.dest == "help":
            continue
        needed = action.required or not action.option_strings
        if draw.random() > (0.97 if needed else 0.12):
            continue
        if not action.option_strings:
            argv.append(value(action, draw))
        elif action.nargs == 0:
            argv.append(action.option_strings[-1])
        else:
            argv += [action.option_strings[-1], value(action, draw)]
    if command == "capacity":  # a load as large as it may be takes minutes
        argv += ["--requests", "20", "--most", "2"]
    return argv


@pytest.mark.parametrize("part", range(PARTS))
def test_whatever_is_typed(sh, quick, monkeypatch, part):
    draw = random.Random(part)
    monkeypatch.setattr("builtins.input", lambda *words: "q")
    names = list(COMMANDS)
    for number in range(part, LISTS, PARTS):
        argv = arguments(names[number % len(names)], draw)
        code, out, err = sh(*argv)
        assert code in (0, 1, 2), (argv, code, err)
        assert code == 0 or err.count("\n") == 1 or not err, (argv, err)
        assert code != 2 or (err and ("--json" in argv or not out)), (argv, out[:200])
