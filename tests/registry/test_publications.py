"""Tables that others measured: read strictly, in SI, and no figure can change unseen."""

import hashlib
import math

import pytest

from ironlaw.claims import NAMESPACE, compute
from ironlaw.errors import BadRegistry, UnknownName
from ironlaw.registry.publications import parse_table, publications, published

ROWS = "format,size,hits,share\nf16,2 ,3,50.5\nq8,1,nan,-2"
HEAD = {"name": "A table", "source": "Someone, table 1", "revision": "1", "date": "2024", "license": "CC0", "figures": "measured"}
COLUMNS = {"format": ["text", "its name"], "size": ["GiB", "of the file"], "hits": ["count", "how often"], "share": ["%", "of all"]}


def table(rows: str = ROWS, **more):
    return HEAD | {"columns": COLUMNS, "rows": f"\n{rows}\n", "sha256": hashlib.sha256(rows.encode()).hexdigest()} | more


@pytest.mark.parametrize("name", publications())
def test_every_table_reads_and_says_where_it_is_from(name):
    each = published(name)
    assert each.rows and each.source and each.revision in each.citation and each.date[:2] in ("19", "20") and each.license


def test_figures_are_in_si_and_found_by_their_cells():
    small = parse_table("small", table())
    assert small.value("size", format="f16") == 2 * 2**30
    assert small.where(format="q8")[0]["share"] == -2 and math.isnan(small.value("hits", format="q8"))
    assert small.column("format") == ("f16", "q8")
    assert dict(small.row(size=2**30))["format"] == "q8"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"source": ""}, "no source"),
        ({"why": "x"}, "unknown key why"),
        ({"rows": ROWS.replace("50.5", "50.6")}, r"do not have the hash.*Someone.*sha256 = \"[0-9a-f]{64}\""),
        (table(ROWS.replace("2 ,", "two,")), r"row 1, size is 'two', not a number"),
        (table(ROWS.replace("3,", "3.5,")), r"row 1, hits is '3.5', not a count"),
        (table(ROWS.replace(",3,", ",-3,")), r"hits is '-3', not a count"),
        (table(ROWS.replace("50.5", "inf")), "write a finite number"),
        (table(ROWS.replace("q8", "")), r"row 2, format is empty"),
        (table(ROWS.replace(",50.5", "")), r"row 1 has 3 cells, 4 are needed"),
        (table(ROWS.replace("format", "kind")), r"columns kind, .* make them equal"),
        (table("format,size,hits,share"), "has no rows"),
        (table(f"{ROWS}\nf16,2,3,50.5"), "a row twice"),
        ({"columns": COLUMNS | {"size": ["GiBs", "x"]}}, r"column size: unknown unit"),
        ({"columns": COLUMNS | {"size": "GiB"}}, r"column size is 'GiB'"),
        ({"columns": "size"}, "write a table of name"),
    ],
)
def test_a_table_that_breaks_the_grammar_is_refused(change, complaint):
    with pytest.raises(BadRegistry, match=complaint):
        parse_table("odd", table() | change)


def test_what_is_not_there_is_named_with_what_is():
    small = parse_table("small", table())
    with pytest.raises(UnknownName, match=r"'sise'.*size"):
        small.value("sise", format="f16")
    with pytest.raises(UnknownName, match=r"'kind'"):
        small.where(kind="f16")
    with pytest.raises(BadRegistry, match=r"0 rows of 2"):
        small.row(format="q4")
    with pytest.raises(BadRegistry, match=r"format is text"):
        small.value("format", size=2**30)
    with pytest.raises(UnknownName, match=r"llama_cpp_scoreboard"):
        published("llama_scoreboard")


def test_keys_and_claims_see_them():
    assert NAMESPACE["published"] is published
    assert compute('published("llama_cpp_scoreboard").value("ppl", quant="q8_0")', "here") == 6.234284


def test_the_scoreboard_of_llama_3_8b():
    """46 rows as the README has them, 34 without those that differ only in the importance matrix's size; sizes in bytes."""
    board = published("llama_cpp_scoreboard")
    assert (len(board.rows), len([row for row in board.rows if row["imatrix"] in ("none", "WT 10m")])) == (46, 34)
    assert [row["kl"] for row in board.rows] == sorted(row["kl"] for row in board.rows)  # the README: sorted by it
    for row in board.rows:
        # the FP16 version that all are compared with is one and the same: a slip in either column would show
        assert row["ppl"] - 6.231636 == pytest.approx(row["ppl_rise"], abs=3e-5), row
    assert board.value("size", quant="f16") == 14.97 * 2**30
