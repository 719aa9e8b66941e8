"""Firefox by WebDriver BiDi, straight over its WebSocket.

Playwright drives only a Firefox of its own making; people have the one of their distribution. The
usual way to that is npm's puppeteer-core: some forty packages, Node, and a second language for
the tests. What the tests need of the protocol is ten commands as JSON, and of WebSocket the text
frames between two programs of one machine: less than what would wrap the other, with nothing to
install but the browser.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Nothing of its own accord: no first pages, no updates, no asking other servers.
_PREFERENCES = {
    "app.normandy.enabled": False,
    "app.update.disabledForTesting": True,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.page": 0,
    "browser.tabs.remote.separatePrivilegedContentProcess": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "dom.ipc.processCount": 1,
    "dom.ipc.processPrelaunch.enabled": False,
    "fission.autostart": False,
    "media.gmp-manager.updateEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "data:,",
    "ui.prefersReducedMotion": 1,
}
_PATIENCE = 60.0
_MASK = b"mask"
_LISTENING = re.compile(r"WebDriver BiDi listening on ws://([\d.]+):(\d+)")

Event = Callable[[dict[str, Any]], None]


class Socket:
    """Text over a WebSocket (RFC 6455) to a program on this machine."""

    def __init__(self, host: str, port: int, path: str) -> None:
        self._socket = socket.create_connection((host, port), timeout=_PATIENCE)
        # The key only keeps caches in between from answering; here is none.
        self._socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode()
        )
        self._stream = self._socket.makefile("rb")
        status = self._stream.readline()
        assert b" 101 " in status, status
        while self._stream.readline().strip():
            pass

    def send(self, text: str) -> None:
        """One text frame. Clients mask what they send; that the mask is no secret harms nobody."""
        plain = text.encode()
        body = bytes(byte ^ _MASK[place % 4] for place, byte in enumerate(plain))
        if len(body) < 126:
            length = bytes([0x80 | len(body)])
        elif len(body) < 1 << 16:
            length = b"\xfe" + len(body).to_bytes(2, "big")
        else:
            length = b"\xff" + len(body).to_bytes(8, "big")
        self._socket.sendall(b"\x81" + length + _MASK + body)

    def receive(self) -> str:
        """The next text, of one frame or several."""
        parts, last = [], False
        while not last:
            first, length = self._stream.read(2)
            if length >= 126:
                length = int.from_bytes(self._stream.read(2 if length == 126 else 8), "big")
            body = self._stream.read(length)
            code = first & 15
            assert code in (0, 1, 9), f"frame {code}: the browser ended the connection"
            if code != 9:
                parts.append(body)
                last = bool(first & 0x80)
        return b"".join(parts).decode()

    def close(self) -> None:
        self._stream.close()
        self._socket.close()


class Firefox:
    """A Firefox without a window, with a profile of its own, and what it tells."""

    def __init__(self, program: Path, profile: Path) -> None:
        lines = [f"user_pref({json.dumps(k)}, {json.dumps(v)});" for k, v in _PREFERENCES.items()]
        profile.mkdir()
        (profile / "user.js").write_text("\n".join(lines))
        self._told = profile / "told.txt"
        arguments = ["--headless", "--no-remote", "--profile", str(profile)]
        with self._told.open("wb") as told:
            self._process = subprocess.Popen(
                [str(program), *arguments, "--remote-debugging-port", "0"],
                stdout=told,
                stderr=told,
                env={**os.environ, "HOME": str(profile), "MOZ_CRASHREPORTER_DISABLE": "1"},
                start_new_session=True,
            )
        self._last = 0
        self.listeners: dict[str, list[Event]] = {}
        try:
            host, port = self._address()
            self._socket = Socket(host, port, "/session")
            self.do("session.new", capabilities={})
        except BaseException:
            self._end()
            raise

    def _address(self) -> tuple[str, int]:
        end = time.monotonic() + _PATIENCE
        while not (found := _LISTENING.search(self._told.read_text(errors="replace"))):
            assert self._process.poll() is None, self._told.read_text(errors="replace")
            assert time.monotonic() < end, "Firefox did not start"
            time.sleep(0.02)
        return found[1], int(found[2])

    def do(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command, and its result; what happens meanwhile goes to the listeners."""
        self._last += 1
        number = self._last
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.receive())
            if message.get("id") == number:
                assert message["type"] == "success", f"{method}: {message.get('message')}"
                result: dict[str, Any] = message["result"]
                return result
            for listener in self.listeners.get(message.get("method", ""), []):
                listener(message["params"])

    def close(self) -> None:
        """End the browser; nothing of it outlives the tests."""
        try:
            self.do("browser.close")
            self._socket.close()
            self._process.wait(20)
        finally:
            self._end()

    def _end(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
