"""A user's own code in a process of its own, with a clear end.

    run("ironlaw.tracing.capture_job:job", request, name="model.py", limit_s=300, on_part=keep)

Whatever that code does (exits, raises, hangs, crashes, is killed, starts processes, prints), the caller gets a result or an
IronlawError that says what happened, and nothing is left running. What comes back is JSON: nothing is unpickled.
"""

from ironlaw.worker.worker_session import run

__all__ = ["run"]
