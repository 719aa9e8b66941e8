"""The pages as HTTP sees them: headers, caching, and what analysts may ask beside estimates."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from rumor.client.modules import FOLDER as CLIENT
from rumor.collector.answer_page import WEB, languages
from rumor.collector.http.pages import SCRIPTS, modules_of
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import ReportBatch, Store, StoredCollection, open_store, today
from rumor.collector.tokens import Tokens, add_token
from rumor.core.reports import Reports
from rumor.privacy.integrity import craft
from tests.collector.tools import Answer, batch, call, collection, rows

ALWAYS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Asked:
    """A running collector and an analyst."""

    def __init__(self, url: str, token: str, store: Store, entry: StoredCollection) -> None:
        self.url, self.token, self.store, self.entry = url, token, store, entry

    def get(self, path: str) -> Answer:
        return call(self.url, path, headers={"Authorization": f"Bearer {self.token}"})

    def write(self, question: str, values: object) -> None:
        self.store.write([batch(self.entry, question, values)])


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Asked]:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(collection())
    token = add_token(tmp_path / "tokens", "alice")
    service = Service(store, "series", tokens=Tokens(tmp_path / "tokens"))
    with background(service) as url:
        yield Asked(url, token, store, entry)


class TestHeaders:
    def test_every_response_has_them(self, asked: Asked) -> None:
        paths = ["/", "/answer", "/assets/base.css", "/client/rumor.js", "/v1/collection"]
        paths += ["/v1/overview", "/healthz", "/metrics", "/nowhere", "/assets/nothing.js"]
        paths += ["/v1/estimates/colour", "/v1/openapi.json", "/v1/reports"]
        for path in paths:
            headers = call(asked.url, path).headers
            assert {name: headers[name] for name in ALWAYS} == ALWAYS, path
            assert "camera=()" in headers["permissions-policy"]
            policy = headers["content-security-policy"]
            assert policy.startswith("default-src 'none'; "), path
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert "set-cookie" not in headers
        answer = call(asked.url, "/v1/reports", b"", {"Content-Type": "application/json"})
        assert {name: answer.headers[name] for name in ALWAYS} == ALWAYS

    def test_a_failure_of_ours_has_them_too(
        self, asked: Asked, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(self: object, collection: str | None) -> None:
            raise RuntimeError("a bug")

        monkeypatch.setattr(Service, "overview", broken)
        answer = asked.get("/v1/overview")
        assert answer.status == 500
        assert {name: answer.headers[name] for name in ALWAYS} == ALWAYS

    def test_what_analysts_hear_is_not_kept(self, asked: Asked) -> None:
        asked.write("colour", [0, 1, 2])
        for path in ("/v1/overview", "/v1/estimates/colour", "/v1/integrity/colour"):
            assert asked.get(path).headers["cache-control"] == "no-store"

    def test_nothing_is_inline(self) -> None:
        """No script, style or handler in the markup, and nothing from another origin."""
        for page in WEB.glob("*.html"):
            text = page.read_text(encoding="utf-8")
            assert "<style" not in text
            assert " style=" not in text
            assert " on" not in text.split("<body>")[0]
            assert "://" not in text
            scripts = text.count("<script")
            assert scripts == text.count('<script type="module" src="/assets/')


class TestFiles:
    def test_files_are_compressed_and_asked_for_again(self, asked: Asked) -> None:
        for place, folder, name in (
            ("assets", WEB, "answer.js"),
            ("client", CLIENT, "rumor.js"),
            ("client", CLIENT, "mechanisms/unary.js"),
        ):
            path = f"/{place}/{name}"
            plain = call(asked.url, path)
            body = (folder / name).read_bytes()
            assert (plain.status, plain.body) == (200, body)
            assert plain.headers["content-type"] == "text/javascript; charset=utf-8"
            zipped = call(asked.url, path, headers={"Accept-Encoding": "gzip, br"})
            assert gzip.decompress(zipped.body) == body
            assert zipped.headers["vary"] == "Accept-Encoding"
            known = {"If-None-Match": f'"other", W/{plain.headers["etag"]}'}
            again = call(asked.url, path, headers=known)
            assert (again.status, again.body) == (304, b"")
            assert call(asked.url, path, headers={"If-None-Match": '"other"'}).status == 200

    def test_the_client_is_for_pages_of_any_site(self, asked: Asked) -> None:
        modules = [path.relative_to(CLIENT).as_posix() for path in CLIENT.rglob("*.js")]
        assert {"rumor.js", "mechanisms/unary.js", "kinds/choice.js"} <= set(modules)
        for module in modules:
            answer = call(asked.url, f"/client/{module}")
            assert answer.status == 200, module
            assert answer.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-origin" not in call(asked.url, "/assets/answer.js").headers

    def test_the_first_text_is_in_the_language_that_a_browser_asks_for(self, asked: Asked) -> None:
        for path, accepted, stem in (
            ("/answer", "", "en"),
            ("/answer", "fr, JA-jp;q=0.8, en", "ja"),
            ("/answer?lang=zh-TW", "ja", "zh"),
            ("/answer?lang=xx", "de", "en"),
        ):
            answer = call(asked.url, path, headers={"Accept-Language": accepted})
            text, said = answer.body.decode(), languages()[stem]
            assert f'<html lang="{said.tag}">' in text
            assert f"<title>{said.title}</title>" in text
            assert f'id="lead">{said.lead}</p>' in text
            assert f'rel="modulepreload" href="/client/view/words/{stem}.js"' in text
            assert text.count('hreflang="') == len(languages())

    def test_the_script_has_what_the_questions_need(self, asked: Asked, tmp_path: Path) -> None:
        """All of it and nothing of other kinds; that of no collection has no kind at all."""
        script = call(asked.url, f"/assets/{SCRIPTS[0]}").body.decode()
        begun = modules_of(asked.entry.collection)
        assert len(begun) > 2
        assert [name for name in begun if f'$modules["{name}"]' not in script] == []
        assert "/client/kinds/joint.js" not in script.replace('$load("/client/kinds/joint.js")', "")
        with background(Service(open_store(f"sqlite:///{tmp_path / 'empty.db'}"), "none")) as url:
            empty = call(url, f"/assets/{SCRIPTS[0]}")
            assert (empty.status, '$modules["/client/kinds/' in empty.body.decode()) == (200, False)

    @pytest.mark.parametrize(
        "path",
        [
            "/assets/..%2fapp.py",
            "/assets/../app.py",
            "/assets/answer.html",
            "/client/package.json",
            "/client/..%2f__init__.py",
            "/client/",
            "/client/mechanisms",
            "/client/mechanisms/",
            "/client/mechanisms/../rumor.js",
            "/client/mechanisms/..%2frumor.js",
            "/client//rumor.js",
            "/client/unary.js",
        ],
    )
    def test_other_files_are_not_served(self, asked: Asked, path: str) -> None:
        assert call(asked.url, path).problem == "not-found"


class TestOverview:
    def test_questions_and_days(self, asked: Asked) -> None:
        asked.write("colour", np.repeat([0, 1], [30, 12]))
        answer = asked.get("/v1/overview").json()
        assert answer["collection"] == asked.entry.collection.digest
        assert [each["state"] for each in answer["collections"]] == ["open"]
        colour, many = answer["questions"]
        assert (colour["id"], colour["reports"], many["reports"]) == ("colour", 42, 0)
        day = today().isoformat()
        assert colour["days"] == [{"day": day, "last": day, "reports": 42}]
        assert colour["dropped"] == 0
        assert "factor of 2.72" in colour["privacy"]
        assert (many["answers"], many["report_bytes"], many["range"]) == (30, 4, None)

    def test_revisions_are_listed_and_can_be_chosen(self, asked: Asked) -> None:
        asked.write("colour", [0])
        newer = asked.store.register(collection(name="Another"), revise=True)
        answer = asked.get("/v1/overview").json()
        assert [each["state"] for each in answer["collections"]] == ["superseded", "open"]
        assert answer["collection"] == newer.collection.digest
        older = asked.get(f"/v1/overview?collection={asked.entry.collection.digest[:12]}").json()
        assert older["questions"][0]["reports"] == 1
        assert asked.get("/v1/overview?collection=none").problem == "not-found"
        assert asked.get("/v1/overview?from=today").problem == "invalid-query"

    def test_only_analysts_may_ask(self, asked: Asked) -> None:
        for path in ("/v1/overview", "/v1/integrity/colour"):
            assert call(asked.url, path).problem == "unauthorized"


class TestIntegrity:
    def test_honest_and_crafted_reports(self, asked: Asked) -> None:
        chance = np.random.default_rng(5)
        asked.write("many", chance.integers(0, 30, 6_000))
        honest = asked.get("/v1/integrity/many").json()
        assert (honest["testable"], honest["alarm"], honest["reports"]) == (True, False, 6_000)
        oracle = asked.entry.collection.question("many").mechanism
        fakes = rows(asked.entry, "many", np.zeros(2_000, dtype=np.int64))
        fakes[:, 16:] = craft(oracle, np.arange(6), 2_000)  # type: ignore[arg-type]
        asked.store.write([batch_of(asked.entry, "many", fakes)])
        crafted = asked.get("/v1/integrity/many").json()
        assert crafted["alarm"] is True
        assert "crafted reports are likely" in crafted["explanation"]

    def test_what_cannot_be_tested_is_said(self, asked: Asked) -> None:
        asked.write("colour", [0] * 10)
        few = asked.get("/v1/integrity/colour").json()
        assert (few["testable"], few["alarm"], few["deviations"]) == (False, False, None)
        assert "needs at least 1,000 reports; got 10" in few["explanation"]
        asked.write("colour", [0] * 1_000)
        single = asked.get("/v1/integrity/colour").json()
        assert single["testable"] is False
        assert "supports a single value" in single["explanation"]
        assert asked.get("/v1/integrity/none").problem == "not-found"


class TestDownloads:
    def test_the_same_rows_in_every_format(self, asked: Asked) -> None:
        asked.write("colour", np.repeat([0, 1, 2], [600, 300, 100]))
        path = "/v1/estimates/colour?level=0.9"
        expected = asked.get(path).json()["estimates"]
        csv = asked.get(f"{path}&format=csv")
        assert csv.headers["content-type"] == "text/csv; charset=utf-8"
        assert csv.headers["content-disposition"] == 'attachment; filename="colour.csv"'
        lines = csv.body.decode().splitlines()
        assert lines[0] == "value,frequency,low,high,unbiased,stderr"
        assert lines[1] == ",".join(str(cell) for cell in expected[0].values())
        table = pq.read_table(io.BytesIO(asked.get(f"{path}&format=parquet").body))
        assert table.to_pylist() == expected
        png = asked.get(f"{path}&format=png")
        assert png.headers["content-type"] == "image/png"
        assert png.body.startswith(b"\x89PNG\r\n\x1a\n")
        assert int.from_bytes(png.body[16:20]) > 600, "the picture's width"

    def test_other_formats_are_refused(self, asked: Asked) -> None:
        answer = asked.get("/v1/estimates/colour?format=xlsx")
        assert answer.problem == "invalid-query"
        assert (
            answer.json()["detail"]
            == "format must be one of json, csv, parquet, png, svg; got 'xlsx'"
        )
        assert asked.get("/v1/estimates/colour?format=csv").problem == "no-reports"


def batch_of(entry: StoredCollection, question: str, made: Reports) -> ReportBatch:
    return ReportBatch(entry.questions[question], made)


def test_stores_know_days_and_the_newest_reports(store: Store) -> None:
    entry = store.register(collection())
    assert store.reports_by_day(entry, "colour") == {}
    assert store.newest_reports(entry, "colour", 5).shape == (0, 1)
    first, second = rows(entry, "colour", [0] * 4), rows(entry, "colour", [1] * 3)
    for made in (first, rows(entry, "many", [7] * 9), second):
        question = "many" if made.shape[1] == 20 else "colour"
        store.write([batch_of(entry, question, made)])
    store.summarize()
    assert store.reports_by_day(entry, "colour") == {today(): 7}
    newest = store.newest_reports(entry, "colour", 3)
    assert sorted(newest[:, 0]) == sorted(second[:, 16])
    assert len(store.newest_reports(entry, "colour", 100)) == 7
    assert store.newest_reports(entry, "many", 2).shape == (2, 4)
