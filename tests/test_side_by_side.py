"""Commands beside each other: who ran, what was said, which of them failed."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="for make, which needs a POSIX shell")
SCRIPT = Path(__file__).parent.parent / "scripts/side_by_side.py"


def side_by_side(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False, timeout=180)


def test_the_first_is_seen_as_it_comes_and_all_are_told():
    done = side_by_side("echo one", "echo two", "echo three >&2")
    assert done.returncode == 0 and done.stdout.startswith("one\n")
    assert {"$ echo two", "two", "three"} <= set(done.stdout.splitlines())


def test_the_others_give_way_to_the_first():
    first, _, other = side_by_side("nice", "nice").stdout.splitlines()
    assert int(other) == min(int(first) + 5, 19)  # as far as it goes


def test_a_failure_is_named_and_the_others_run_to_their_end(tmp_path):
    done = side_by_side("--at-once", "1", "exit 3", f"echo > '{tmp_path}/after'", "false")
    assert done.returncode == 1 and (tmp_path / "after").exists()
    assert done.stderr == "failed: exit 3\nfailed: false\n"


def test_no_more_run_at_once_than_were_asked_for(tmp_path):
    alone = f"mkdir '{tmp_path}/taken' && sleep 0.05 && rmdir '{tmp_path}/taken'"
    assert side_by_side("--at-once", "1", *[alone] * 3).returncode == 0


def test_two_that_wait_for_each_other_end(tmp_path):
    meet = "touch '{0}/{1}'; until [ -e '{0}/{2}' ]; do sleep 0.02; done"
    assert side_by_side(meet.format(tmp_path, "a", "b"), meet.format(tmp_path, "b", "a")).returncode == 0
