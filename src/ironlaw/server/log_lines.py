"""What the terminal says of connections that misbehave: a sentence for each kind, the first time it happens.

uvicorn writes a line, or a whole traceback, for every connection that breaks a rule. Everybody on this machine can connect,
and so can every page of its browsers, so either could fill the terminal.
"""

from __future__ import annotations

import logging

LOG = logging.getLogger("uvicorn.error")
ONCE = " (said once, however often it happens)"
SENTENCES = {  # what a library writes -> what we say instead
    "Invalid HTTP request received.": "a connection sent what is not HTTP, and was closed; an https:// address does that, and this is http://",
    "Unsupported upgrade request.": "a connection asked for a protocol that this server does not speak, and was answered over HTTP",
    "Exceeded concurrency limit.": "too many connections are open, and one more was told so (503); close tabs, or give a larger --pages",
    "Invalid UTF-8 sequence received from client.": "a WebSocket sent text that is not UTF-8, and was closed",
}
DEAF = "a page took none of the answers that it was sent, so its connection was closed; the page connects again once it responds"


class Once(logging.Filter):
    """Lets each of the sentences through a single time, without a traceback, and everything else as it is."""

    def __init__(self) -> None:
        super().__init__()
        self.said: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        text = str(record.msg)
        sentence = SENTENCES.get(text, text)
        if sentence == text and text != DEAF:
            return True
        if sentence in self.said:
            return False
        self.said.add(sentence)
        record.msg, record.args, record.exc_info, record.levelno, record.levelname = sentence + ONCE, (), None, logging.WARNING, "WARNING"
        return True


def say_each_once() -> None:
    """Each line is logged once from now on, in this process."""
    for old in [one for one in LOG.filters if isinstance(one, Once)]:
        LOG.removeFilter(old)
    LOG.addFilter(Once())
