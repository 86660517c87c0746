"""docs/corpus.md: what was captured of each library, what failed, and why."""

import re
from collections import Counter, defaultdict

RUNS = {"eager1": "inference, batch 1", "eager": "inference, larger batch", "training": "training step"}
EARLIER = ", of an earlier run"
UNBUILT = "does not build"
WORDS = {"refused": "refuses the call", "unchecked": "not checked"}  # as the columns say it
LIBRARIES = ("timm", "torchvision", "transformers", "diffusers")
HEAD = """# The corpus

The corpus is every model of timm, torchvision, transformers and diffusers that can be built without weights, chosen by rule
([`benchmarks/corpus/catalogue.py`](../benchmarks/corpus/catalogue.py)) and captured unchanged. Its distinct operators are what a prediction
must cover, and `ironlaw coverage` prints how much of their time lies near something that was measured on a machine.

A model *does not build* if its default configuration raises an error. It *refuses the call* if it rejects every input that the rules make,
in FP16, BF16 and FP32, and plain PyTorch on a CPU rejects the usual one too; such models do not count in the share captured. A refusal is
*not checked* if plain PyTorch was not tried, because the run is an earlier one or the model is too large. Where there are any, the share
captured is given twice, first without them and then with each of them as a failure. If plain PyTorch accepts the call, a failure counts as
*not captured*. The tables leave out runs that have not been made yet. A model that failed in an earlier run stays a failure until it is run
again.

`benchmarks/corpus/collect.py` writes this page from the results of `benchmarks/corpus/capture.py`.
"""


def reason(error):
    """What failed, in words that are the same for like failures."""
    if "capture must break" in error:
        called = re.search(r"\((aten\.[\w.]+)\)", error)
        return f"a branch depends on a value ({called[1]})" if called else "a branch depends on a value"
    if "the call fails" in error:
        kind = re.search(r": (\w*Error): (.{0,60})", error)
        return f"{kind[1] if kind else 'an error'} in the model's own code"
    return re.sub(r"\s+", " ", error)[:80].replace("|", "/")


def state(result):
    """captured | does not build | refused (the model's own code raises, in plain PyTorch too) | unchecked (nobody asked plain PyTorch yet)
    | not captured."""
    if "error" not in result:
        return "captured"
    if result["stage"] == "build":
        return "does not build"
    if "the call fails" not in result["error"]:
        return "not captured"
    return {"": "unchecked", "runs": "not captured", "too large to try": "unchecked"}.get(result.get("plain", ""), "refused")


def write_table(found, path):
    earlier = sections(path.read_text()) if path.exists() else {}
    lines = [HEAD]
    for run, words in RUNS.items():
        rows = [r for r in found if r["run"] == run]
        title = f"{words[0].upper()}{words[1:]}"
        if not rows:
            lines += earlier.get(title, [])
            continue
        lines += [f"## {title}", ""]
        lines += [
            "| library | models | captured | does not build by default | refuses the call | not checked | not captured | share captured |"
        ]
        lines += ["|---|---:|---:|---:|---:|---:|---:|---:|"]
        for library in LIBRARIES:
            counts = Counter(state(r) for r in rows if r["library"] == library)
            if counts:
                lines.append(line(library, counts))
        lines += [line("all", Counter(map(state, rows))), ""]
        lines += failures([r for r in rows if state(r) != UNBUILT])
    title, unbuilt = "Models that do not build", {r["model"]: r for r in found if state(r) == UNBUILT}  # in any run alike
    lines += [f"## {title}", "", *failures(list(unbuilt.values()))] if unbuilt else earlier.get(title, [])
    path.write_text("\n".join(lines).rstrip() + "\n")


def sections(text):
    """Title -> its lines, of a page that was written before; a title is marked as of an earlier run."""
    found = {}
    for part in text.split("\n## ")[1:]:
        title, *rest = part.splitlines()
        title = title.removesuffix(EARLIER)
        found[title] = [f"## {title}{EARLIER}", *rest, ""]
    return found


def line(name, counts):
    ran = counts["captured"] + counts["not captured"]
    columns = [sum(counts.values()), *(counts[what] for what in ("captured", "does not build", "refused", "unchecked", "not captured"))]
    shares = dict.fromkeys(f"{100 * counts['captured'] / max(1, n):.1f}%" for n in (ran, ran + counts["unchecked"]))
    return f"| {name} | {' | '.join(f'{c:,}' for c in columns)} | {', '.join(shares)} |"


def failures(rows):
    """Reasons, the commonest first, with some of the models."""
    models = defaultdict(list)
    for r in rows:
        if "error" in r:
            models[state(r), reason(r["error"])].append(r["model"].split(":")[-1])
    if not models:
        return []
    lines = ["| why not | models | such as |", "|---|---:|---|"]
    for (what, why), names in sorted(models.items(), key=lambda item: (item[0][0], -len(item[1]), item[0][1])):
        lines.append(f"| {WORDS.get(what, what)}: {why} | {len(names)} | {', '.join(sorted(names)[:4])} |")
    return [*lines, ""]
