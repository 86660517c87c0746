"""Act I: one run, and how much privacy each proof leaves of it."""

from ironlaw.labs.lab_v2_13_privacy.act1.instrument import CLAIMS, FOLLOWS, MORE, dials, view
from ironlaw.labs.lab_v2_13_privacy.act1.local_runs import captions, local_figures
from ironlaw.labs.lab_v2_13_privacy.act1.slots import distance, lock, message, peek, reflection, reveal, truth
