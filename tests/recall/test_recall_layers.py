"""The concept map in layers: everything once, sources above their targets, the spec's order kept."""

from ironlaw.recall.concept_layers import layers
from ironlaw.recall.concepts import Concept, Edge, Map, concept_map


def small(*edges):
    names = dict.fromkeys(end for edge in edges for end in edge)
    return Map({name: Concept(name, name, "d", lab="review") for name in names}, tuple(Edge(*edge) for edge in edges), ())


def test_every_concept_once_and_sources_above_their_targets():
    found = concept_map()
    rows = layers(found)
    place = {name: i for i, row in enumerate(rows) for name in row}
    assert sorted(place) == sorted(found.concepts) and sum(map(len, rows)) == len(place)
    turned = [(e.source, e.target) for e in found.edges if place[e.source] >= place[e.target]]
    assert turned == [("fusion", "capture")]  # capture exposes fusion: written last, it decides
    assert rows[0] == ("why",) and place["capture"] < place["fusion"] < place["profiling"]


def test_the_longest_way_decides():
    assert layers(small(("a", "b"), ("b", "c"), ("a", "c"))) == (("a",), ("b",), ("c",))


def test_circles_end():
    assert layers(small(("a", "b"), ("b", "a"))) == (("b",), ("a",))
    assert sum(map(len, layers(small(("a", "b"), ("b", "c"), ("c", "a"))))) == 3


def test_few_edges_cross():
    rows = layers(small(("r", "a"), ("r", "b"), ("b", "y"), ("a", "x")))
    assert rows == (("r",), ("a", "b"), ("x", "y"))
