"""What binds a deployment, and what its times rest on, in words: for the terminal and the page."""

BINDS = {
    "": "one replica is enough", "ttft": "time to first token", "tbt": "time between tokens", "ttft and tbt": "both times",
    "cache": "the cache: requests make room for others", "work": "the work: fewer could not even compute the prompts",
}  # fmt: skip
BASES = {
    "calibrated": "Steps from curves measured on this machine",
    "transferred": "Steps from physics and constants of other machines",
    "bound": "Steps from the datasheet's peaks: real ones take longer",
}
