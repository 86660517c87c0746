"""Bad input of serve, cluster and study: exit code 2, the value and the place named, and a next step; never a traceback."""

import json
import shlex

import pytest


def config(**changes):
    sizes = {"vocab_size": 9, "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 8}
    return json.dumps({"model_type": "llama", **sizes, **changes})


FILES = {
    "hole.csv": "arrival,prompt,output\n0,5,3\n1,,3\n",
    "short.csv": "arrival,prompt,output\n0,5\n",
    "names.csv": "a,b,c\n0,1,2\n",
    "headless.csv": "0,5,3\n1,5,3\n",
    "semicolons.csv": "arrival;prompt;output\n0;5;3\n",
    "unsorted.csv": "arrival,prompt,output\n3,5,3\n1,5,3\n",
    "negative.csv": "arrival,prompt,output\n-3,5,3\n",
    "tokens.csv": "arrival,prompt,output\n0,-5,3\n",
    "none.csv": "arrival,prompt,output\n0,5,0\n",
    "half.csv": "arrival,prompt,output\n0,5.5,3\n",
    "words.csv": "arrival,prompt,output\nsoon,5,3\n",
    "nan.csv": "arrival,prompt,output\nnan,5,3\n",
    "head.csv": "arrival,prompt,output\n",
    "empty.csv": "",
    "both.csv": "arrival,prompt,output\n12.5,9,9\n2023-11-16 18:15:46,9,9\n",
    "twice.csv": "arrival,prompt,prompt,output\n0,5,6,3\n",
    "once.csv": "arrival,prompt,output\n0,5,3\n0,5,3\n",
    "heads/config.json": config(num_attention_heads=0),
    "groups/config.json": config(num_key_value_heads=3),
    "null/config.json": config(intermediate_size=None),
    "empty.toml": "",
    "bare.toml": "[study]\n",
    "what.toml": "[study]\nquestion='what'\n[over]\nmodel='x'\n",
    "open.toml": "[study\n",
    "zero.toml": "[study]\nquestion='serving'\n[over]\nmodel='llama3_2_1b'\nhardware='h200'\nrate=0\n",
    "fast.toml": "[study]\nquestion='serving'\n[over]\nmodel='llama3_2_1b'\nhardware='h200'\nrate='fast'\n",
    "h900.toml": "[study]\nquestion='serving'\n[over]\nmodel='llama3_2_1b'\nhardware='h900'\nrate=5\n",
    "resnet.toml": "[study]\nquestion='serving'\n[over]\nmodel='resnet50'\nhardware='h200'\nrate=5\n",
    "guess.toml": "[study]\nquestion='serving'\n[over]\nmodel='llama3_2_1b'\nhardware='h200'\nrate=5\nspeculate=-1\n",
    "list.toml": "[study]\nquestion='layout'\n[over]\nmodel='llama3_8b'\nbox='dgx_h100'\ndevices=64\nbatch=64\ntensor=[]\n",
}
SERVE, ON, CLUSTER = "serve qwen2_0_5b --on h200", "--on h200 --rate 5", "cluster llama3_8b --batch-tokens 1M"
BAD = [
    ("capacity", "required: MODEL, --on"),
    ("serve llama3_8b", "required: --on"),
    (SERVE, "--rate 5"),
    (f"{SERVE} --trace hole.csv", "line 3: no prompt; fill it in"),
    (f"{SERVE} --trace short.csv", "line 2: no output"),
    (f"{SERVE} --trace names.csv", "--columns arrival=NAME"),
    (f"{SERVE} --trace headless.csv", "first line must name the columns"),
    (f"{SERVE} --trace semicolons.csv", "with commas"),
    (f"{SERVE} --trace unsorted.csv", "line 3: arrives at 1, before"),
    (f"{SERVE} --trace negative.csv", "at least 0"),
    (f"{SERVE} --trace tokens.csv", "prompt '-5'"),
    (f"{SERVE} --trace none.csv", "output '0'"),
    (f"{SERVE} --trace half.csv", "whole number of tokens"),
    (f"{SERVE} --trace words.csv", "neither seconds nor a date"),
    (f"{SERVE} --trace nan.csv", "at least 0"),
    (f"{SERVE} --trace head.csv", "at least one line"),
    (f"{SERVE} --trace empty.csv", "is empty"),
    (f"{SERVE} --trace both.csv", "not both"),
    (f"{SERVE} --trace twice.csv", "2 columns 'prompt'"),
    (f"{SERVE} --trace folder.csv", "is a folder"),
    (f"{SERVE} --trace nowhere.csv", "there is no nowhere.csv"),
    (f"{SERVE} --trace once.csv --rate 5", "arrive at once"),
    (f"{SERVE} --trace once.csv --columns arrival=when", "no column 'when'"),
    (f"{SERVE} --trace azure", "azure_chat_2023"),
    (f"{SERVE} --trace azure_chat_2023 --columns arrival=x", "--trace FILE.csv"),
    (f"{SERVE} --rate 5 --columns arrival=x", "--trace FILE.csv"),
    (f"{SERVE} --rate 0", "above 0"),
    (f"{SERVE} --rate nan", "finite"),
    (f"{SERVE} --rate 5 --prompt 0", "from 1"),
    (f"{SERVE} --rate 5 --ttft 0", "above 0"),
    (f"{SERVE} --rate 5 --tbt 1W", "s is expected"),
    (f"{SERVE} --rate 5 --percentile 100", "between 0 and 100"),
    (f"{SERVE} --rate 5 --percentile nan", "between 0 and 100"),
    (f"{SERVE} --rate 5 --tp 3", "divisor"),
    (f"{SERVE} --rate 5 --batch 0", "from 1"),
    (f"{SERVE} --rate 5 --memory nan", "such as 0.15"),
    (f"{SERVE} --rate 5 --weights fp64", "fp8"),
    (f"{SERVE} --rate 5 --seed x", "such as 8"),
    (f"{SERVE} --rate 5 --spread nan", "0 for all alike"),
    (f"{SERVE} --rate 5 --price h200=nan", "h200=3.5"),
    (f"{SERVE} --rate 5 --price t4=1", "did not ask about (h200_sxm)"),
    (f"{SERVE} --rate 5 --html folder.csv", "is a folder"),
    (f"{SERVE} --rates 5", "did you mean --rate"),
    (f"serve llama4 {ON}", "did you mean llama3_8b"),
    (f"serve heads {ON}", "num_attention_heads is 0"),
    (f"serve groups {ON}", "4 heads can't share 3"),
    (f"serve null {ON}", "intermediate_size is None"),
    (f"serve hf:nowhere {ON}", "there is no"),
    ("serve llama3_70b --on a10 --rate 1 --tp 8 --weights int4", "box/a10_server.toml"),
    ("serve qwen2_0_5b --on h900 --rate 1", "did you mean h200"),
    ("serve qwen2_0_5b --on h200, --rate 1", "empty name"),
    (CLUSTER, "required: --devices, --box"),
    (f"{CLUSTER} --devices 64 --box nope", "no box 'nope'"),
    (f"{CLUSTER} --devices 7 --box dgx_h100", "small factors"),
    (f"{CLUSTER} --devices 8 --box h100_pairs", "has no NIC; add nic"),
    (f"{CLUSTER} --devices 64 --box dgx_h100 --layout ''", "leave --layout out"),
    (f"{CLUSTER} --devices 64 --box dgx_h100 --layout tp=8,tp=4", "tp appears twice"),
    (f"{CLUSTER} --devices 64 --box dgx_h100 --layout tp=3", "divides them"),
    (f"{CLUSTER} --devices 64 --box dgx_h100 --layout ep=8", "expert parallelism"),
    (f"{CLUSTER} --devices 64 --box dgx_h100 --layout micro=1000", "multiple of 64,000"),
    (f"{CLUSTER} --devices 64 --box dgx_h100 --layout zero=9", "0, 1, 2 or 3"),
    (f"{CLUSTER} --devices 64 --box dgx_h100 --layout recompute=maybe", "did you mean layers"),
    (f"{CLUSTER} --devices 64 --box dgx_h100 --dtype fp4", "has no fp4"),
    (f"{CLUSTER} --devices 64 --box dgx_h100 --layout tp=2 --mtbf 1s", "longer --mtbf"),
    (f"{CLUSTER} --devices 64 --box dgx_h100 --price t4=1", "did not ask about"),
    (f"{CLUSTER} --devices 64 --box dgx_h100 --seq 3000", "--batch-tokens"),
    ("cluster resnet50 --devices 8 --box dgx_h100 --batch-tokens 1M", "not a decoder"),
    ("study", "FILE.toml"),
    ("study nowhere.toml", "--questions"),
    ("study folder.csv", "is a folder"),
    ("study empty.toml", "add one, with `question"),
    ("study bare.toml", "[over]"),
    ("study what.toml", "cluster, layout, memory"),
    ("study open.toml", "fix the TOML"),
    ("study zero.toml", "above 0"),
    ("study fast.toml", "rate: 'fast' is not a number"),
    ("study h900.toml", "did you mean h200"),
    ("study resnet.toml", "llama3_8b"),
    ("study guess.toml", "speculate: -1 is out of range; give a whole number from 0"),
    ("study list.toml", "at least one value"),
    ("study --questions nope", "cluster, layout, memory"),
    ("study --show nowhere", "--out nowhere"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("bad")
    (place / "folder.csv").mkdir()
    for name, text in FILES.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text, "utf-8")
    return place


@pytest.mark.parametrize(("line", "words"), BAD, ids=[line for line, _ in BAD])
def test_bad_input_is_refused_with_a_next_step(sh, monkeypatch, folder, line, words):
    monkeypatch.chdir(folder)
    code, _, err = sh(*shlex.split(line))
    said = " ".join(err.split())
    assert code == 2 and words in said and "internal error" not in said and "Traceback" not in said
