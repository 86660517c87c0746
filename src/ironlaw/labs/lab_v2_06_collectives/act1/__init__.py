"""Act I: steps against bytes."""

from ironlaw.labs.lab_v2_06_collectives.act1.chunks_race import motion
from ironlaw.labs.lab_v2_06_collectives.act1.instrument import CLAIMS, FOLLOWS, MORE, dials, view
from ironlaw.labs.lab_v2_06_collectives.act1.local_runs import captions, local_figures
from ironlaw.labs.lab_v2_06_collectives.act1.slots import distance, lock, message, peek, reflection, reveal, truth
