"""`ironlaw review`: a sitting by pipe and in a terminal, the list, the figures, and bad input."""

import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import pytest

from ironlaw.ledger import open_ledger
from ironlaw.recall import beliefs, record
from ironlaw.recall.card_templates import template
from ironlaw.recall.card_variants import variant
from ironlaw.recall.grade import Grade
from ironlaw.recall.review_session import Session

COMMAND = [sys.executable, "-m", "ironlaw", "review"]


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str = ""


def piped(lines, *options, **env):
    """A whole sitting by pipe, in a process of its own."""
    done = subprocess.run(
        [*COMMAND, *options], input="".join(line + "\n" for line in lines), capture_output=True, text=True, encoding="utf-8",
        env={**os.environ, "COLUMNS": "120", **env}, timeout=120, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    return done


@pytest.fixture
def sit(sh, monkeypatch):
    """A whole sitting, its lines read from where a pipe would bring them."""

    def sit(lines, *options):
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(line + "\n" for line in lines)))
        return Done(*sh("review", *options))

    return sit


def kept():
    with open_ledger() as ledger:
        return ledger.events("review")


def first_key(seed):
    """The key of the first question of a sitting with that seed."""
    return variant(template("ridge_point"), seed * 1_000_003).key


# ---- a sitting


def test_answers_are_asked_graded_and_kept(sit):
    done = sit([str(first_key(5)), "4", "q"], "--seed", "5")
    assert (done.returncode, done.stderr) == (0, "")
    for words in ("ridge point of the", "such as 7", "How sure", "25, 45, 65, 80, 95%", "Right:", "Peak over bandwidth", "comes back in"):
        assert words in done.stdout, words
    assert "1 answered, 1 right" in done.stdout
    (event,) = kept()
    assert (event.payload["card"], event.payload["correct"], event.payload["confidence"]) == ("ridge_point", True, 4)


def test_the_key_is_not_shown_before_the_answer_and_its_confidence(sit):
    key = variant(template("ridge_point"), 5 * 1_000_003).answer
    out = sit(["1"], "--seed", "5").stdout
    assert "sure>" in out and key not in out and "Peak over bandwidth" not in out and kept() == []


def test_a_mistake_is_named_and_refuted(sit):
    shown = variant(template("ridge_point"), 5 * 1_000_003)
    out = sit([str(shown.mistakes[0].value), "5", "q"], "--seed", "5").stdout
    assert f"Wrong: {shown.answer}." in out
    belief, refutation = beliefs.belief("sparse_peak_is_dense"), beliefs.counterexample("sparse_peak_is_dense").text
    assert belief in " ".join(out.split()) and refutation in " ".join(out.split())
    assert kept()[0].payload["misconception"] == "sparse_peak_is_dense"
    stats = sit([], "--stats").stdout
    assert "Misconceptions held" in stats and refutation in " ".join(stats.split())


def test_bad_input_says_what_to_type_and_asks_again(sit):
    out = sit(["", "lots", "12 bananas", "12 MB", "7", "", "6", "sure", "3", "q"], "--seed", "5").stdout
    assert out.count("answer> ") == 6 and out.count("sure> ") == 4, out  # five for the card and one for the next; four for its confidence
    for words in (
        "Type an answer; s skips",
        "'lots' is not a number; type a number, such as 7",
        "bananas",
        "type a number from 1 (a guess) to 5 (sure)",
    ):
        assert words in out
    assert len(kept()) == 1


def test_undo_skip_and_quit(sit):
    done = sit(["u", "7", "3", "u", "s", "q"], "--seed", "5")
    assert "There is no answer to take back." in done.stdout and "Taken back: the answer '7' to ridge_point." in done.stdout
    assert done.stdout.count("ridge_point ·") == 3 and "relu_regime ·" in done.stdout, "asked, asked after the undo on it, asked again"
    assert "Nothing answered" in done.stdout
    assert [event.kind for event in kept()] == ["reviewed", "undo"]


def test_an_explanation_is_graded_by_oneself(sit):
    out = sit(["s", "s", "s", "it follows one run", "2", "9", "1 2", "q"], "--seed", "5").stdout
    assert "A full answer makes these points:" in out and "from 1 to 3, or all, or none" in out and "Right: 2 of 3 points." in out
    assert kept()[0].payload["answer"] == "it follows one run"


def test_an_order_and_a_topic(sit):
    out = sit(["s"] * 3 + ["b a c", "a b c d", "3", "q"], "--topic", "memory", "--seed", "2").stdout
    assert "slowest first" in out or "Order" in out
    assert {event.payload["card"] for event in kept()} <= {"ladder_order", "registers_or_shared", "stream_time", "where_it_lives"}


def test_figures_are_shown_on_request(sit):
    out = sit(["s", "f", "q"], "--seed", "5").stdout  # the second card is about an element-wise kernel
    before, _, after = out.partition("f shows the figures you may look up")
    assert "memory bandwidth" not in before and "FP32 peak of the vector units" in after and "memory bandwidth" in after
    out = sit(["f", "q"], "--seed", "5").stdout
    assert "'f' is not a number" in out and "figures you may look up" not in out, "the first card has none"


def test_the_end_of_the_input_quits_and_keeps_everything(sit):
    done = sit([str(first_key(5)), "4"], "--seed", "5")
    assert done.returncode == 0 and "1 answered, 1 right" in done.stdout and len(kept()) == 1


def test_when_all_is_answered_it_says_when_the_next_comes(sit):
    done = sit(["q"], "--topic", "capture", "--new", "1")
    assert "1 left; `ironlaw review` continues with it" in done.stdout
    done = sit(["x", "3", "all"], "--topic", "capture", "--new", "1")
    assert "Nothing is due now; the next card comes back in" in done.stdout


def test_without_a_width_or_colours_or_letters(sit, monkeypatch):
    done = piped(["7", "3", "q"], "--seed", "5", COLUMNS="", TERM="dumb", PYTHONIOENCODING="ascii")
    assert done.returncode == 0 and done.stdout.isascii() and "\x1b" not in done.stdout
    monkeypatch.setenv("COLUMNS", "20")
    assert sit(["7", "3", "q"], "--seed", "5").returncode == 0


def test_binary_rubbish_is_met_with_words(sh, monkeypatch):
    rubbish = io.BytesIO(b"\xff\xfe\x00\n\x007\n3\nq\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(rubbish, encoding="utf-8", errors="surrogateescape"))  # as Python opens a pipe
    code, out, err = sh("review", "--seed", "5")
    assert (code, err) == (0, "") and "is not a number" in out


def test_a_closed_pipe_is_quiet():
    process = subprocess.Popen([*COMMAND, "--list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.close()
    _, err = process.communicate(timeout=180)
    assert err == "" and process.returncode == 141
    process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.close()
    _, err = process.communicate("7\n" * 9, timeout=180)
    assert err == "" and process.returncode == 141


# ---- in a terminal


class Terminal:
    """The command on a pseudo-terminal: what it wrote, and keys for it."""

    def __init__(self, *options):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:  # pragma: no cover - the child becomes the command
            os.execve(sys.executable, [*COMMAND, *options], {**os.environ, "TERM": "xterm", "NO_COLOR": "1"})
        self.seen = ""

    def until(self, words, wait=180):
        end = time.monotonic() + wait
        while words not in self.seen:
            assert time.monotonic() < end, self.seen
            ready, _, _ = select.select([self.fd], [], [], 0.2)
            if ready:
                try:
                    self.seen += os.read(self.fd, 65536).decode("utf-8", "replace")
                except OSError:  # the other end is closed
                    break
        assert words in self.seen, self.seen
        self.seen = self.seen.partition(words)[2]

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def end(self, press="", wait=180):
        """The exit code. A key that falls between prompt and read is pressed again, as anyone would."""
        end = time.monotonic() + wait
        done = 0
        while not done and time.monotonic() < end:
            if press:
                self.type(press)
            time.sleep(0.5)
            done, status = os.waitpid(self.pid, os.WNOHANG)
        if not done:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)
        assert done, f"it did not end: {self.seen}"
        return os.waitstatus_to_exitcode(status)


def test_a_sitting_in_a_terminal():
    terminal = Terminal("--seed", "5")
    terminal.until("ridge point")
    terminal.until("answer> ")
    terminal.type(f"{first_key(5)}\n")
    terminal.until("sure> ")
    terminal.type("5\n")
    terminal.until("Right:")
    terminal.until("answer> ")
    terminal.type("u\n")
    terminal.until("Taken back")
    terminal.until("answer> ")
    terminal.type("\x04")  # Ctrl-D
    terminal.until("Nothing answered")
    assert terminal.end() == 0
    assert [event.kind for event in kept()] == ["reviewed", "undo"]


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_and_loses_nothing():
    terminal = Terminal("--seed", "5")
    terminal.until("answer> ")
    terminal.type("7\n")
    terminal.until("sure> ")
    terminal.type("3\n")
    terminal.until("answer> ")
    assert terminal.end(press="\x03") in (130, -signal.SIGINT)  # pressed again while it was ending: a shell says 130 too
    assert len(kept()) == 1


# ---- the list and the figures


def test_the_list_names_every_card(sh):
    rows = sh.json("review", "--list")["cards"]
    assert len(rows) >= 60 and rows[0]["card"] == "ridge_point" and {row["now"] for row in rows} == {"new"}
    assert set(rows[0]) == {
        "card", "topic", "concept", "lab", "kind", "answers", "right", "now", "due", "retrievability",
    }  # fmt: skip
    assert {row["topic"] for row in sh.json("review", "--list", "--topic", "fusion")["cards"]} == {"fusion"}
    out = sh.out("review", "--list")
    assert all(row["card"] in out for row in rows)


def test_the_list_shows_what_is_due_first(sh):
    from ironlaw.cli.review import clock

    with open_ledger() as ledger:
        session = Session(ledger, clock)
        shown = session.variant(template("kv_total"))
        record.save_answer(ledger, shown, "1", 5, Grade(False, "bits_for_bytes"), clock().replace(year=2020))
    rows = sh.json("review", "--list")["cards"]
    assert (rows[0]["card"], rows[0]["now"], rows[0]["answers"], rows[0]["right"]) == ("kv_total", "confident error", 1, 0)
    assert "now: sure, and wrong" in sh.out("review", "--list") and "0 of 1" in sh.out("review", "--list")


def test_figures_of_an_empty_ledger(sh):
    told = sh.json("review", "--stats")
    assert (told["answers"], told["brier"], told["held"], told["score"]["points"], told["score"]["begun"]) == (0, None, [], 0, False)
    assert [row["stated"] for row in told["calibration"]] == [0.25, 0.45, 0.65, 0.8, 0.95]
    assert len(told["checklist"]) == 10 and all(one["cards"] for one in told["checklist"])
    out = sh.out("review", "--stats")
    assert "No answers yet" in out and "0 of 10 ticked" in out and "week 1" not in out


def test_figures_after_some_answers(sh):
    from ironlaw.cli.review import clock

    with open_ledger() as ledger:
        session = Session(ledger, clock)
        for correct, confidence in ((True, 5), (False, 5), (True, 2)):
            session.answer(session.variant(template("ridge_point")), "x", confidence, Grade(correct))
        ledger.commit_prediction("lab_01_magnitude", "act1", "e9", 1e9, 5, False, 1)
        for statement in ("derive_ridge", "classify_op"):
            record.tick(ledger, statement, True)
    told = sh.json("review", "--stats")
    assert (told["answers"], told["predictions"]) == (3, 1)
    assert told["brier"] == pytest.approx((0.05**2 + 0.95**2 + 0.55**2 + 0.95**2) / 4)
    assert told["held"][0]["belief"] == "scale_overestimated" and "orders of magnitude" in told["held"][0]["counterexample"]
    weak = told["score"].pop("weak")
    assert told["score"] == {"points": 2, "of": 10, "begun": True, "label": "Not yet", "action": "Start over from week 1."}
    assert "Roofline" in weak and "KV cache and decode" in weak
    assert {one["statement"]: one["gap"] for one in told["checklist"]}["derive_ridge"] == "unbacked"
    out = sh.out("review", "--stats")
    for words in ("3 answers, 1 prediction in labs", "Brier score 0.52", "unbacked", "✓", "To review: "):
        assert words in out


# ---- bad options


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--topic", "fussion", "--list"], "did you mean fusion"),
        (["--json"], "--json needs --list or --stats"),
        (["--list", "--stats"], "give one of them"),
        (["--stats", "--topic", "fusion"], "leave --topic out"),
        (["--seed", "x"], "whole number"),
        (["--new", "0"], "whole number"),
        (["--lst"], "--list"),
        (["cards"], "unexpected argument"),
    ],
)
def test_bad_options_are_told(sh, argv, words):
    code, out, err = sh("review", *argv)
    assert code == 2 and words in err and (not out or "--json" in argv)


def test_a_ledger_that_cannot_be_opened_is_told(sh, monkeypatch, tmp_path):
    (tmp_path / "no.db").write_text("this is no database, and long enough to be looked at as one " * 20)
    monkeypatch.setenv("IRONLAW_LEDGER", str(tmp_path / "no.db"))
    code, _, err = sh("review", "--list")
    assert code == 2 and "no.db" in err


def test_the_written_figures_are_json(sh):
    json.dumps(sh.json("review", "--stats"), allow_nan=False)
