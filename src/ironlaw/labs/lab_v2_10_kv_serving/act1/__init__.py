"""Act I: how many requests a cache holds."""

from ironlaw.labs.lab_v2_10_kv_serving.act1.instrument import CLAIMS, FOLLOWS, MORE, dials, view
from ironlaw.labs.lab_v2_10_kv_serving.act1.local_runs import captions, local_figures
from ironlaw.labs.lab_v2_10_kv_serving.act1.slots import distance, lock, message, peek, reflection, reveal, truth
