"""Act I: one part of a pass gets faster."""

from ironlaw.labs.lab_12_amdahl.act1.instrument import CLAIMS, FOLLOWS, dials, view
from ironlaw.labs.lab_12_amdahl.act1.local_runs import captions, local_figures
from ironlaw.labs.lab_12_amdahl.act1.slots import distance, lock, message, peek, reflection, reveal, truth
