"""uvicorn's WebSocket, for a client that stops reading: it is let go of, with whatever was still to be sent.

uvicorn closes a connection that answers no ping, but politely, after its last byte is out. A client that takes no byte would
hold the connection, its page and the task that waits to send for as long as it likes, and an answer that is ready only after the close
would be a traceback.
"""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from ironlaw.server.log_lines import DEAF, LOG


class PatientSocket(WebSocketsSansIOProtocol):
    def keepalive_timeout(self) -> None:
        if not self.transport.is_closing():
            LOG.warning(DEAF)
        super().keepalive_timeout()
        self.transport.abort()

    async def send(self, message: Any) -> None:
        await self.writable.wait()
        if self.handshake_complete and (self.close_sent or self.transport.is_closing()):
            raise ClientDisconnected  # it was closed while the answer was computed
        await super().send(message)
        if self.close_timer is not None:  # we have closed it; it has as long to answer, and no longer to read
            self.close_timer.cancel()
            self.close_timer = self.loop.call_later(self.close_timeout, self.transport.abort)
