"""Act II: a server behind a promise, step by step."""

from ironlaw.labs.lab_v2_10_kv_serving.act2.conversations_film import motion
from ironlaw.labs.lab_v2_10_kv_serving.act2.goal import GOAL, task
from ironlaw.labs.lab_v2_10_kv_serving.act2.instrument import CLAIMS, FOLLOWS, MORE, dials, view
from ironlaw.labs.lab_v2_10_kv_serving.act2.server import offers
from ironlaw.labs.lab_v2_10_kv_serving.act2.slots import distance, lock, message, peek, reflection, reveal, sealed, takeaways, truth
