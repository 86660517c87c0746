"""Syntax trees built by several threads while the garbage collector runs finalisers: Python 3.11 before 3.11.8 mixes them up."""

import ast
import gc
import sys
import threading

import pytest

from ironlaw.kit.lab import LABS
from ironlaw.server.form_parsing import one_at_a_time


class Loop:
    """Garbage whose finaliser runs Python, so that threads change in the middle of a tree."""

    def __init__(self):
        self.me = self

    def __del__(self):
        for _ in range(200):
            pass


@pytest.fixture
def busy(monkeypatch):
    monkeypatch.setattr(ast, "parse", ast.parse)  # put back afterwards
    kept = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-4)
    gc.freeze()  # what is there already need not be looked at again and again
    gc.set_threshold(50, 2, 2)
    yield
    gc.unfreeze()
    sys.setswitchinterval(kept[0])
    gc.set_threshold(*kept[1])


def test_threads_take_turns(busy):
    one_at_a_time()
    text, wrong = (LABS / "lab_07_fusion" / "act2" / "slots.py").read_text(), []

    def parse():
        for _ in range(20):
            Loop()
            try:
                ast.parse(text)
            except SystemError as error:
                wrong.append(error)

    threads = [threading.Thread(target=parse) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_it_is_done_once_and_only_where_it_is_needed(busy):
    bare = ast.parse
    while hasattr(bare, "__wrapped__"):
        bare = bare.__wrapped__
    ast.parse = bare
    one_at_a_time((3, 11, 8))
    assert ast.parse is bare
    one_at_a_time((3, 11, 7))
    once = ast.parse
    one_at_a_time((3, 11, 7))
    assert ast.parse is once is not bare and isinstance(once("1 + 1", mode="eval"), ast.Expression)
