"""Act I: where the bytes of one training step go."""

from ironlaw.labs.lab_08_ledger.act1.instrument import CLAIMS, MORE, dials, view
from ironlaw.labs.lab_08_ledger.act1.local_runs import captions, local_figures
from ironlaw.labs.lab_08_ledger.act1.slots import distance, lock, message, peek, reflection, reveal, truth
