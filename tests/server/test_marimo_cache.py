"""What marimo computes once for all pages: the same result as before, and nothing that one page does reaches another."""

import ast

from marimo._ast import compiler, parse

from ironlaw.pages.catalogue import LABS
from ironlaw.server.marimo_cache import compute_once

LAB = (LABS / "lab_07_fusion" / "lab.py").read_text("utf-8")
compute_once()
PLAIN = compiler.compile_cell.__wrapped__


def names(cell):
    return cell.code, cell.defs, cell.refs, cell.temporaries, ast.dump(cell.mod), cell.body.co_code, cell.last_expr.co_code


def test_a_lab_is_parsed_once_and_again_when_its_text_is_another():
    first = parse.parse_notebook(LAB, filepath="lab.py")
    assert parse.parse_notebook(LAB, filepath="lab.py") is first
    edited = parse.parse_notebook(LAB.replace("Kernel Fusion", "Edited"), filepath="lab.py")
    assert edited is not first and len(edited.cells) == len(first.cells) > 10


def test_every_cell_of_a_lab_compiles_to_what_marimo_compiles():
    for cell in parse.parse_notebook(LAB).cells:
        assert names(compiler.compile_cell(cell.code, "Hbol")) == names(PLAIN(cell.code, "Hbol"))
        assert names(compiler.compile_cell(cell.code, "MJUe")) == names(PLAIN(cell.code, "MJUe"))


def test_pages_share_the_code_and_nothing_that_changes():
    one, other = (compiler.compile_cell("import math\nx = math.pi\nx", "Hbol") for _ in range(2))
    assert one.body is other.body and one is not other
    one.configure({"disabled": True})
    one.import_workspace.imported_defs.add("math")
    one.defs.add("y")
    one._stale.state = True
    third = compiler.compile_cell("import math\nx = math.pi\nx", "Hbol")
    for cell in (other, third):
        assert not cell.config.disabled and not cell.import_workspace.imported_defs and cell.defs == {"math", "x"} and not cell.stale


def test_a_second_call_changes_nothing():
    before = compiler.compile_cell, parse.parse_notebook
    compute_once()
    assert (compiler.compile_cell, parse.parse_notebook) == before
