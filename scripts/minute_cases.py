"""Put the cases of the wide sweeps into the order in which `ironlaw measure` times them: the most telling first.

    python scripts/minute_cases.py [cuda|cpu]
    python scripts/minute_cases.py cuda --kinds          the stored order, with a few of every kind of kernel first; a few minutes

A case counts for how much it narrows what is left open of the corpus' operators (`calibration.telling`), and of those of models that were
opened (benchmarks/sealed_sets), for each second that it takes; an optimiser's steps come first, then three of every kind of kernel
that an opened model spends a fiftieth of a run on, those of most time first and soon by turns with the cases that tell most, and with the
corners of the sweep (`seldom.corners`). Which kernels a case runs and for how long follows from the H200's evidence. How sure predictions
are without any row is what the A100's transferred ones say; on a processor, the registry's. Written are minute_cuda.json
and minute_cpu.json beside `measure/suites/chosen_cases.py`.
"""

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path

import ironlaw as il
from ironlaw.backends import require
from ironlaw.backends.rows import Row
from ironlaw.calibration import telling
from ironlaw.calibration.traits import FLOPS_A_BYTE, identity, trait
from ironlaw.measure.suites.chosen_cases import chosen_cases, written
from ironlaw.registry.corpus_signatures import corpus
from ironlaw.registry.evidence import evidence

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
PRIOR = {"cuda": "a100_80gb_sxm", "cpu": "neoverse_n1_2core"}
OPENED = ("own-1", "own-2", "own-3", "own-4", "own-5", "own-6", "own-7")
SIGNATURES = 1500  # of the corpus, the heaviest
SELDOM = 0.005  # share of a run under which an operator is left out
TARGETS, MOST = 1200, 2000
CALLS, EACH = {"cuda": 11, "cpu": 20}, {"cuda": 0.003, "cpu": 0.02}  # of a case, and what else it takes
LONGEST = 0.02  # seconds of one call
PLACES = (
    0.1,
    0.5,
    1.0,
)  # where a kind's cases lie among all there are, from the shortest to the longest; of a kind that is seldom the last
OFTEN, EARLIEST = 4e-4, 60  # share of all time from which a kind is not seldom; kinds that come before all else
USED = 0.02  # share of a run from which a kind counts
SHORT = 4e-3  # seconds of one of its cases at most, where there are such
MEASURED = "h200_sxm"
STEPS, MOST_STEPPED = ("adamw",), 2e8  # lists of an optimiser: samples of kernels, but no single operator; and numbers in one
NOT_TIMED = ("generated", "groups")  # parts whose functions have to be compiled first


def sweep(kind):
    """(op, params) of every case."""
    if kind == "cuda":
        from ironlaw.measure.suites.cuda.parts import PARTS

        for name, part in PARTS.items():
            if name not in NOT_TIMED:
                yield from part.specs()
    else:
        from ironlaw.measure.suites.cpu.cases import cases

        yield from ((case.op, case.params) for case in cases() if case.op != "generated")


class Prior:
    """What is known of a machine before it is measured."""

    def __init__(self, kind):
        self.machine = il.hardware(PRIOR[kind])
        self.model = self.machine.calibration or self.machine.transfer
        self.library = require(self.model.backend)

    def seen(self, op):
        """(traits, seconds) of an op; nothing where it takes no time."""
        cost = self.model.cost(op, self.machine, il.Plan())
        kernels = self.library.lower(op, self.machine, "eager")
        if not kernels or float(cost.device) <= 0.0:
            return None
        return trait(op, cost, kernels, self.library.signature(op, "eager")), float(cost.device)


def targets(prior):
    """(traits, share) of what models run: half of it the corpus, half models that were opened; on a processor, those in FP32 alone."""
    sys.path.insert(0, str(BENCHMARKS))
    import minute

    found = defaultdict(lambda: [None, 0.0])
    on_host = prior.machine.kind == "cpu"
    for half in (from_opened(prior, minute.runs, on_host), () if on_host else from_corpus(prior)):
        rows = list(half)
        whole = sum(weight for _, weight in rows)
        for op, weight in rows:
            one = found[identity(op) or id(op)]
            one[0], one[1] = op, one[1] + weight / whole
    heaviest = sorted(found.values(), key=lambda one: -one[1])
    priced = ((prior.seen(op), share) for op, share in heaviest)
    return [(seen[0], share) for seen, share in priced if seen][:TARGETS]


def from_corpus(prior):
    for run in ("eager", "training"):
        for one in corpus(run, SIGNATURES).seen:
            seen = prior.seen(one.op)
            if seen:
                yield one.op, one.weight * seen[1]


def from_opened(prior, runs, only_fp32):
    for name in OPENED:
        for row, graph in runs(name):
            if row["mode"] == "eager" and row["dtype"] == "fp32" if only_fp32 else row["mode"] != "compiled":
                costs = [(one.op, float(one.cost.device)) for one in il.predict(graph, prior.machine, il.Plan()).ops]
                whole = sum(seconds for _, seconds in costs)
                yield from ((op, seconds / whole) for op, seconds in costs if seconds > SELDOM * whole)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", nargs="?", default="cuda", choices=tuple(PRIOR))
    parser.add_argument("--kinds", action="store_true", help="only put a few of every kind first in the stored order")
    args = parser.parse_args()
    kind = args.kind
    if args.kinds:
        with_kinds()
        return
    prior, known = Prior(kind), {}
    for op, params in sweep(kind):
        measured = prior.library.measured(Row(kind="op", op=op, params=params, busy_s=1.0, wall_s=1.0))
        seen = prior.seen(measured) if measured else None
        if seen and seen[1] < LONGEST:
            known.setdefault(seen[0].op or repr((op, params)), ((op, params), *seen))
    cases = list(known.values())
    wanted = targets(prior)
    print(f"{len(cases):,} cases, {len(wanted):,} operators of models", flush=True)
    seen, seconds = [one for _, one, _ in cases], [each for _, _, each in cases]
    used = {one.curve for one, _ in wanted}
    first = [i for i in telling.first_of_kinds(seen, seconds) if seen[i].curve in used]  # no curve without a few samples
    turned = {repr(spec) for spec in corners(kind)}
    first = list(dict.fromkeys([*first, *(i for i, (spec, _, _) in enumerate(cases) if repr(spec) in turned)]))
    costs = [EACH[kind] + CALLS[kind] * each for each in seconds]
    chosen, sds = telling.order(seen, *zip(*wanted, strict=True), first, MOST, costs)
    place = written(kind)
    steps = [(op, params) for op, params in sweep(kind) if op in STEPS and params["tensors"] * params["size"] < MOST_STEPPED]
    place.write_text(as_json([*steps, *(cases[i][0] for i in chosen)][:MOST], sds))
    print(f"{place.name}: {len(chosen)} cases, sd {sds[0]:.3f} after one, {sds[99]:.3f} after 100, {sds[-1]:.3f} after all")


def corners(kind):
    from ironlaw.measure.suites.cuda.cases import seldom

    return list(seldom.corners()) if kind == "cuda" else []


def with_kinds():
    """What the list holds is still worth what it says: as many cases, most of them the same. From the EARLIEST kinds on, cases that tell
    most and cases of kinds come by turns: a minute that times half as many still holds some of both."""
    chosen, kinds = chosen_cases("cuda"), first_kinds()
    first = [spec for spec in chosen.specs if spec[0] in STEPS]
    ahead = {repr(spec) for group in kinds for spec in group}
    rest = iter([spec for spec in [*corners("cuda"), *chosen.specs] if repr(spec) not in ahead and spec not in first])
    for place, group in enumerate(kinds):
        first += group
        if place >= EARLIEST:
            first += [next(rest) for _ in group]
    order = list({repr(spec): spec for spec in [*first, *rest]}.values())[:MOST]
    written("cuda").write_text(as_json(order, [chosen.left(count) for count in range(1, len(order) + 1)]))
    print(f"{len(ahead)} cases of {len(kinds)} kinds first, {len(order)} in all")


def first_kinds():
    """A few cases of every kind of kernel that models use, by the H200's evidence; of others in the last part of the sweep, fewer."""
    model = il.hardware(MEASURED)
    library, known = model.calibration.library, {}
    for file in evidence(MEASURED):
        known |= {repr((row.op, dict(row.params))): row for row in file.rows if row.kind == "op" and row.busy_s and not row.error}
    found, curves = defaultdict(list), {}
    for spec in sweep("cuda"):
        row = known.get(repr(spec))
        if row is not None and row.busy_s < LONGEST:
            kernels = library.lower(library.measured(row), model, "eager") if library.measured(row) else ()
            sampled = {sample.kernel.curve for sample in library.samples([row], model)}
            curves[repr(spec)] = sampled or {kernel.curve for kernel in kernels if len(kernels) == 1}
            for curve in curves[repr(spec)]:
                found[curve].append((sum(map(_weight, kernels)), repr(spec), spec, row.busy_s))
    shares, timed, chosen = kinds_of_models(model), defaultdict(int), set()
    seldom = [name for name in sorted(found) if name not in shares and any(one[2][0] in ("decompose", "called") for one in found[name])]
    for curve in [*shares, *seldom]:
        group, some = [], sorted((one for one in found[curve] if one[3] < SHORT or one[2][0] == "decompose"), key=lambda one: one[:2])
        some = some or sorted(found[curve], key=lambda one: one[:2])
        places = PLACES if shares.get(curve, 0.0) > OFTEN else PLACES[1:]
        for place in places if some else ():
            _, name, spec, _ = some[round(place * (len(some) - 1))]
            if timed[curve] < len(places) and name not in chosen:
                chosen.add(name)
                group.append(spec)
                for each in curves[name]:
                    timed[each] += 1
        found[curve] = group
    return [found[curve] for curve in [*shares, *seldom] if found[curve]]


def kinds_of_models(machine):
    """Curves that opened models spend more than a little of a run on, those of most time first, each with its share of all time."""
    sys.path.insert(0, str(BENCHMARKS))
    import minute

    library = machine.calibration.library
    most, whole, of_corpus = defaultdict(float), defaultdict(float), defaultdict(float)
    for name in OPENED:
        for row, graph in minute.runs(name):
            mode = "compiled" if row["mode"] == "compiled" else "eager"
            costs = [(one.op, float(one.cost.device)) for one in il.predict(graph, machine, il.Plan(mode=mode)).ops]
            shares, total = defaultdict(float), sum(seconds for _, seconds in costs) or 1.0
            for op, seconds in costs:
                kernels = library.lower(op, machine, mode)
                if kernels and seconds:
                    shares[max(kernels, key=_weight).curve] += seconds / total
            for curve, share in shares.items():
                most[curve], whole[curve] = max(most[curve], share), whole[curve] + share
    for op, weight in from_corpus(Prior("cuda")):
        kernels = library.lower(op, machine, "eager")
        if kernels:
            of_corpus[max(kernels, key=_weight).curve] += weight
    runs, seconds = sum(whole.values()), sum(of_corpus.values())
    for curve, weight in of_corpus.items():
        whole[curve] += runs * weight / seconds
        most[curve] += 1.0 if weight > OFTEN * seconds else 0.0
    used = sorted((curve for curve, share in most.items() if share > USED), key=lambda curve: -whole[curve])
    return {curve: whole[curve] / sum(whole.values()) for curve in used}


def _weight(kernel):
    return float(kernel.count) * (float(kernel.data) + float(kernel.flops) / FLOPS_A_BYTE)


def as_json(cases, sds):
    """Cases by op and names of params, each with its place in the order; and what operators are off after so many cases."""
    groups = defaultdict(list)
    for place, (op, params) in enumerate(cases):
        groups[op, tuple(params)].append([place, *params.values()])
    lines = [json.dumps({"op": op, "params": names, "rows": rows}, separators=(",", ":")) for (op, names), rows in groups.items()]
    steps = [[n, round(sds[n - 1], 4)] for n in (1, *range(25, len(sds) + 1, 25))]
    return '{"sds":' + json.dumps(steps, separators=(",", ":")) + ',\n"cases":[\n' + ",\n".join(lines) + "\n]}\n"


if __name__ == "__main__":
    main()
