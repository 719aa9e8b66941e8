"""The pages: people answer at /answer, analysts look at /; and the files these are made of.

Everything is a static file of the package, kept in memory with its compressed twin and named
by an ETag, so that a browser asks again and mostly hears "not modified". The scripts of
the answer page, and Vega's, are made when somebody first asks for them.
"""

from __future__ import annotations

import asyncio
import functools
import gzip
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rumor.client.modules import FOLDER as CLIENT
from rumor.client.modules import element_scripts, integrity
from rumor.client.page_script import page_scripts
from rumor.collector.answer_page import MODULES, WEB, answer_html, languages
from rumor.collector.chart_rendering import bundle
from rumor.collector.http.headers import DASHBOARD_POLICY, answer_policy, takes_gzip
from rumor.collector.http.problems import Problem
from rumor.collector.metrics import Metrics
from rumor.contract.collection import Collection
from rumor.core.errors import format_value

VEGA, HASHES = "vega.js", "integrity.json"
SCRIPTS = ("answer.bundle.js", "answer.later.js")
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}


@dataclass(frozen=True)
class Asset:
    """A served file: bytes, compressed bytes, type and ETag."""

    body: bytes
    zipped: bytes
    kind: str
    etag: str

    @classmethod
    def of(cls, body: bytes, suffix: str) -> Asset:
        """Return `body` as an asset with its type, hash and compressed form."""
        etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        return cls(body, gzip.compress(body, 9, mtime=0), _TYPES[suffix], etag)

    def response(self, request: Request, headers: Mapping[str, str]) -> Response:
        """Return the file, compressed where the browser takes that; or nothing new."""
        said = {
            "ETag": self.etag,
            "Cache-Control": "no-cache",
            "Vary": "Accept-Encoding",
            **headers,
        }
        known = request.headers.get("if-none-match", "")
        if self.etag in (tag.strip().removeprefix("W/") for tag in known.split(",")):
            return Response(status_code=304, headers=said)
        if takes_gzip(request.headers.get("accept-encoding", "")):
            said["Content-Encoding"] = "gzip"
            return Response(self.zipped, media_type=self.kind, headers=said)
        return Response(self.body, media_type=self.kind, headers=said)


@functools.cache
def _files(folder: Path) -> Mapping[str, Path]:
    """Return the files of `folder` that may be served, by their path within it."""
    return {
        path.relative_to(folder).as_posix(): path
        for path in folder.rglob("*")
        if path.suffix in _TYPES.keys() - {".json"} and path.is_file()
    }


def _language(request: Request) -> str:
    """Return the language that a browser asks for: by the address, or by its order of languages."""
    accepted = request.headers.get("accept-language", "").split(",")
    wanted = [tag.strip()[:2].lower() for tag in (request.query_params.get("lang", ""), *accepted)]
    return next((stem for stem in wanted if stem in languages()), "en")


@functools.cache
def _answer_page(stem: str) -> Asset:
    """Return the page of the people who are asked, with its first text in the language `stem`."""
    return Asset.of(answer_html(stem).encode(), ".html")


@functools.lru_cache(maxsize=16)
def answer_scripts(begun: frozenset[str]) -> Mapping[str, Asset]:
    """Return the two scripts of the answer page by name; the first has the modules `begun`."""
    made = page_scripts("/assets/answer.js", sorted(begun), SCRIPTS[1], MODULES)
    return {name: Asset.of(text.encode(), ".js") for name, text in zip(SCRIPTS, made, strict=True)}


def modules_of(collection: Collection | None) -> frozenset[str]:
    """Return the addresses of the modules that the answer page of `collection` begins with."""
    found = {"/assets/steps.js"}
    if collection is None:
        return frozenset(found)
    for question in collection.questions:
        found.add(f"/client/kinds/{question.kind}.js")
        found.add(f"/client/mechanisms/{question.mechanism.name}.js")
    parts = {
        "assignment": collection.ask,
        "linked": collection.linked,
        "relay": collection.relay,
        "groups": collection.groups,
    }
    named = [name for name, part in parts.items() if part]
    found |= {f"/client/{name}.js" for name in named}
    if named:
        found.add("/client/view/notices.js")
    if collection.admission != "open":
        found.add(f"/client/{'issuing' if collection.issuer else 'admission'}.js")
    return frozenset(found)


@functools.cache
def _client_made() -> Mapping[str, Asset]:
    """Return the made files of the client by name: the element's scripts, and all hashes."""
    made = {name: Asset.of(body, ".js") for name, body in element_scripts().items()}
    return {**made, HASHES: Asset.of(msgspec.json.encode(integrity()), ".json")}


class Pages:
    """The routes of the pages and of their files."""

    def __init__(
        self,
        metrics: Metrics,
        reached: Callable[[], Awaitable[list[str]]],
        asked: Callable[[], Awaitable[Collection | None]],
    ) -> None:
        self._metrics, self._reached, self._asked = metrics, reached, asked
        self._read: dict[Path, Asset] = {}
        self._vega: Asset | None = None
        self._making = asyncio.Lock()

    def routes(self) -> list[Route]:
        """Return the routes of the pages, assets and client modules."""
        return [
            Route("/", self.dashboard, methods=["GET"]),
            Route("/answer", self.answer, methods=["GET"]),
            Route("/assets/{name:path}", self.assets, methods=["GET"]),
            Route("/client/{name:path}", self.client, methods=["GET"]),
        ]

    async def dashboard(self, request: Request) -> Response:
        """Return the page of the analysts; it shows nothing without a token."""
        page = self._asset(WEB / "dashboard.html")
        return self._count(page.response(request, {"Content-Security-Policy": DASHBOARD_POLICY}))

    async def answer(self, request: Request) -> Response:
        """Return the page of the people who are asked."""
        headers = {
            "Content-Security-Policy": answer_policy(*await self._reached()),
            "Vary": "Accept-Encoding, Accept-Language",
        }
        return self._count(_answer_page(_language(request)).response(request, headers))

    async def assets(self, request: Request) -> Response:
        """Return styles and scripts of the pages."""
        name = request.path_params["name"]
        if name == VEGA:
            asset = await self._made()
        elif name in SCRIPTS:
            asset = answer_scripts(modules_of(await self._asked()))[name]
        else:
            asset = self._file(WEB, name)
        return self._count(asset.response(request, {}))

    async def client(self, request: Request) -> Response:
        """Return the client's modules, for pages of any site."""
        name = request.path_params["name"]
        asset = _client_made().get(name) or self._file(CLIENT, name)
        return self._count(asset.response(request, {"Access-Control-Allow-Origin": "*"}))

    def _file(self, folder: Path, name: str) -> Asset:
        # Names are compared with what the folder holds, never joined into a path unseen.
        files = _files(folder)
        if name not in files or files[name].suffix == ".html":
            raise Problem(
                "not-found", f"a file must be one of this service; got {format_value(name)}"
            )
        return self._asset(files[name])

    def _asset(self, path: Path) -> Asset:
        if path not in self._read:
            self._read[path] = Asset.of(path.read_bytes(), path.suffix)
        return self._read[path]

    async def _made(self) -> Asset:
        async with self._making:
            if self._vega is None:
                self._vega = Asset.of(await asyncio.to_thread(bundle), ".js")
        return self._vega

    def _count(self, response: Response) -> Response:
        self._metrics.responses["pages", response.status_code] += 1
        return response
