"""Does it fit? The largest batch under a memory limit: predicted where there is no GPU, then found by trying on one.

    PYTHONPATH=src python3 benchmarks/device/largest_batch.py --predict [--out benchmarks/largest_batch.json]
    PYTHONPATH=src python3 benchmarks/device/largest_batch.py --try --out DIR/tried.json [--seconds 115] [--dry]
    PYTHONPATH=src python3 benchmarks/device/largest_batch.py --judge DIR/tried.json
    … --draw 2 --out drawn.json, then --try and --judge with --cases drawn.json: twenty models that are drawn by seed

Twenty models, half of them from libraries, inference and whole training steps; the batch is a dial with powers of two and the halves
between. A prediction is what `ironlaw` says of an H200 with no more memory than the limit. Trying sets the limit for the process
(`set_per_process_memory_fraction`), empties the allocator, builds the model anew at each batch and calls it three times. A
prediction counts as right within one step of the dial. What was found on an H200 is in benchmarks/largest_batch_tried.json, and of the
drawn models in benchmarks/largest_batch_drawn_tried.json.
"""

import argparse
import gc
import json
import random
import sys
import time
import warnings
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import own  # noqa: E402
from corpus import catalogue  # noqa: E402
from own import audio, generative, language, physics, rays, recommenders, vision  # noqa: E402

KEPT = HERE.parent / "largest_batch.json"
DIAL = sorted({size for power in range(12) for size in (2**power, 3 * 2 ** (power - 1)) if size == int(size)})
CALLS = 3  # the optimiser's state comes with the first, and memory is in order from the second on
FIRST = (4, 16)  # batches whose line says where to look
GB = 1e9
NO_ROOM = ("out of memory", "ALLOC_FAILED", "valid cuDNN algorithm", "No valid execution plans")  # PyTorch, cuBLAS, cuDNN

LIBRARY = {  # transformers' model, what goes in, its size; mode, format, limit in GB
    "resnet": ("resnet:ResNetForImageClassification", "image", 224, "eager", "fp16", 2.0),
    "regnet": ("regnet:RegNetForImageClassification", "image", 224, "eager", "fp32", 3.0),
    "swinv2": ("swinv2:Swinv2ForImageClassification", "image", 224, "eager", "fp16", 2.5),
    "segformer": ("segformer:SegformerForSemanticSegmentation", "image", 224, "eager", "fp16", 1.5),
    "question_encoder": ("dpr:DPRQuestionEncoder", "ids", 510, "eager", "fp16", 1.5),
    "wav2vec2": ("wav2vec2:Wav2Vec2ForCTC", "audio", 80000, "eager", "fp32", 4.0),
    "deit": ("deit:DeiTForImageClassification", "image", 224, "training", "bf16", 5.0),
    "pvt_v2": ("pvt_v2:PvtV2ForImageClassification", "image", 224, "training", "fp32", 5.0),
    "openai_gpt": ("openai-gpt:OpenAIGPTLMHeadModel", "ids", 510, "training", "bf16", 6.0),
    "convnext": ("convnext:ConvNextForImageClassification", "image", 224, "training", "bf16", 4.0),
}


def squares(out):
    """A loss of whatever comes out."""
    return sum(part.float().square().mean() for part in (out if isinstance(out, tuple) else (out,)))


OWN = {  # the model, its input at a batch; mode, format (of training: of autocast), limit in GB
    "conformer": (lambda: audio.Recogniser(256, 6, 64), lambda n: torch.randn(n, 800, 80), "training", "bf16", 4.0),
    "wave_separator": (lambda: audio.Separator(48, 4), lambda n: torch.randn(n, 2, 65_536), "eager", "bf16", 2.0),
    "vq_vae": (lambda: generative.VqVae(128, 512), lambda n: torch.rand(n, 3, 64, 64), "training", "fp32", 3.0),
    "gpt_distance_bias": (lambda: language.TinyGpt(16_000, 512, 8, 6), lambda n: torch.randint(16_000, (n, 512)), "training", "fp32", 6.0),
    "fourier_operator": (lambda: physics.FourierOperator(48, 16, 4), lambda n: torch.randn(n, 128, 128), "eager", "fp32", 1.5),
    "edge_convolutions": (lambda: rays.EdgeConvolutions(20), lambda n: torch.randn(n, 3, 1024), "training", "fp32", 5.0),
    "next_item": (lambda: recommenders.NextItem(20_000, 64, 128, 3), lambda n: torch.randint(20_000, (n, 64)), "training", "bf16", 3.0),
    "volume_unet": (lambda: vision.VolumeUNet(32), lambda n: torch.randn(n, 1, 64, 64, 64), "eager", "bf16", 2.0),
    "divided_attention": (
        lambda: vision.DividedAttention(384, 6, 6, 196, 8), lambda n: torch.randn(n, 8, 3, 224, 224), "eager", "bf16", 1.0),
    "super_resolution": (lambda: vision.SuperResolution(64, 12), lambda n: torch.rand(n, 3, 64, 64), "training", "fp32", 4.0),
}  # fmt: skip
CASES = {name: case[-3:] for name, case in (LIBRARY | OWN).items()}
DRAWN = {}  # name -> entry of the corpus
RUNS = (("eager", "fp16"), ("training", "bf16"), ("eager", "fp32"), ("training", "fp32"))
SMALLEST, LARGEST = 3e6, 1.2e8  # parameters of a model that is drawn
LIMITS = 1.5, 6.0  # GB


def built(name, batch, device):
    """(module, arguments, keywords, loss) at a batch."""
    mode, dtype, _ = CASES[name]
    if name not in OWN:
        entry = catalogue.Entry("transformers", *LIBRARY[name][:3]) if name in LIBRARY else DRAWN[name]
        module, args, keywords = catalogue.build(entry, device=device, batch=batch, dtype=dtype)
        return module.train(mode == "training"), args, keywords, catalogue.loss
    make, inputs = OWN[name][:2]
    with torch.device(device):
        module, x = make(), inputs(batch)
    if mode != "training" and dtype != "fp32":
        module = module.to(own.DTYPES[dtype])
        x = x.to(own.DTYPES[dtype]) if x.is_floating_point() else x
    return module.train(mode == "training"), (x,), {}, squares


# ---- without a GPU


def draw(seed, path):
    """Twenty models of the corpus that no sealed set has and that can be captured at two batches, each with a run and a limit."""
    from sealed import SETS

    sealed = {model["model"] for file in SETS.glob("seed-[0-9].json") for model in json.loads(file.read_text())["models"]}
    chance = random.Random(f"largest batch {seed}")
    free = [entry for entry in catalogue.entries(("timm", "torchvision", "transformers")) if entry.name not in sealed]
    chance.shuffle(free)
    kept = {}
    CASES.clear()
    for entry in free:
        mode, dtype = RUNS[len(kept) % len(RUNS)]
        name = f"{entry.library} {entry.name}"
        DRAWN[name], CASES[name] = entry, (mode, dtype, round(chance.uniform(*LIMITS), 1))
        try:
            with torch.device("meta"):
                size = sum(p.numel() for p in catalogue.made(entry).parameters())
            needs = [float(predicted(name, batch).total) for batch in FIRST] if SMALLEST < size < LARGEST else [1.0, 0.0]
        except Exception as error:
            print(f"{name}: {type(error).__name__}", flush=True)
            needs = [1.0, 0.0]
        if needs[0] < needs[1] and needs[1] < CASES[name][2] * GB:
            kept[name] = {"entry": asdict(entry), "run": CASES[name]}
            print(name, *CASES[name], flush=True)
        else:
            del DRAWN[name], CASES[name]
        if len(kept) == 20:
            break
    path.write_text(json.dumps({"dial": DIAL, "drawn": kept, "cases": {}}, indent=1) + "\n")


def take_drawn(path):
    """The cases of a file that `draw` wrote, in place of those of this program."""
    CASES.clear()
    for name, one in json.loads(path.read_text())["drawn"].items():
        DRAWN[name], CASES[name] = catalogue.Entry(**one["entry"]), tuple(one["run"])


def predicted(name, batch):
    """The memory that `ironlaw` expects on an H200 that has no more than the limit."""
    import ironlaw as il

    mode, dtype, limit = CASES[name]
    module, args, keywords, loss = built(name, batch, "meta")
    if name in OWN and mode == "training":
        graph = il.capture(own.step_of(module, loss, "cuda", autocast=dtype == "bf16"), args)
    else:
        graph = il.capture(module, args, keywords, training=mode == "training")
    machine = replace(il.hardware("h200_sxm"), capacity=limit * GB, reserved=0.0)
    return il.predict(graph, machine, il.Plan(mode="eager")).memory


def predict(path, only):
    """The largest batch of the dial for each, written as they come."""
    warnings.filterwarnings("ignore")
    kept = json.loads(path.read_text()) if path.exists() else {"dial": DIAL, "cases": {}}
    for name, (mode, dtype, limit) in CASES.items():
        if name not in only:
            continue
        at = cache(lambda batch, name=name: predicted(name, batch))
        needs = lambda batch, at=at: float(at(batch).total)  # noqa: E731
        a, b = FIRST
        slope = max((needs(b) - needs(a)) / (b - a), 1.0)
        guess = max(1, int(a + (limit * GB - needs(a)) / slope))
        largest = searched(lambda batch, at=at: bool(at(batch).fits), guess)
        around = [size for size in (largest, following(largest)) if size]
        kept["cases"][name] = {
            "mode": mode,
            "dtype": dtype,
            "limit_bytes": limit * GB,
            "predicted": largest,
            "bytes": {n: needs(n) for n in around},
        }
        path.write_text(json.dumps(kept, indent=1) + "\n")
        print(f"{name:36}{mode:10}{dtype:6}{limit:5.1f} GB: {largest}", flush=True)


def following(size):
    """The next step of the dial; 0 after the last."""
    return next((step for step in DIAL if step > size), 0)


def searched(fits, guess):
    """The largest step of the dial that fits, looked for from a guess on; 0 where none does."""
    place = max((i for i, step in enumerate(DIAL) if step <= guess), default=0)
    if fits(DIAL[place]):
        while place + 1 < len(DIAL) and fits(DIAL[place + 1]):
            place += 1
        return DIAL[place]
    while place > 0:
        place -= 1
        if fits(DIAL[place]):
            return DIAL[place]
    return 0


# ---- on a GPU, with PyTorch alone


def call_of(name, batch, device):
    mode, dtype, _ = CASES[name]
    module, args, keywords, loss = built(name, batch, device)
    if mode == "training":
        step = own.step_of(Bound(module, keywords), loss, device, autocast=name in OWN and dtype == "bf16")
        return lambda: step(*args)

    def infer():
        with torch.no_grad():
            module(*args, **keywords)

    return infer


class Bound(torch.nn.Module):
    """A module with its keywords."""

    def __init__(self, module, keywords):
        super().__init__()
        self.module, self.keywords = module, keywords

    def forward(self, *args):
        return self.module(*args, **self.keywords)


def emptied():
    gc.collect()
    if torch.cuda.is_available():
        torch._C._cuda_clearCublasWorkspaces()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def runs(name, batch, device):
    """Whether it runs, and the allocator's peaks; anything but a lack of memory is an error."""
    emptied()
    held = torch.cuda.memory_reserved() if device == "cuda" else 0
    fits = True
    try:
        call = call_of(name, batch, device)
        for _ in range(CALLS if device == "cuda" else 1):
            call()
        if device == "cuda":
            torch.cuda.synchronize()
    except RuntimeError as error:
        if not any(words in str(error) for words in NO_ROOM):
            raise
        fits = False
    peaks = (torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()) if device == "cuda" else (0, 0)
    return {"batch": batch, "fits": fits, "held_bytes": held, "memory_bytes": peaks[0], "reserved_bytes": peaks[1]}


def tried(path, seconds, dry, only, cases=KEPT):
    """What really runs, written as it comes."""
    device = "cpu" if dry else "cuda"
    begun, found = time.time(), {"torch": torch.__version__, "cases": {}}
    guesses = json.loads(cases.read_text())["cases"] if cases.exists() else {}
    if not dry:
        found["gpu"] = torch.cuda.get_device_name(0)
        total = torch.cuda.get_device_properties(0).total_memory
    for name, (_, _, limit) in CASES.items():
        if name not in only or time.time() - begun > seconds:
            continue
        if not dry:
            torch.cuda.set_per_process_memory_fraction(limit * GB / total)
        tries = []

        def fits(batch, name=name, tries=tries):
            tries.append(runs(name, batch, device))
            return tries[-1]["fits"] and not (dry and tries[1:])

        row = {"limit_bytes": limit * GB}
        try:
            row["largest"] = searched(fits, 2 if dry else guesses.get(name, {}).get("predicted") or 8)
        except Exception as error:
            row["error"] = f"{type(error).__name__}: {str(error)[:200]}"
        found["cases"][name] = row | {"tries": tries}
        found["seconds"] = round(time.time() - begun, 1)
        path.write_text(json.dumps(found, indent=1) + "\n")
        print(f"{name:36}{limit:5.1f} GB: {row.get('largest', row.get('error'))} after {found['seconds']:.0f} s", flush=True)


# ---- both beside each other


def apart(predicted, largest):
    """Steps of the dial between the two; positive: too many were promised."""
    places = [0, *DIAL]
    return places.index(predicted) - places.index(largest)


def judge(path, cases=KEPT):
    """A line for each, and how many are right to within one step."""
    kept, found = json.loads(cases.read_text())["cases"], json.loads(Path(path).read_text())["cases"]
    off = []
    for name, case in kept.items():
        if "largest" not in found.get(name, {}):
            print(f"{name:20} {found.get(name, {}).get('error', 'not tried')}")
            continue
        off.append(apart(case["predicted"], found[name]["largest"]))
        peaks = {one["batch"]: one["memory_bytes"] for one in found[name]["tries"] if one["fits"]}
        errors = [f"{case['bytes'][str(n)] / peak - 1:+.0%}" for n, peak in peaks.items() if str(n) in case["bytes"]]
        limit = f"{case['limit_bytes'] / GB:.1f} GB"
        sizes = f"predicted {case['predicted']:5}  found {found[name]['largest']:5}  {off[-1]:+d} steps"
        print(f"{name:36}{case['mode']:10}{case['dtype']:6}{limit:>8}  {sizes}  peak {', '.join(errors)}")
    right, same, bold = (sum(rule(n) for n in off) for rule in (lambda n: abs(n) <= 1, lambda n: n == 0, lambda n: n > 0))
    print(f"{right} of {len(off)} right to within one step of the dial, {same} exactly; {bold} promised too much")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--predict", action="store_true")
    what.add_argument("--try", action="store_true", dest="tried")
    what.add_argument("--judge", metavar="FILE")
    what.add_argument("--draw", metavar="SEED", help="models of the corpus, and predict them")
    parser.add_argument("--cases", type=Path, default=KEPT, help="what --draw wrote")
    parser.add_argument("--out", type=Path, default=KEPT)
    parser.add_argument("--seconds", type=float, default=115.0, help="after which no other model is tried")
    parser.add_argument("--only", default="", help="these of them, with commas between")
    parser.add_argument("--dry", action="store_true", help="on the processor, a batch of two, to try the program")
    args = parser.parse_args()
    if args.cases != KEPT:
        take_drawn(args.cases)
    if args.draw:
        draw(args.draw, args.out)
        return predict(args.out, list(CASES))
    only = args.only.split(",") if args.only else list(CASES)
    if args.judge:
        judge(args.judge, args.cases)
    elif args.predict:
        predict(args.cases if args.out == KEPT else args.out, only)
    elif args.out == KEPT:
        parser.error("--try needs --out FILE: the predictions' own file is only read")
    else:
        tried(args.out, args.seconds, args.dry, only, args.cases)


if __name__ == "__main__":
    main()
