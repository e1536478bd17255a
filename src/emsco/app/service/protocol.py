"""HTTP as uvicorn reads it, with a limit on the head of a request."""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_LARGEST_HEAD = 2**16  # bytes of the first line and the headers


class LimitedProtocol(HttpToolsProtocol):
    """Refuses a head that never ends: uvicorn would gather it until memory is full."""

    _n_bytes: int | None = 0  # of a head that is not complete yet

    def data_received(self, data: bytes) -> None:
        """Count what belongs to a head."""
        if self._n_bytes is not None:
            self._n_bytes += len(data)
            if self._n_bytes > _LARGEST_HEAD + len(data):
                said = f"the head of a request must have at most {_LARGEST_HEAD:,} bytes, got more."
                self.send_400_response(said)
                return
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """Note that a body follows."""
        self._n_bytes = None
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Note that another head follows."""
        self._n_bytes = 0
        super().on_message_complete()
