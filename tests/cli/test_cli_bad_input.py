"""Whatever is typed: exit code 2, one short paragraph on stderr that says what to do; nothing on stdout, or an object under --json."""

import json

import pytest

BREAK = ("breakeven", "--compile-s", "30", "--eager-rate", "1450")
GEMM = ("roofline", "--gemm", "64,64,64")

BAD = [
    # what was typed, words that the message must have
    (("predcit",), "did you mean predict"),
    (("--versoin",), "--version"),
    (("predict",), "WORKLOAD"),
    (("predict", "resnet50"), "--on"),
    (("predict", "resnet51", "--on", "h100"), "did you mean resnet50"),
    (("predict", "resnet50", "--on", "h900"), "/hardware/h900.toml"),
    (("predict", "resnet50", "--on", ""), "empty name"),
    (("predict", "resnet50", "--on", "h100,,t4"), "empty name"),
    (("predict", "resnet50", "--on", "h100", "--batch", "0"), "--batch: '0'"),
    (("predict", "resnet50", "--on", "h100", "--batch", "-3"), "--batch: '-3'"),
    (("predict", "resnet50", "--on", "h100", "--batch", "nan"), "whole number"),
    (("predict", "resnet50", "--on", "h100", "--batch", "1.5"), "whole number"),
    (("predict", "resnet50", "--on", "h100", "--batch", "9" * 5000), "whole number"),
    (("predict", "resnet50", "--on", "h100", "--batch", "9" * 400), "1,000,000,000,000"),
    (("predict", "resnet50", "--on", "h100", "--batch"), "--batch"),
    (("predict", "resnet50", "--on", "h100", "--seq", "128"), "takes no 'seq'"),
    (("predict", "resnet50", "--on", "h100", "--dtype", "fp17"), "fp16"),
    (("predict", "resnet50", "--on", "t4", "--dtype", "fp8"), "t4 has no fp8"),
    (("predict", "resnet50", "--on", "h100", "--mode", "eagre"), "eager"),
    (("predict", "resnet50", "--on", "h100", "--mode", "eager,"), "empty name"),
    (("predict", "resnet50", "--on", "h100", "--dispatch", "later"), "queued"),
    (("predict", "resnet50", "--on", "h100", "--launch", "10 parsecs"), "unknown unit 'parsecs'"),
    (("predict", "resnet50", "--on", "h100", "--launch", "-10 us"), "at least 0"),
    (("predict", "resnet50", "--on", "h100", "--launch", "5 GB"), "s is expected"),
    (("predict", "resnet50", "--on", "h100", "--ops", "0"), "--ops"),
    (("predict", "resnet50", "--on", "h100", "--bacth", "8"), "--batch"),
    (("predict", "resnet50", "vit_b16", "--on", "h100"), "unexpected argument"),
    (("predict", "gpt2", "--on", "h100", "--phase", "sideways"), "prefill"),
    (("hardware", "h1000"), "did you mean"),
    (("workload", "resnet"), "did you mean"),
    (("workload", "--batch", "8"), "name it"),
    (("roofline", "--on", "h100"), "--flops"),
    (("roofline", "--flops", "1e9", "--on", "h100"), "--bytes"),
    (("roofline", "--flops", "0", "--bytes", "1 MB", "--on", "h100"), "above 0"),
    (("roofline", "--flops", "nan", "--bytes", "1 MB", "--on", "h100"), "'nan'"),
    (("roofline", "--flops", "1e999", "--bytes", "1 MB", "--on", "h100"), "finite"),
    (("roofline", "--flops", "1e9", "--bytes", "lots", "--on", "h100"), "'lots'"),
    (("roofline", "--flops", "1e9", "--gemm", "8,8,8", "--on", "h100"), "--gemm"),
    (("roofline", "--gemm", "8,8", "--on", "h100"), "M,N,K"),
    (("roofline", "--gemm", "8,8,-8", "--on", "h100"), "'-8'"),
    ((*GEMM, "--on", "h100", "--level", "l9"), "memory level of h100_sxm"),
    ((*GEMM, "--on", "h100", "--level", "l2", "--levels"), "--levels"),
    ((*GEMM, "--on", "v100", "--dtype", "bf16"), "v100 has no bf16"),
    (BREAK, "--compiled-rate"),
    ((*BREAK, "--compiled-rate", "0"), "above 0"),
    ((*BREAK, "--compiled-rate", "inf"), "finite"),
    ((*BREAK, "--compiled-rate", "1e300"), "at most"),
    (("breakeven", "--compile-s", "1e300", "--eager-rate", "1", "--compiled-rate", "2"), "out of range"),
    ((*BREAK, "--compiled-rate", "fast"), "'fast'"),
    ((*BREAK, "--compiled-rate", "2150", "--days", "3"), "--per-day"),
    (("breakeven", "--compile-s", "-1", "--eager-rate", "1", "--compiled-rate", "2"), "--compile-s"),
    (("fuse", "nothing"), "no workload 'nothing'"),
    (("fuse",), "WORKLOAD"),
    (("claims", "no_such_claim"), "no claim 'no_such_claim'"),
    (("labs", "--port", "99999"), "65535"),
    (("labs", "--port", "http"), "'http'"),
    (("labs", "no_such_lab"), "no_such_lab"),
]


@pytest.mark.parametrize(("argv", "words"), BAD, ids=[" ".join(argv)[:60] for argv, _ in BAD])
def test_bad_input(sh, argv, words):
    code, out, err = sh(*argv)
    assert (code, out) == (2, "")
    assert err.startswith("ironlaw: ") and err.count("\n") == 1
    assert words in err


@pytest.mark.parametrize(
    ("argv", "kind", "field"),
    [
        (("hardware", "h900"), "UnknownName", None),
        (("predict", "resnet50", "--on", "v100", "--dtype", "bf16"), "BadValue", None),
        (("predict", "resnet50", "--on", "h200_sxm", "--bacth", "8"), "UnknownName", None),
        (("workload", "resnet50", "--dtype", "int3"), "BadValue", None),
    ],
)
def test_an_error_is_an_object_under_json(sh, argv, kind, field):
    """On standard output, for whoever reads that; standard error says the same in words."""
    code, out, err = sh(*argv, "--json")
    told = json.loads(out)
    assert code == told["exit_code"] == 2 and told["schema"] == "ironlaw-error/1"
    assert told["error"] == {"kind": kind, "message": err.removeprefix("ironlaw: ").strip(), "field": field}
