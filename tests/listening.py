"""A server of our own on this machine: whatever a handler answers, as long as the block lasts."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Quiet:
    """Logs nothing: to be put in front of a handler."""

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@contextmanager
def listening(
    handler: type[http.server.BaseHTTPRequestHandler],
    kind: type[http.server.HTTPServer] = http.server.ThreadingHTTPServer,
) -> Iterator[str]:
    """Where a server with this handler listens."""
    server = kind(("127.0.0.1", 0), handler)
    if isinstance(server, http.server.ThreadingHTTPServer):
        server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
