"""Act I: a ring, and the edge that paces it."""

from ironlaw.labs.lab_v2_02_interconnect.act1.instrument import CLAIMS, FOLLOWS, MORE, dials, view
from ironlaw.labs.lab_v2_02_interconnect.act1.local_runs import captions, local_figures
from ironlaw.labs.lab_v2_02_interconnect.act1.slots import distance, lock, message, peek, reflection, reveal, truth
