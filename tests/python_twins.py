"""Every command that computes has a Python twin: the examples of docs/cli.md, asked both ways, have the same figures."""

from __future__ import annotations

import json
import shlex

import ironlaw as il

FEW = {"requests": 200}  # that a load draws here: the whole one takes a minute
SMALL = ("num_hidden_layers=2", "hidden_size=64", "num_attention_heads=4")  # what one layer shows, sixteen show again
LIGHTER = "llama3_2_1b"  # analysed instead of llama3_8b: half of the layers
MODEL = """import torch
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(8, 10)
)
"""
STUDY = '[study]\nquestion = "predict"\n[over]\nmodel = "mlp8_1024"\nhardware = ["t4", "h100"]\nbatch = { from = 1, to = 4, times = 2 }\n'
TIMES = {1: "95 s", 2: "51 s", 4: "29 s", 8: "19 s", 16: "15 s"}

# an example of the page, without `ironlaw` -> the same from Python
TWINS = {
    "predict resnet50 --on h100_sxm,t4 --mode eager,compiled": lambda: il.predictions("resnet50", "h100_sxm,t4", "eager,compiled"),
    "predict llama3_8b --on h200_sxm --decode --context 4096 --batch 1,8,64 --ops 5": lambda: il.predictions(
        "llama3_8b", "h200_sxm", decode=True, context=4096, batch=(1, 8, 64), ops=5
    ),
    "predict resnet50 --on h100_sxm,l40s,a10 --mode graphs --latency 5ms": lambda: il.predictions(
        "resnet50", "h100_sxm,l40s,a10", "graphs", latency="5 ms"
    ),
    "analyze my.py:model --input 8x3x224x224 --on h100_sxm": lambda: il.analyze("my.py:model", input="8x3x224x224", on="h100_sxm"),
    "analyze my.py:model --input 8x3x224x224 --on h100_sxm,a100_80gb_sxm --html report.html --per-day 10000 --compile-s 45": lambda: (
        il.analyze("my.py:model", input="8x3x224x224", on="h100_sxm,a100_80gb_sxm", per_day=10_000, compile_s=45)
    ),
    "analyze llama3_8b --prefill 2048 --decode --context 4096 --batch 1,16,64 --on h200_sxm,h100_sxm": lambda: il.analyze(
        LIGHTER, prefill=2048, decode=True, context=4096, batch=(1, 16, 64), on="h200_sxm,h100_sxm"
    ),
    "analyze hf:LlamaConfig --set num_hidden_layers=16 --seq 512 --dtype bf16 --on h200_sxm,a100_80gb_sxm": lambda: il.analyze(
        "hf:LlamaConfig", set=["num_hidden_layers=16", *SMALL], seq=512, dtype="bf16", on="h200_sxm,a100_80gb_sxm"
    ),
    "scale --serial 15% --workers 8,64": lambda: il.scale(serial="15%", workers=(8, 64)),
    "scale --speedups 2:1.8 --workers 64 --target 12": lambda: il.scale(speedups={2: 1.8}, workers=64, target=12),
    'scale --times "1:95 s,2:51 s,4:29 s,8:19 s,16:15 s" --workers 32,64': lambda: il.scale(times=TIMES, workers="32,64"),
    'queue --rate 160 --service "5 ms"': lambda: il.queue(rate=160, service="5 ms"),
    'queue --rate 144 --service "50 ms" --spread exponential --servers 8 --target "300 ms"': lambda: il.queue(
        rate=144, service=0.05, spread="exponential", servers=8, target="300 ms"
    ),
    "queue --rate 1000 --rate 10000 --workload resnet50 --on h200_sxm --mode compiled --batch 64": lambda: il.queue(
        rate=[1000, 10_000], workload="resnet50", on="h200_sxm", mode="compiled", batch=64
    ),
    'queue --rate 500 --times "1:0.5 ms,32:3.6 ms" --batch 32 --policy fixed': lambda: il.queue(
        rate=500, times={1: "0.5 ms", 32: "3.6 ms"}, batch=32, policy="fixed"
    ),
    "capacity llama3_8b --on h100,h200 --rate 20 --prompt 1155 --output 211 --ttft 1s --tbt 50ms --price h100=2.5,h200=3.5": lambda: (
        il.capacity("llama3_8b", "h100,h200", rate=20, prompt=1155, output=211, ttft=1, tbt="50ms", price={"h100": 2.5, "h200": 3.5}, **FEW)
    ),
    "capacity llama3_8b --on h200 --trace azure_chat_2023 --rate 10 --cache fp8 --simulate": lambda: il.capacity(
        "llama3_8b", "h200", trace="azure_chat_2023", rate=10, cache="fp8", simulate=True, **FEW
    ),
    "capacity llama3_8b --on h200 --rate 30 --acceptance 0.7 --prefix 500 --tbt 20ms": lambda: il.capacity(
        "llama3_8b", "h200", rate=30, acceptance=0.7, prefix=500, tbt=0.02, **FEW
    ),
    "quantise": il.quantise,
    "quantise llama3_8b --bits 8,4 --group 128 --zero-bits 16": lambda: il.quantise("llama3_8b", bits=(8, 4), group=128, zero_bits=16),
    "quantise --bits 8 --pruned 90%": lambda: il.quantise(bits=8, pruned=0.9),
    "memory gpt2 --batch 8 --seq 1024 --on rtx_4090": lambda: il.memory("gpt2", batch=8, seq=1024, on="rtx_4090"),
    "memory llama3_2_1b --batch 4 --seq 2048 --recipe mixed --checkpoint all --loss-chunks 8 --on rtx_4090,a100_80gb_sxm": lambda: (
        il.memory("llama3_2_1b", batch=4, seq=2048, recipe="mixed", checkpoint="all", loss_chunks=8, on=["rtx_4090", "a100_80gb_sxm"])
    ),
    "memory llama3_8b --qlora --batch 1 --seq 2048 --on rtx_4090": lambda: il.memory(
        "llama3_8b", qlora=True, batch=1, seq=2048, on="rtx_4090"
    ),
    "memory my.py:model --input 8x3x224x224 --recipe autocast --on t4": lambda: il.memory(
        "my.py:model", input="8x3x224x224", recipe="autocast", on="t4"
    ),
    "cluster llama3_70b --devices 1024 --box dgx_h100 --batch-tokens 4M": lambda: il.cluster("llama3_70b", 1024, "dgx_h100", "4M"),
    "cluster llama3_8b --devices 64 --box dgx_h100 --batch-tokens 1M --stack torchtitan --dtype fp8": lambda: il.cluster(
        "llama3_8b", 64, "dgx_h100", "1M", dtype="fp8", stack="torchtitan"
    ),
    "cluster gpt3_175b --devices 1024 --box dgx_a100 --batch-tokens 3M --top 3": lambda: il.cluster(
        "gpt3_175b", devices=1024, box="dgx_a100", batch_tokens="3M", top=3
    ),
    "cluster llama3_405b --devices 16384 --box grand_teton_h100 --batch-tokens 16M --layout tp=8,pp=16,v=8,zero=1": lambda: il.cluster(
        "llama3_405b", devices=16384, box="grand_teton_h100", batch_tokens=2**24, layout={"tp": 8, "pp": 16, "v": 8, "zero": 1}
    ),
    "study study.toml --top 5": lambda: il.study("study.toml", top=5, jobs=1),
    "privacy design.toml": lambda: il.privacy.read("design.toml"),
    "slo design.toml": lambda: il.slo.read("design.toml"),
    "levers design.toml": lambda: il.levers.read("design.toml"),
}  # fmt: skip
CAPTURED = {line for line in TWINS if "my.py" in line or "hf:" in line}  # asked in tests/torch; the others in tests/cli


def check_twins(sh, line, tmp_path, monkeypatch):
    """The command and Python say the same."""
    command, *argv = shlex.split(line)
    argv = [LIGHTER if (command, word) == ("analyze", "llama3_8b") else word for word in argv]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.py").write_text(MODEL)
    (tmp_path / "study.toml").write_text(STUDY)
    if "design.toml" in argv:
        (tmp_path / "design.toml").write_text(sh.out(command, "--example"))
    code, out, _ = sh(command, *argv, *fewer(command, argv), "--json")
    asked = TWINS[line]()
    own = json.loads(json.dumps(asked.to_json()))
    told = {name: value for name, value in json.loads(out).items() if name not in ("html", "computed")}
    assert code in (0, 1) and told == {name: value for name, value in own.items() if name != "computed"}
    assert repr(asked).startswith("<") and len(repr(asked)) < 3000 and "<table" in asked._repr_html_()


def fewer(command, argv):
    """Options that make the same question quick, as its twin asks it."""
    if command == "capacity":
        return ["--requests", str(FEW["requests"])]
    if "hf:LlamaConfig" in argv:
        return [word for setting in SMALL for word in ("--set", setting)]
    return ["--jobs", "1"] if command == "study" else []
