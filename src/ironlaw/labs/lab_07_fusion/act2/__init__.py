"""Act II: what fusing saves, what tiling saves, and when compiling pays: an instrument each."""

from ironlaw.labs.lab_07_fusion.act2 import attention_panel
from ironlaw.labs.lab_07_fusion.act2 import payback_panel as roi_panel
from ironlaw.labs.lab_07_fusion.act2.fusion_panel import FOLLOWS, dials, view
from ironlaw.labs.lab_07_fusion.act2.goal import GOAL, task
from ironlaw.labs.lab_07_fusion.act2.local_runs import captions, local_figures
from ironlaw.labs.lab_07_fusion.act2.slots import (
    CLAIMS,
    blanks,
    challenge,
    challenge_feedback,
    distance,
    fusing_challenge,
    fusing_challenge_feedback,
    lock,
    peek,
    reflection,
    reveal,
    takeaways,
    truth,
)
