"""/direct: the labs' own socket, on which a page asks for the view of a dial that is being turned (`ironlaw.widget.direct_answers`)."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.websockets import WebSocket

LONGEST = 65536  # characters of a question
NO_TEXT = 1003  # WebSocket's code for a kind of data that is not taken


async def direct(socket: WebSocket) -> None:
    """Answers messages one at a time, in order; what is no question gets a sentence that says so."""
    from ironlaw.widget.direct_answers import refusal, reply

    await socket.accept()
    while (message := await socket.receive())["type"] == "websocket.receive":
        text = message.get("text")
        if text is None:
            await socket.close(NO_TEXT, "send text, not bytes")
            return
        answer = await run_in_threadpool(reply, text) if len(text) <= LONGEST else refusal(f"more than {LONGEST} characters")
        await socket.send_text(answer)
