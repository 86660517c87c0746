"""A product of complex numbers is four of their parts', and is called by its own format."""

import pytest

from ironlaw.engine.device.complex_work import flops, product_flops, spoken_format
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import op


def product(fmt, m=5, k=7, n=11):
    x, w, y = Tensor("x", (m, k), fmt, "input"), Tensor("w", (n, k), fmt, "weight"), Tensor("y", (m, n), fmt)
    return op("linear", "product", (x, w), (y,))


@pytest.mark.parametrize(("fmt", "parts"), [("complex64", 4), ("complex128", 4), ("fp32", 1), ("bf16", 1)])
def test_four_products_of_parts(fmt, parts):
    graph = Graph("g", (product(fmt),), "fp32" if fmt.startswith("complex") else fmt)
    assert product_flops(graph) == parts * 2 * 5 * 7 * 11
    assert flops(product(fmt)) - product(fmt).work.flops == (parts - 1) * 2 * 5 * 7 * 11
    assert spoken_format(graph) == fmt


def test_a_little_of_it_does_not_name_the_model():
    graph = Graph("g", (product("complex64", 1), product("fp32", 50)), "fp32")
    assert spoken_format(graph) == "fp32"
    assert product_flops(graph) == (4 * 1 + 50) * 2 * 7 * 11
