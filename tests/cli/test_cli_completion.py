"""TAB in a shell: what is offered where, that commands take it, and that the answer needs none of them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ironlaw.cli import ALIASES, COMMANDS, completion, completion_server, parser

# what takes figures, texts of the user's own, or names that depend on what else was given
FREE = {
    "A=B[,…]", "ADDRESS", "CV", "ID", "K", "K=N,…", "KEY=VALUE", "M,N,K", "MINUTES", "N", "N,N", "N[,N]", "P", "POINTS", "RATE", "RESULT",
    "S", "SHAPE[:FMT]", "SHARE", "SIZE", "SIZES", "STAGE", "TIME", "TOPIC", "VALUE", "X",
}  # fmt: skip
IN_BASH = """
eval "$(ironlaw completion bash)"
for line in "$@"; do
  COMP_LINE=$line COMP_POINT=${#line} COMP_TYPE=9
  _python_argcomplete ironlaw
  (IFS='|'; echo "${COMPREPLY[*]}")
done
"""


@pytest.mark.skipif(os.name == "nt", reason="there is no bash to ask")
def test_bash_completes(tmp_path):
    program = tmp_path / "ironlaw"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ironlaw "$@"\n')
    program.chmod(0o755)
    (tmp_path / "net.py").touch()
    lines = {
        "ironlaw pre": ["predict "],
        "ironlaw predict resnet1": ["resnet101", "resnet18"],
        "ironlaw predict resnet50 --on h100_sxm,t": [
            f"h100_sxm,{name}" for name in ("t4", "tpu_v4", "tpu_v5e", "tpu_v5p", "tpu_v6e", "tpu_v7", "trainium2", "this")
        ],
        "ironlaw predict no_such --on nowhere --mode=eager,c": ["eager,compiled "],
        "ironlaw analyze ne": ["net.py "],
        "ironlaw predict resnet50 --batch ": [""],
    }
    environment = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    command = [shutil.which("bash"), "-c", IN_BASH, "bash", *lines]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=180, check=True)
    assert [line.split("|") for line in done.stdout.splitlines()] == list(lines.values()), done.stderr


@pytest.mark.skipif(os.name == "nt", reason="no descriptor 8 to answer on")
@pytest.mark.parametrize(("shell", "answer"), [("zsh", f"predict:{COMMANDS['predict']}"), ("fish", f"predict\t{COMMANDS['predict']}")])
def test_zsh_and_fish_get_words_of_explanation_and_wait_for_no_command(tmp_path, shell, answer):
    line, place = "ironlaw pred", tmp_path / "answer"
    asked = {"COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE": "1", "_ARGCOMPLETE_SHELL": shell}
    asked |= {"_ARGCOMPLETE_STDOUT_FILENAME": str(place), "_ARGCOMPLETE_SUPPRESS_SPACE": "1"}
    asked |= {"_ARGCOMPLETE_DFS": "\t"} if shell == "fish" else {}
    program = [sys.executable, "-X", "importtime", "-m", "ironlaw"]
    done = subprocess.run(program, env=os.environ | asked, capture_output=True, text=True, timeout=180, check=True)
    assert place.read_text() == answer
    loaded = {text.rpartition("|")[2].strip() for text in done.stderr.splitlines()}
    assert "ironlaw.cli.completion_server" in loaded and not loaded & {
        "ironlaw.cli.options",
        "ironlaw.cli.predict",
        "rich",
        "numpy",
        "torch",
        "marimo",
    }
    assert not [name for name in loaded if name.startswith("ironlaw.engine")]


def options():
    known = completion_server.parser(COMMANDS, ALIASES)._subparsers._group_actions[0].choices
    for command in COMMANDS:
        for action, one in zip(parser(command)._actions, known[command]._actions, strict=True):
            yield command, action, one


def test_what_is_offered_is_taken():
    seen = 0
    for _, action, known in options():
        if not callable(action.type) or not hasattr(known, "completer"):
            continue
        names = [word for word in known.completer("") if word not in ("this", "here") and not Path(word).exists()]  # files hold anything
        words = [word + "3.5" * word.endswith("=") for word in names]
        for word in words[:1] + words[-1:]:
            action.type(word)
            seen += 1
    assert seen > 40


def test_every_option_that_takes_a_name_offers_some():
    for command, action, known in options():
        if action.nargs != 0 and action.metavar not in FREE:
            assert hasattr(known, "completer"), f"{command} {action.dest}: say in cli/grammar.py what it takes, then run scripts/docs.py"


def test_a_list_does_not_offer_twice():
    complete = completion_server.completer(["eager", "compiled", "graphs"], several=True)
    assert complete("eager,") == ["eager,compiled", "eager,graphs"]
    assert completion_server.completer(["fp16", "fp8"], several=False)("f") == ["fp16", "fp8"]


def test_a_script_for_each_shell(sh):
    for shell, line in zip(completion.SHELLS, ("complete -o", "compdef _python", "complete --command ironlaw"), strict=True):
        assert line in sh.out("completion", shell)
    code, _, err = sh("completion")
    assert code == 2 and "needs one of bash, zsh, fish" in err
    code, _, err = sh("completion", "tcsh")
    assert code == 2 and "tcsh" in err and "'fish'" in err
