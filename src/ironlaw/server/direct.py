"""/direct: the labs' own socket, on which a page asks for the view of a dial that is being turned (`ironlaw.widget.direct`)."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.websockets import WebSocket

LONGEST = 65536  # characters of a question


async def direct(socket: WebSocket) -> None:
    """One answer after the other, each in the order of its question; what is no question is passed over."""
    from ironlaw.widget.direct import answered

    await socket.accept()
    async for text in socket.iter_text():
        reply = await run_in_threadpool(answered, text) if len(text) <= LONGEST else None
        if reply is not None:
            await socket.send_text(reply)
