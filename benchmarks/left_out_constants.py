"""The constants of every law, fitted without one machine: what `benchmarks/minute.py` predicts that machine by.

    python benchmarks/left_out_constants.py --data DIR [--only SLUG]

Some minutes; the result is left_out_constants.json beside it. DIR holds the published rows, as for `benchmarks/transfer.py`.
"""

import argparse
import json
from pathlib import Path

import transfer
from transfer_rows import families

STORED = Path(__file__).with_name("left_out_constants.json")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="the folder with the published rows")
    args = parser.parse_args()
    found = families(args.data)
    slugs = sorted({r.slug for machines in found.values() for r in machines})
    flow, out = transfer.FAMILIES["stream"], {}
    for slug in slugs:
        streams = [r for r in found["stream"] if r.slug != slug]
        x = transfer.constants(flow, transfer.fit(flow, streams, None))
        out[slug] = {"stream": x}
        for name, family in transfer.FAMILIES.items():
            if name != "stream" and any(r.slug == slug for r in found[name]):
                others = [r for r in found[name] if r.slug != slug and r.chip.maker in transfer.FITTED]
                out[slug][name] = transfer.constants(family, transfer.fit(family, others, transfer.stream_constants(x)))
        print(slug, *out[slug], flush=True)
    rounded = {slug: {name: {k: float(f"{v:.5g}") for k, v in c.items()} for name, c in one.items()} for slug, one in out.items()}
    STORED.write_text(json.dumps(rounded, indent=1) + "\n")


if __name__ == "__main__":
    main()
