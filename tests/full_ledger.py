"""A ledger of a learner who has been everywhere: for tests of what other labs must not change, and of what they offer."""

from ironlaw.kit.lab import LABS
from ironlaw.ledger import Ledger
from ironlaw.ledger.events import new

# every field that some lab reads of another's design, far from any question
ODD = {
    "load": 0.1, "rate": 3.0, "policy": "fixed", "most": 7, "replicas": 3, "target_p99_s": 0.07, "ttft_p99_s": 7.0, "model": "llama3_8b",
    "fusion_enabled": True, "box": "dgx_a100", "ranks": 16, "nics": 3, "tensor": 4, "micro": 2, "seq": 4096, "zero": 0,
    "beta_bytes_per_s": 1e9, "host_bytes_per_s": 1.3e10, "gradient_bytes": 2, "devices": 512, "parameters": 8e9, "machine": "h100_sxm",
}  # fmt: skip
LOOKED_AT = ("this_machine", "orin_nx_16gb", "saved", "here", "world", "this_machine")


def spoil(ledger: Ledger, slug: str) -> None:
    """Every other lab was saved on an odd design, and this machine and other contexts were looked at there."""
    others = sorted({path.parent.name for path in LABS.glob("lab_*/lab.py")} - {slug})
    with ledger.store.writing() as rows:  # at once: a commit waits for the disk
        epoch = rows.epoch(ledger.learner)
        for other in others:
            rows.append([new(ledger.learner, epoch, other, 1, "context", {"context": chosen}) for chosen in LOOKED_AT])
            rows.append([new(ledger.learner, epoch, other, 1, "design", ODD | {"context": "this_machine"})])
