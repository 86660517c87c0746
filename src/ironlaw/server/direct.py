"""/direct: the labs' own socket, on which a page asks for the view of a dial that is being turned (`ironlaw.widget.direct`)."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.websockets import WebSocket

LONGEST = 65536  # characters of a question


async def direct(socket: WebSocket) -> None:
    """Answers messages one at a time, in order; anything else is ignored."""
    from ironlaw.widget.direct import reply

    await socket.accept()
    async for text in socket.iter_text():
        answer = await run_in_threadpool(reply, text) if len(text) <= LONGEST else None
        if answer is not None:
            await socket.send_text(answer)
