"""Act I: one collective on a fabric."""

from ironlaw.labs.lab_v2_03_fabric.act1.instrument import CLAIMS, FOLLOWS, MORE, dials, view
from ironlaw.labs.lab_v2_03_fabric.act1.local_runs import captions, local_figures
from ironlaw.labs.lab_v2_03_fabric.act1.slots import distance, lock, message, peek, reflection, reveal, truth
