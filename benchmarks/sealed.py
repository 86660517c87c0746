"""Models that nobody has looked at: drawn by seed from the corpus, measured as totals, compared with what we predict.

    python benchmarks/sealed.py draw --seed 1          choose 40 models of the corpus; nothing is measured yet
    PYTHONPATH=src python3 benchmarks/device/sealed_runs.py --seed 1 --out DIR      on the machine with the GPU
    ironlaw measure --host --json > DIR/host.json                                   there too: what its processor launches with
    python benchmarks/sealed.py keep --seed 1 --host DIR/host.json DIR/sealed-1-*.json      totals into the set
    python benchmarks/sealed.py capture --seed 1       their graphs, with the library versions that were measured
    python benchmarks/sealed.py judge                  errors and intervals, sealed and open side by side
    python benchmarks/sealed.py judge --runs           every run of the models that were opened
    python benchmarks/sealed.py judge --set 'own-*'    the same for models that are in no library (benchmarks/device/own)
    python benchmarks/sealed.py open --seed 1 --why …  somebody looked at its operators: it counts as open from now on

A set is one file in benchmarks/sealed_sets, and keeps its history. A part of it can be opened (`--count`): which models, the seed
decides, and the rest stays sealed. `draw` and `capture` need the libraries of benchmarks/pinned.txt; `judge` needs only ironlaw.
While a model is sealed, print nothing of it but totals over all of them.
"""

import argparse
import json
import lzma
import multiprocessing
import random
import re
import sys
import textwrap
import warnings
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean, median, quantiles

HERE = Path(__file__).resolve().parent
SETS = HERE / "sealed_sets"
sys.path.insert(0, str(HERE))
MACHINE = "h200_sxm"
COUNT, LANGUAGE_MODELS = 40, 10  # of the whole corpus; and decoders beside them, for prefill and decode
MOST_PARAMETERS = 2.5e9  # ten processes keep theirs on one GPU, and train them
MOST_INFERRED = 9e9
COMPILED = ("compiled", "fp16")
TOO_LOW = 0.05  # by which a predicted memory peak may be under the measured one
LONGEST_CAPTURE = 90  # seconds without a graph
SHARED = 1.02  # busy seconds for each second of a call, from which on another process must have used the GPU
WAITING, ALIKE = 2.0, 0.07  # wall over device time from which on the host decides; how near two numbers of kernels are
SEALED, OPEN, PROFILED = "sealed", "opened", "opened, with operators among the evidence"
BEGIN, END = "<!-- sealed: python benchmarks/sealed.py judge --write -->", "<!-- end -->"
CACHE, WRITTEN = 1024, 512  # places of a decoder's cache, and how many of them hold a token


def path(seed):
    """A seed's set of the corpus; or, by its whole name (own-1), one of own code."""
    return SETS / (f"seed-{seed}.json" if isinstance(seed, int) else f"{seed}.json")


def load(seed):
    return json.loads(path(seed).read_text())


def save(kept):
    SETS.mkdir(exist_ok=True)
    rows = ",\n".join("  " + json.dumps(row) for row in kept["rows"])
    head = {name: value for name, value in kept.items() if name != "rows"}
    path(kept["seed"]).write_text(json.dumps(head, indent=1)[:-2] + f',\n "rows": [\n{rows}\n ]\n}}\n')


def today():
    return datetime.now(UTC).date().isoformat()


# ---- what is run


def runs(model):
    """(mode, format, batch) of every run of a model."""
    large = model["batch"]
    inferred = [("eager", "fp16", 1), ("eager", "fp16", large)]
    rest = [] if model.get("only") else [(*COMPILED, large), ("eager", "fp32", large), ("training", "bf16", large)]
    return inferred + rest + ([("decode", "fp16", 8)] if "CausalLM" in model["model"] else [])


def built(model, mode, dtype, batch, device):
    """(module, arguments, keywords) of one run."""
    from corpus import catalogue

    entry = catalogue.Entry(model["library"], model["model"], model["input"], model["size"])
    module, args, keywords = catalogue.build(entry, device=device, batch=batch, dtype=dtype)
    module = module.train(mode == "training")
    if mode == "decode":
        args, keywords = decoding(module, batch, device)
    return module, args, keywords


def decoding(module, batch, device):
    """Arguments of one step: a token for each sequence, a cache that holds what came before."""
    import torch
    from transformers import StaticCache

    cache = StaticCache(config=module.config, max_cache_len=CACHE)
    with torch.device(device), torch.no_grad():
        words = module.config.get_text_config().vocab_size
        module(torch.randint(words, (batch, WRITTEN)), past_key_values=cache, use_cache=True)
        step = torch.randint(words, (batch, 1))
        place = torch.full((batch, 1), WRITTEN)
    return (step,), {"past_key_values": cache, "position_ids": place, "use_cache": True}


def call_of(model, mode, dtype, batch, device):
    """A run as a call without arguments."""
    import torch
    from corpus import catalogue

    module, args, keywords = built(model, mode, dtype, batch, device)
    if mode == "training":
        optimiser = torch.optim.AdamW(module.parameters(), lr=1e-5)

        def step():
            catalogue.loss(module(*args, **keywords)).backward()
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)

        return step
    run = torch.compile(module) if mode == "compiled" else module

    def call():
        with torch.no_grad():
            run(*args, **keywords)

    return call


# ---- the commands


def architecture(name):
    """Of a class of transformers: `electra:ElectraForMaskedLM` and `ElectraModel` are both Electra."""
    return re.sub(r"(ForCausalLM|LMHeadModel|EncoderModel|VisionModel|Model|For[A-Z]\w*)$", "", name.rpartition(":")[2])


def looked_at():
    """Architectures that rules and curves were judged by: of measured models, and of sets that were opened."""
    files = (HERE.parent / "src/ironlaw/registry/evidence" / MACHINE).glob("*.json")
    measured = [row["model"] for file in files for row in json.loads(file.read_text())["rows"] if row.get("model")]
    sets = [json.loads(file.read_text()) for file in SETS.glob("seed-*.json")]
    return {architecture(name) for name in [*measured, *(name for kept in sets for name in opened(kept))]}


def opened(kept):
    """Names of a set's models that were looked at."""
    return [model["model"] for model in kept["models"] if "opened" in model]


def first_that_build(entries, count, most):
    """The first `count` of them that have no more than `most` parameters."""
    from corpus import catalogue

    models = []
    for entry in entries:
        batch = 16 if entry.kind == "image" else 4
        try:
            module, *_ = catalogue.build(entry, device="meta", batch=batch, dtype="fp16")
        except Exception as error:
            print(f"{entry.library} {entry.name} does not build: {str(error)[:100]}", file=sys.stderr)
            continue
        if sum(p.numel() for p in module.parameters()) <= most:
            models.append({"library": entry.library, "model": entry.name, "input": entry.kind, "size": entry.size, "batch": batch})
        if len(models) == count:
            break
    return models


def draw(args):
    """Shuffle the corpus by the seed and take the first that build and are small enough."""
    from importlib.metadata import version

    from corpus import catalogue

    if path(args.seed).exists():
        sys.exit(f"{path(args.seed)} is there already: a set is drawn once; take another seed")
    entries = list(catalogue.entries())
    random.Random(args.seed).shuffle(entries)
    seen = looked_at()
    # diffusers is not installed on the machine that measures
    fresh = [entry for entry in entries if entry.library != "diffusers" and architecture(entry.name) not in seen]
    models = first_that_build(fresh, COUNT, MOST_PARAMETERS)
    rest = [entry for entry in fresh if "ForCausalLM" in entry.name and entry.name not in {model["model"] for model in models}]
    models += [model | {"only": "inference"} for model in first_that_build(rest, LANGUAGE_MODELS, MOST_INFERRED)]
    libraries = ("torch", "torchvision", "timm", "transformers")
    history = [{"date": today(), "what": f"{len(models)} models drawn from {len(entries)}"}]
    head = {"format": "ironlaw-sealed/2", "seed": args.seed, "corpus": len(entries)}
    save(head | {"drawn_with": {name: version(name) for name in libraries}, "history": history, "models": models, "rows": []})
    print(f"{len(models)} models of {len(entries)}")


def keep(args):
    """Put the measured totals into the set; later, with --more, those of models that have none yet."""
    kept = load(args.seed)
    if kept["rows"] and not args.more:
        sys.exit("this set has its totals already: measure another seed, or give --more for models that have none")
    timed = {row["model"] for row in kept["rows"] if "busy_s" in row}
    rows = {}
    for file in args.files:
        measured = json.loads(Path(file).read_text())
        if "launches" in (measured.get("host") or {}):  # measured by the same program between compiling and timing
            kept["hosts"] = [*kept.get("hosts", []), measured["host"]]
            measured["rows"] = [row | {"host": len(kept["hosts"]) - 1} for row in measured["rows"]]
        for row in measured["rows"]:
            key = run_of(row)
            if row["model"] not in timed and "busy_s" not in rows.get(key, {}):
                rows[key] = possible(row)  # a run that failed may have been tried again
        kept |= {name: measured[name] for name in ("machine", "software", "method")}
    if any("list" in row for row in rows.values()):
        sys.exit("these rows list kernels: a sealed set holds totals only")
    if args.host:
        kept["hosts"] = [*kept.get("hosts", []), json.loads(args.host.read_text())["host"]]
        rows = {key: {"host": len(kept["hosts"]) - 1} | row for key, row in rows.items()}
    kept["rows"] = [row for row in kept["rows"] if run_of(row) not in rows] + list(rows.values())
    times = sum("busy_s" in row for row in rows.values())
    names = {row["model"] for row in rows.values()}
    what = f"{times} of {len(rows)} runs of {len(names)} models measured on {MACHINE}; the others were not run"
    kept["history"].append({"date": today(), "what": what})
    save(kept)
    print(f"{times} of {len(rows)} runs have a time")


def run_of(row):
    return tuple(row[name] for name in ("library", "model", "mode", "dtype", "batch"))


def possible(row):
    """The row; or, where the GPU was busy for longer than the call lasted, why it has no time: something else ran beside it."""
    if "busy_s" not in row or row["busy_s"] <= SHARED * min(row["wall_s"], row["piped_s"]):
        return row
    which = {name: value for name, value in row.items() if name not in ("kernels", "busy_s", "wall_s", "piped_s")}
    return which | {"error": f"the GPU was shared: busy for {row['busy_s']:.6f} s of a call of {min(row['wall_s'], row['piped_s']):.6f} s"}


def graphs_path(seed):
    return path(seed).with_suffix(".graphs.json.xz")


def key_of(row):
    """Which graph a run is of: eager and compiled run the same one."""
    mode = row["mode"] if row["mode"] in ("training", "decode") else "inference"
    return f"{row['library']} {row['model']} {mode} {row['dtype']} {row['batch']}"


def capture(args):
    """Capture every run that has a time; a failure is kept too, for it counts."""
    kept = load(args.seed)
    if args.fresh or not graphs_path(args.seed).exists():
        graphs = {}
    else:
        graphs = stored(args.seed)
    if args.again:  # what holds such an op
        graphs = {key: graph for key, graph in graphs.items() if not re.search(args.again, json.dumps(graph))}
    models = {model["model"]: model for model in kept["models"]}
    wanted = {key_of(row): row for row in kept["rows"] if "busy_s" in row}
    missing = {key: row for key, row in wanted.items() if "error" in graphs.get(key, {"error": ""})}
    with multiprocessing.get_context("spawn").Pool(args.processes) as pool:
        jobs = [(key, models[row["model"]], row) for key, row in missing.items()]
        results = pool.imap_unordered(captured, jobs)
        for number in range(1, len(jobs) + 1):
            try:
                key, graph = results.next(timeout=LONGEST_CAPTURE)
            except multiprocessing.TimeoutError:  # a process died, or hangs
                graphs |= {key: {"error": "capture did not end"} for key in missing if key not in graphs}
                pool.terminate()
                break
            graphs[key] = graph
            print(f"\r{number} of {len(jobs)}", end="", file=sys.stderr, flush=True)
            if number % 10 == 0:
                store(args.seed, graphs)
    store(args.seed, graphs)
    failed = [key for key, graph in graphs.items() if "error" in graph]
    print(f"\n{len(graphs) - len(failed)} of {len(graphs)} runs captured", *failed, sep="\n  ")


def captured(job):
    """(key, graph) of one run, or (key, why there is none)."""
    import ironlaw as il
    from ironlaw.tracing.graph_json import to_json

    warnings.filterwarnings("ignore")
    key, model, row = job
    try:
        if model["library"] == "own":
            return key, to_json(without_lines(own_graph(row)))
        module, *call = built(model, row["mode"], row["dtype"], row["batch"], "meta")
        return key, to_json(without_lines(il.capture(module, *call, training=row["mode"] == "training")))
    except Exception as error:
        return key, {"error": f"{type(error).__name__}: {str(error)[:200]}"}


def without_lines(graph):
    """Which line of code an op comes from changes no prediction."""
    return replace(graph, settings={name: value for name, value in graph.settings.items() if name != "lines"})


def own_graph(row):
    """The graph of a run of own code: its training step has a loss and an optimiser of its own."""
    sys.path.insert(0, str(HERE / "device"))
    import own

    import ironlaw as il

    call, inputs, loss = own.build(row["model"], row["mode"], row["dtype"], "meta")
    if row["mode"] == "training":
        return il.capture(own.step_of(call, loss, "cuda", autocast=row["dtype"] == "bf16"), inputs)
    return il.capture(call, inputs)


def stored(seed):
    return json.loads(lzma.decompress(graphs_path(seed).read_bytes()))


def store(seed, graphs):
    graphs_path(seed).write_bytes(lzma.compress(json.dumps(graphs, separators=(",", ":")).encode(), preset=6))


class Judged:
    """One run beside its prediction."""

    def __init__(self, row, prediction):
        self.row, self.prediction = row, prediction
        self.mode = {("eager", "fp32"): "eager fp32"}.get((row["mode"], row["dtype"]), row["mode"])
        self.error = prediction.busy_s / row["busy_s"] - 1.0
        self.kernels = prediction.kernels / row["kernels"] - 1.0
        self.wall = prediction.seconds / row["piped_s"] - 1.0
        self.memory = float(prediction.memory.total) / row["memory_bytes"] - 1.0 if "memory_bytes" in row else None
        whole = 0 < row.get("memory_bytes", 0) <= row.get("reserved_bytes", 0)  # else other models' segments were reused
        self.segments = float(prediction.memory.segments) / row["reserved_bytes"] - 1.0 if whole else None
        self.by_default = None  # the same prediction with the default host


def judged(seed):
    """Every run that has a time and a graph, and the models of those that could not be captured."""
    import ironlaw as il
    from ironlaw.calibration import stored_curves
    from ironlaw.tracing.graph_json import from_json

    machine, found, missing = il.hardware(MACHINE), [], []
    kept, graphs, memo = load(seed), stored(seed), {}
    hosts = [stored_curves.host(each) for each in kept.get("hosts", [])]
    for row in kept["rows"]:
        if "busy_s" not in row:
            continue
        key = key_of(row)
        if "error" in graphs.get(key, {"error": ""}):
            missing.append(row["model"])
            continue
        if key not in memo:
            memo = {key: from_json(graphs[key])}
        plan = il.Plan(mode="compiled" if row["mode"] == "compiled" else "eager", host=hosts[row["host"]] if "host" in row else None)
        one = Judged(row, il.predict(memo[key], machine, plan))
        if plan.host is not None and "turns" in row and row["mode"] != "training":
            one.by_default = il.predict(memo[key], machine, il.Plan(mode=plan.mode))
        found.append(one)
    return found, missing


def gains(found, clock="busy_s", which="prediction"):
    """Eager over compiled time of each model: (predicted, measured); of the device, or of the wall where both were timed by turns."""
    predicted = {"busy_s": "busy_s", "piped_s": "seconds"}[clock]
    found = [one for one in found if getattr(one, which) is not None]
    times = {}
    for one in found:
        times.setdefault((one.row["library"], one.row["model"], one.row["batch"], one.row["dtype"]), {})[one.row["mode"]] = one
    pairs = [(both["eager"], both["compiled"]) for both in times.values() if {"eager", "compiled"} <= set(both)]
    if clock == "piped_s":
        pairs = [(a, b) for a, b in pairs if "turns" in a.row and "turns" in b.row]
    times = [[getattr(getattr(one, which), predicted) for one in pair] for pair in pairs]
    return [(eager / compiled, a.row[clock] / b.row[clock]) for (eager, compiled), (a, b) in zip(times, pairs, strict=True)]


def judge(args):
    """The table that docs/accuracy.md leads with; with --open, the models that were looked at beside it."""
    for file in sorted(SETS.glob(f"{args.set}.json")):
        kept = json.loads(file.read_text())
        if not graphs_path(kept["seed"]).exists():
            continue
        found, missing = judged(kept["seed"])
        for title, names in parts(kept).items():
            mine = [one for one in found if one.row["model"] in names]
            text = table(f"set {kept['seed']}, {title}", mine, sum(name in names for name in missing))
            print(text, end="\n\n")
            if args.runs and title != SEALED:
                print(*map(run_line, sorted(mine, key=lambda one: (one.mode, -abs(one.error)))), sep="\n", end="\n\n")
    if args.write:
        write()
    if args.open:
        from accuracy import compared
        from open_set import captured_models

        from ironlaw.compare import comparisons

        print("open: models that were looked at")
        found = [*comparisons(MACHINE, "model"), *compared(list(captured_models()))]
        for mode in dict.fromkeys(one.mode for one in found):
            errors = [one.error for one in found if one.mode == mode]
            print(f"{mode:12}{len(errors):6}{figures(errors)}")


NEWEST = (("own-*", "models as engineers write them"), ("seed-*", "models from libraries"))
COLUMNS = (("eager", "eager"), ("FP32", "eager fp32"), ("compiled", "compiled"), ("training", "training"))


def newest():
    """(words, runs, how many could not be captured) of the sealed part of the newest set of own code, then of libraries' models."""
    for pattern, words in NEWEST:
        sets = [json.loads(file.read_text()) for file in sorted(SETS.glob(f"{pattern}.json"))]
        kept = [kept for kept in sets if SEALED in parts(kept) and graphs_path(kept["seed"]).exists()][-1]
        found, missing = judged(kept["seed"])
        names = parts(kept)[SEALED]
        yield words, [one for one in found if one.row["model"] in names], sum(name in names for name in missing)


def leading(sets):
    """What docs/accuracy.md leads with: the mean errors, and then all figures."""
    return f"{summary(sets)}\n\n```\n" + "\n\n".join(table(f"{words}, sealed", mine, missing) for words, mine, missing in sets) + "\n```"


def summary(sets):
    """Mean errors of the device time, of the gain on the wall, and of peak memory, as a table."""
    lines = [
        f"| mean error | {' | '.join(name for name, _ in COLUMNS)} | gain from compiling, wall time | peak memory, not compiled |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for words, mine, _ in sets:
        pairs = gains(mine, "piped_s")
        peaks = [abs(one.memory) for one in mine if one.memory is not None and one.mode != "compiled"]
        cells = [f"{error:.0%}" for error in mode_errors(mine)]
        cells += [f"{mean(abs(a / b - 1.0) for a, b in pairs):.0%}", f"{mean(peaks):.0%}" if peaks else "–"]
        lines.append(f"| {models(mine)} {words} | {' | '.join(cells)} |")
    return "\n".join(lines)


def brief(sets):
    """What the README says, in sentences."""
    (own, mine, _), (others, theirs, _) = sets
    low, *_, high = sorted(zip(mode_errors(mine), (name for name, _ in COLUMNS), strict=True))
    errors, far = mode_errors(theirs), sum(abs(one.error) > 0.5 for one in mine)
    return textwrap.fill(
        f"Predicted GPU time is off by {low[0]:.0%} ({low[1]}) to {high[0]:.0%} ({high[1]}) on average for {models(mine)} {own}, and by "
        f"{min(errors):.0%} to {max(errors):.0%} for {models(theirs)} {others}. Half of the first set's predictions are within "
        f"{median(abs(one.error) for one in mine):.0%}, but {far} of {len(mine)} are off by more than half. So read the range beside every "
        "figure; four runs out of five should fall inside it.",
        150,
    )


def mode_errors(found):
    """The mean error of each mode of COLUMNS."""
    return [mean(abs(one.error) for one in found if one.mode == mode) for _, mode in COLUMNS]


def models(found):
    return len({one.row["model"] for one in found})


PAGES = {"docs/accuracy.md": leading, "README.md": brief}


def parts(kept):
    """Names of the models that are sealed, of those that are not, and of those whose operators went into the curves; each is in one."""
    names, looked = {model["model"] for model in kept["models"]}, {*opened(kept)}
    fitted = {model["model"] for model in kept["models"] if "profiled" in model}
    return {title: mine for title, mine in ((SEALED, names - looked), (OPEN, looked - fitted), (PROFILED, fitted)) if mine}


def table(title, found, missing):
    """A line for each mode, and what compiling brings."""
    names = len({one.row["model"] for one in found})
    lines = [
        f"{title}: {names} models, {len(found)} runs, {missing} not captured",
        f"{'mode':12}{'runs':>6}{'mean':>8}{'median':>8}{'bias':>8}{'95% within':>13}{'worst':>8}{'kernels':>9}{'wall':>8}{'inside':>12}",
        *(line(mode, [one for one in found if one.mode == mode]) for mode in dict.fromkeys(one.mode for one in found)),
    ]
    told = (("busy_s", "gain from compiling"), ("piped_s", "the same on the wall, timed by turns"))
    for clock, words, which in (*((*one, "prediction") for one in told), ("piped_s", "the same with the default host", "by_default")):
        pairs = gains(found, clock, which)
        if pairs:
            off, bias = mean(abs(a / b - 1.0) for a, b in pairs), mean(a / b - 1.0 for a, b in pairs)
            right = sum((a > 1.0) == (b > 1.0) for a, b in pairs)
            lines.append(f"{words}: {off:.1%} off, bias {bias:+.1%}; whether it pays is right for {right} of {len(pairs)}")
    lines += [line for line in (by_default_line(found), *memory_lines(found)) if line]
    apart = repeats(found)
    if apart:
        lines.append(f"wall of the same launches at two batch sizes: a factor of {median(apart):.2f} apart, median of {len(apart)} models")
    return "\n".join(lines)


def by_default_line(found):
    """How far off walls are without the host that was measured."""
    parts = []
    for mode in ("eager", "eager fp32", "compiled"):
        mine = [one for one in found if one.mode == mode and one.by_default is not None]
        errors = [one.by_default.seconds / one.row["piped_s"] - 1.0 for one in mine]
        inside = sum(low <= one.row["piped_s"] <= high for one in mine for low, high in [one.by_default.interval])
        parts += [f"{mode} {mean(map(abs, errors)):.0%}, bias {mean(errors):+.0%}, inside {inside} of {len(mine)}"] if mine else []
    return f"wall with the default host: {'; '.join(parts)}" if parts else ""


def memory_lines(found):
    """Peak memory: what tensors need, and what the allocator takes from the GPU for them."""
    lines = []
    for words, name in (("peak memory", "memory"), ("what the allocator takes", "segments")):
        parts = []
        for mode in dict.fromkeys(one.mode for one in found):
            errors = [getattr(one, name) for one in found if one.mode == mode and getattr(one, name) is not None]
            low = sum(error < -TOO_LOW for error in errors)
            parts += [f"{mode} {mean(map(abs, errors)):.0%}, bias {mean(errors):+.0%}, too low {low} of {len(errors)}"] if errors else []
        lines += [f"{words}: {'; '.join(parts)}"] if parts else []
    return lines


def repeats(found):
    """How far apart a host's own times are: of each model that waits for it at both batch sizes, the longer wall time for each kernel
    over the shorter."""
    times = {}
    for one in found:
        if one.mode == "eager" and one.row["piped_s"] > WAITING * one.row["busy_s"]:
            times.setdefault(one.row["model"], []).append((one.row["kernels"], one.row["piped_s"] / one.row["kernels"]))
    pairs = [both for both in times.values() if len(both) == 2 and abs(both[0][0] / both[1][0] - 1.0) < ALIKE]
    return [max(a, b) / min(a, b) for (_, a), (_, b) in pairs]


def write():
    """Into the pages, between their marks."""
    sets = list(newest())
    for name, text in PAGES.items():
        page = HERE.parent / name
        before, _, rest = page.read_text().partition(BEGIN)
        page.write_text(f"{before}{BEGIN}\n{text(sets)}\n{END}{rest.partition(END)[2]}")


def figures(errors):
    sizes = [abs(error) for error in errors]
    return f"{mean(sizes):8.1%}{median(sizes):8.1%}{mean(errors):+8.1%}{within(errors):13.0%}{max(errors, key=abs):+8.0%}"


def within(errors):
    """The error that nineteen in twenty stay under."""
    return quantiles(map(abs, errors), n=20)[-1] if len(errors) > 1 else abs(errors[0])


def line(mode, mine):
    errors = [one.error for one in mine]
    inside = sum(low <= one.row["busy_s"] <= high for one in mine for low, high in [one.prediction.intervals.device])
    counts = f"{mean(abs(one.kernels) for one in mine):9.1%}{mean(abs(one.wall) for one in mine):8.0%}"
    return f"{mode:12}{len(mine):6}{figures(errors)}{counts}{inside:6} of {len(mine)}"


def run_line(one):
    """One run of a model that was opened."""
    low, high = one.prediction.intervals.device
    inside = "" if low <= one.row["busy_s"] <= high else "outside"
    name = f"{one.row['library']} {one.row['model']}"
    counts = f"kernels {one.prediction.kernels:,.0f} of {one.row['kernels']:,.0f}"
    times = f"{one.row['busy_s'] * 1e3:9.3f} ms{one.error:+8.1%}"
    return f"{one.mode:12}{name:60}{one.row['batch'] or '':4} {times}  {counts}  wall {one.wall:+.0%} {inside}"


def unseal(args):
    """Count models as looked at from now on: all that are sealed, or as many as --count says."""
    kept = load(args.seed)
    shut = [model for model in kept["models"] if "opened" not in model]
    random.Random(args.seed).shuffle(shut)
    chosen = shut[: args.count]
    for model in chosen:
        model["opened"] = today()
    kept["history"].append({"date": today(), "what": f"{len(chosen)} of {len(shut)} opened: {args.why}"})
    save(kept)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, what in {"draw": draw, "keep": keep, "capture": capture, "judge": judge, "open": unseal}.items():
        command = commands.add_parser(name, help=what.__doc__)
        command.set_defaults(what=what)
        if name != "judge":
            command.add_argument("--seed", type=lambda name: int(name) if name.isdigit() else name, required=True, help="3, or own-1")
    commands.choices["keep"].add_argument("files", nargs="+")
    commands.choices["keep"].add_argument("--more", action="store_true", help="add models of the set that were not measured so far")
    commands.choices["keep"].add_argument("--host", type=Path, help="what `ironlaw measure --host --json` printed on that machine")
    commands.choices["capture"].add_argument("--fresh", action="store_true", help="all graphs again, after a change of capture")
    commands.choices["capture"].add_argument(
        "--again", default="", help="also what holds such an op, by a regular expression: linalg_inv|svd"
    )
    commands.choices["capture"].add_argument("--processes", type=int, default=1, help="so many models side by side")
    commands.choices["judge"].add_argument("--set", default="seed-*", help="whose tables: own-* for own code")
    commands.choices["judge"].add_argument("--open", action="store_true", help="the open set too; needs PyTorch and transformers")
    commands.choices["judge"].add_argument("--write", action="store_true", help="the sealed sets' tables into the docs")
    commands.choices["judge"].add_argument("--runs", action="store_true", help="every run of the models that were opened")
    commands.choices["open"].add_argument("--why", required=True)
    commands.choices["open"].add_argument("--count", type=int, help="open only so many of them, chosen by the seed")
    args = parser.parse_args()
    args.what(args)


if __name__ == "__main__":
    main()
