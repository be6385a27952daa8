"""Connections that cannot be held for nothing: whoever says nothing, half a request, or does not listen, is cut off.

Uvicorn waits for ever for the first request of a connection, and for somebody who does not read the answer, and counts
connections that wait among those it may have: a few hundred of them would keep everybody else out.
"""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0
"""Within which a request has to have begun and its header to have come."""
WRITE_SECONDS = 30.0
"""Within which some of an answer that is held up has to have been read."""
MOST = 400
"""Connections at a time; one more, and the one that has waited longest without a request is closed."""


class TimedConnection(H11Protocol):
    """An HTTP connection with a time for every header."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._since = 0.0
        self._cut: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    @property
    def waits(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._since = self.loop.time()
        self._start_clock()
        if len(self.connections) > MOST:
            waiting = [each for each in self.connections if isinstance(each, TimedConnection) and each.waits]
            oldest = min(waiting, key=lambda each: each._since, default=None)
            if oldest is not None:
                oldest.transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self.waits:
            self._stop_clock()
        elif self._cut is None:  # a header that has begun on a connection that was kept
            self._start_clock()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._since = self.loop.time()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(WRITE_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_waiting_for_reader()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP; nobody waits any more for the answer to a request that it is in the middle of."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:  # an answer is under way, and cannot be taken back
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        self._stop_waiting_for_reader()
        super().connection_lost(exc)

    def _stop_waiting_for_reader(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _start_clock(self) -> None:
        self._cut = self.loop.call_later(HEADER_SECONDS, self._close_if_waiting)

    def _stop_clock(self) -> None:
        if self._cut is not None:
            self._cut.cancel()
            self._cut = None

    def _close_if_waiting(self) -> None:
        self._cut = None
        if self.waits and not self.transport.is_closing():
            self.transport.abort()
