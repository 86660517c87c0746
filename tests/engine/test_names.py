"""The engine knows devices and op kinds, not who makes them: no vendor, flag or lab in what its code says or compares."""

import ast
import re
from pathlib import Path

import ironlaw.engine

FOREIGN = re.compile(r"torch|cuda|cudnn|nvidia|triton|inductor|\bmps\b|metal|vllm|lab_\w|(?<!\S)--[a-z]", re.IGNORECASE)


def foreign(source: str) -> list[str]:
    """Names and texts of code that speak of a vendor; docstrings and comments may, since sources are named there."""
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docs = {id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, documented) and ast.get_docstring(node, clean=False)}
    said = []
    for node in ast.walk(tree):
        texts = [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs else []
        names = [getattr(node, field) for field in ("id", "attr", "name", "arg") if isinstance(getattr(node, field, None), str)]
        said += [text for text in (*texts, *names) if FOREIGN.search(text)]
    return said


def test_no_vendor_flag_or_lab_is_named():
    found = {path.name: said for path in Path(ironlaw.engine.__file__).parent.rglob("*.py") if (said := foreign(path.read_text("utf-8")))}
    assert found == {}


def test_the_check_can_fail():
    assert foreign('"""About torch."""\nx = device == "cuda"  # torch') == ["cuda"]
    assert foreign('raise ValueError(f"{x}; a shorter --seq")') == ["; a shorter --seq"]
    assert foreign("def on_cuda(): ...") == ["on_cuda"] and foreign("import torch") == ["torch"] and foreign('LAB = "lab_07_fusion"') != []
