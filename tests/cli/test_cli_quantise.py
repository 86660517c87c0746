"""`ironlaw quantise`: the noise of a grid, the bytes of a model, the share of a pruned file, and a frontier from a table."""

import pytest


def test_noise_by_bits(sh):
    rows = sh.json("quantise")["rows"]
    assert [row["bits"] for row in rows] == [8, 7, 6, 5, 4, 3, 2]
    assert [row["next_bit"] for row in rows[:-1]] == pytest.approx([4.06, 4.13, 4.27, 4.59, 5.44, 9.0], abs=0.005)
    assert rows[-1]["next_bit"] is None and rows[0]["levels"] == 255 and rows[4]["step"] == pytest.approx(1 / 7)
    out = sh.out("quantise", "--bits", "6")
    assert "4.27× noise" in out and "63" in out


def test_a_model_takes_more_than_its_bits(sh):
    told = sh.json("quantise", "llama3_8b", "--bits", "4", "--group", "128", "--zero-bits", "16")
    assert told["rows"][0]["stored_bits"] == 4.25 and told["rows"][0]["bytes"] == pytest.approx(5.8096e9, rel=1e-4)
    assert told["model"]["kept"] == 2 * 128256 * 4096 + 65 * 4096
    assert "5.81 GB" in sh.out("quantise", "llama3_8b", "--bits", "4", "--group", "128", "--zero-bits", "16")
    assert sh.json("quantise", "resnet50", "--bits", "8")["rows"][0]["bytes"] < 2 * 25.6e6


def test_zeros_have_to_say_where_they_are_not(sh):
    half, most = (sh.json("quantise", "--bits", "8", "--pruned", share)["rows"][0]["pruned"] for share in ("50%", "0.9"))
    assert half["csr_32"] == pytest.approx(2.5, abs=0.01) and most["csr_32"] == pytest.approx(0.5, abs=0.01)
    assert half["two_of_four"] == 0.625 and half["bitmap"] == pytest.approx(0.625)
    assert half["csr_32_pays_from"] == pytest.approx(0.801, abs=5e-4)
    assert "80% zeros" in sh.out("quantise", "--bits", "8", "--pruned", "50%")


def test_a_frontier_from_a_table_and_from_a_file(sh, tmp_path):
    told = sh.json("quantise", "--frontier", "llama_cpp_scoreboard")
    assert (told["points"], told["on_frontier"]) == (34, 21)
    by_name = {row["name"]: row for row in told["rows"]}
    assert by_name["q5_1"]["dominated_by"] == "q5_K_M" and by_name["q8_0"]["on_frontier"]
    own = tmp_path / "own.csv"
    own.write_text("name,cost,harm\na,1,3\nb,2,2\nc,2,3\n", encoding="utf-8")
    assert "dominated by b" in sh.out("quantise", "--frontier", str(own))


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--bits", "1"), "2 to 16"),
        (("--bits", "32"), "2 to 16"),
        (("--pruned", "100%"), "to below 1"),
        (("--pruned", "most"), "such as 0.15 or 15%"),
        (("llama9",), "no workload"),
        (("--frontier", "nowhere.csv"), "llama_cpp_scoreboard"),
        (("llama3_8b", "--frontier", "llama_cpp_scoreboard"), "leave the model"),
        (("--frontier", "llama_cpp_scoreboard", "--bits", "4"), "all other options out"),
        (("--zero-bits", "8"), "add --group"),
        (("--bits", ""), "empty number; put one comma between numbers"),
    ],
)
def test_bad_input_says_what_to_do(sh, args, says):
    code, _, err = sh("quantise", *args)
    assert code == 2 and says in " ".join(err.split())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name,cost\na,1\n", "no column 'harm'"),
        ("name,cost,harm\n", "no configurations"),
        ("name,cost,harm\na,1,x\n", "line 2"),
        ("name,cost,harm\na,1,nan\n", "line 2"),
        ("name,cost,harm\na,1,2\na,2,1\n", "appears twice"),
        ("", "no column 'name'"),
    ],
)
def test_a_file_that_is_not_a_table_is_refused(sh, tmp_path, text, says):
    (tmp_path / "own.csv").write_text(text, encoding="utf-8")
    code, _, err = sh("quantise", "--frontier", str(tmp_path / "own.csv"))
    assert code == 2 and says in " ".join(err.split())
