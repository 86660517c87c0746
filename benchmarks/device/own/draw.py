"""Draw a set from the models of this folder that no set has: some sealed, some to fit and to look at; the others stay for a later set.

    python benchmarks/device/own/draw.py --set own-1 --sealed 20 --open 60

Writes benchmarks/sealed_sets/own-1.json; the set's name is the seed. A third of the models is trained under autocast, too. Whoever
wrote the models knows their code, but nobody looks at a row of a sealed one.
"""

import argparse
import random
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parents[2])]
AUTOCAST = 1 / 3


def about(model, chance):
    """What a set says of a model: whether it runs in half precision, is compiled, is trained, and is trained under autocast, too."""
    import torch

    with torch.device("meta"):
        trained = model.build(True)[2] is not None
    autocast = chance.random() < AUTOCAST and trained
    runs = {"half": model.half, "compiled": model.compiles, "trained": trained, "autocast": autocast}
    return {"library": "own", "model": model.name, "kind": model.kind} | runs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", required=True)
    parser.add_argument("--sealed", type=int, default=20)
    parser.add_argument("--open", type=int, default=60)
    args = parser.parse_args()
    name = args.set
    from sealed import SETS, load, path, save, today

    from own import MODELS

    if path(name).exists():
        sys.exit(f"{path(name)} is there already: a set is drawn once; give another name")
    taken = {model["model"] for file in SETS.glob("own-*.json") for model in load(file.stem)["models"]}
    free = sorted(set(MODELS) - taken)
    chance = random.Random(name)
    chance.shuffle(free)
    models = [about(MODELS[each], chance) for each in free[: args.sealed + args.open]]
    for model in models[args.sealed :]:
        model["opened"] = today()
    chance.shuffle(models)
    what = f"{len(models)} models drawn from {len(MODELS)}: {min(args.sealed, len(models))} sealed, the others open from the start"
    head = {"format": "ironlaw-sealed/2", "seed": name, "corpus": len(MODELS), "drawn_with": {"torch": version("torch")}}
    save(head | {"history": [{"date": today(), "what": what}], "models": models, "rows": []})
    print(what)


if __name__ == "__main__":
    main()
