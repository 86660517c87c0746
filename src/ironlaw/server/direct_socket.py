"""/direct: the labs' own socket, on which a page asks for the view of a dial that is being turned (`ironlaw.widget.direct_answers`)."""

from __future__ import annotations

import json

from starlette.websockets import WebSocket, WebSocketDisconnect

from ironlaw.server.work_queue import AHEAD, LOOK, WORK

LONGEST = 65536  # characters of a question
NO_TEXT = 1003  # WebSocket's code for a kind of data that is not taken
SKIPPED = json.dumps({"skipped": "others wait"})  # a page ignores it, and asks again when the next dial is turned


async def direct(socket: WebSocket) -> None:
    """Answers messages one at a time, in order; what is not a question gets a sentence that says so."""
    from ironlaw.widget.direct_answers import refusal, reply

    await socket.accept()
    while (message := await socket.receive())["type"] == "websocket.receive":
        text = message.get("text")
        if text is None:
            await socket.close(NO_TEXT, "send text, not bytes")
            return
        if len(text) > LONGEST:
            answer = refusal(f"more than {LONGEST} characters")
        elif '"ahead":true' in text:  # as a page writes it; nobody waits for this one
            answer = SKIPPED if WORK.is_busy else await WORK.run(AHEAD, reply, text)
        else:
            answer = await WORK.run(LOOK, reply, text)
        try:
            await socket.send_text(answer)
        except WebSocketDisconnect:
            return  # left before the answer, or takes none
