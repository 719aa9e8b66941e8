"""The interface described for programs: an OpenAPI 3.1 document."""

from __future__ import annotations

from typing import Any

from rumor import __version__
from rumor.collector.http.limits import Limits
from rumor.collector.http.problems import TYPES
from rumor.collector.http.wire import BINARY_TYPE, ENVELOPES_TYPE, JSON_TYPE
from rumor.core.exact import CONFIDENCE

_GROUP = "The number of the reports' combination of groups, where the contract has groups."
_IN_GROUP = {"type": "string", "description": "NAME=GROUP: only respondents in this group."}
_MODULE = "A module of the client; or, as integrity.json, the hashes of all."


def openapi(limits: Limits) -> dict[str, Any]:
    """Return the OpenAPI document, with this collector's limits."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Rumor collector",
            "version": __version__,
            "description": "Takes private reports, keeps each exactly once, and estimates.",
        },
        "paths": {
            "/v1/collection": {"get": _collection()},
            "/v1/reports": {"post": _reports(limits)},
            "/v1/withdrawals": {"post": _withdrawals(limits)},
            "/v1/batches": {"post": _batches(limits)},
            "/v1/overview": {"get": _overview()},
            "/v1/estimates/{question}": {"get": _estimates()},
            "/v1/trends/{question}": {"get": _trends()},
            "/v1/comparisons/{question}": {"get": _comparisons()},
            "/v1/integrity/{question}": {"get": _integrity()},
            "/v1/openapi.json": {"get": _plain("This document.")},
            "/healthz": {"get": _plain("Whether the store takes writes.", refusals=[503])},
            "/metrics": {"get": _plain("Totals for Prometheus.", kind="text/plain")},
            "/": {"get": _plain("The analysts' page.", kind="text/html")},
            "/answer": {"get": _plain("The respondents' page.", kind="text/html")},
            "/assets/{name}": {"get": _file("A style or script of the pages.", "text/css")},
            "/client/{name}": {"get": _file(_MODULE, "text/javascript")},
        },
        "components": {
            "schemas": {
                "Problem": {
                    "type": "object",
                    "required": ["type", "title", "status", "detail"],
                    "properties": {
                        "type": {"enum": [f"urn:rumor:problem:{name}" for name in TYPES]},
                        "title": {"type": "string"},
                        "status": {"type": "integer"},
                        "detail": {"type": "string", "description": "One clear sentence."},
                        "refused": {
                            "type": "array",
                            "items": {"type": "integer"},
                            "description": "The indices of the reports that are the reason.",
                        },
                    },
                }
            },
            "securitySchemes": {
                "analyst": {"type": "http", "scheme": "bearer"},
                "relay": {"type": "http", "scheme": "bearer"},
            },
        },
    }


_ROWS = {"type": "array", "items": {"type": "object"}}


def _collection() -> dict[str, Any]:
    schema = _object(
        digest={"type": "string", "pattern": "^[0-9a-f]{64}$"},
        open={"type": "boolean"},
        contract={"type": "object", "description": "The contract that was digested."},
    )
    return {
        "summary": "The contract that new reports are made under, and its digest.",
        "responses": {"200": _content(JSON_TYPE, schema), **_refusals(503)},
    }


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object that has all of `properties`."""
    return {"type": "object", "required": list(properties), "properties": properties}


def _without(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the object `schema` with the member `name` optional."""
    return {**schema, "required": [each for each in schema["required"] if each != name]}


def _numbers(*names: str) -> dict[str, Any]:
    """Return an object of integers."""
    return _object(**{name: {"type": "integer"} for name in names})


def _strictly(**properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object that has all of `properties` and no other member."""
    return {
        "type": "object",
        "required": list(properties),
        "additionalProperties": False,
        "properties": properties,
    }


def _some(items: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Return the schema of a list of one or more `items`, at most as many as a request may have."""
    return {"type": "array", "items": items, "minItems": 1, "maxItems": limits.json_reports}


def _reports(limits: Limits) -> dict[str, Any]:
    base64 = {"type": "string", "contentEncoding": "base64"}
    report = _strictly(
        id={**base64, "description": "16 random bytes that name this report alone."},
        report={**base64, "description": "As many bytes as the question's mechanism says."},
    )
    body = _strictly(question={"type": "string"}, reports=_some(report, limits))
    body["properties"]["group"] = {"type": "integer", "minimum": 0, "description": _GROUP}
    binary = {
        "type": "string",
        "format": "binary",
        "maxLength": limits.body_bytes,
        "description": "Records of 16 bytes of id and then the report, one after the other; "
        f"at most {limits.binary_reports:,}.",
    }
    token = "For one report: 32 hexadecimal digits of an invited collection, 640 of a blind one."
    return _posted(
        "Send reports of one question: all are durable when this answers, or none.",
        "Sending the same reports again is safe: each counts once.",
        [
            _header("Rumor-Collection", "The digest of the contract.", required=True),
            _header("Rumor-Question", "The question's id, for binary bodies.", required=False),
            _header("Rumor-Group", f"{_GROUP} For binary bodies.", required=False),
            _header("Content-Encoding", "gzip, or none.", required=False),
            _header("Rumor-Token", token, required=False),
        ],
        {JSON_TYPE: body, BINARY_TYPE: binary},
        _numbers("accepted", "duplicates"),
        _refusals(400, 403, 404, 408, 409, 410, 413, 415, 422, 429, 503),
    )


def _withdrawals(limits: Limits) -> dict[str, Any]:
    key = {
        "type": "string",
        "contentEncoding": "base64",
        "description": "16 bytes; the report's id is the first 16 of SHA-256 of "
        '"rumor report id" and these. Or 48, the opening of a blind token.',
    }
    body = _strictly(question={"type": "string"}, keys=_some(key, limits))
    token = (
        "The blind token of the one report of the body, as hexadecimal: where reports come "
        "through a relay, and this one may not have arrived."
    )
    return _posted(
        "Take reports back: they leave the store and the counts.",
        "Asking again is safe. What was exported or published is beyond reach.",
        [
            _header("Rumor-Collection", "The digest of the contract.", required=True),
            _header("Content-Encoding", "gzip, or none.", required=False),
            _header("Rumor-Token", token, required=False),
        ],
        {JSON_TYPE: body},
        _numbers("withdrawn", "absent"),
        _refusals(400, 403, 404, 408, 409, 413, 415, 429, 503),
    )


def _batches(limits: Limits) -> dict[str, Any]:
    binary = {
        "type": "string",
        "format": "binary",
        "maxLength": limits.batch_bytes,
        "description": "Sealed envelopes of one question, all of one size, one after the other; "
        f"at most {limits.batch_envelopes:,}.",
    }
    posted = _posted(
        "Hand over a relay's envelopes: what is good of them is durable when this answers.",
        "Handing over the same envelopes again is safe. Bad ones are dropped, and not named.",
        [
            _header("Rumor-Collection", "The digest of the contract.", required=True),
            _header("Rumor-Question", "The question's id.", required=True),
            _header("Rumor-Turn", "Their turn, where the contract has turns.", required=False),
        ],
        {ENVELOPES_TYPE: binary},
        _numbers("taken"),
        _refusals(400, 401, 403, 404, 408, 409, 410, 413, 415, 429, 503),
    )
    return {**posted, "security": [{"relay": []}]}


def _posted(
    summary: str,
    description: str,
    headers: list[dict[str, Any]],
    bodies: dict[str, dict[str, Any]],
    answer: dict[str, Any],
    refusals: dict[str, Any],
) -> dict[str, Any]:
    """Describe a POST route that takes one of the `bodies`, by type, and returns `answer`."""
    content = {kind: {"schema": schema} for kind, schema in bodies.items()}
    return {
        "summary": summary,
        "description": description,
        "parameters": headers,
        "requestBody": {"required": True, "content": content},
        "responses": {"200": _content(JSON_TYPE, answer), **refusals},
    }


def _estimates() -> dict[str, Any]:
    text = {"type": "string"}
    options = {
        "collection": {**text, "description": "A digest, or how it begins (the newest if none)."},
        "method": {**text, "default": "auto"},
        "level": {"type": "number", "default": CONFIDENCE},
        "of": {"enum": ["population", "people"], "default": "population"},
        "simultaneous": {"type": "boolean", "default": False},
        "rows": {"type": "integer", "minimum": 1},
        "order": {"enum": ["estimate", "given"]},
        "looks": {"enum": ["one", "any"], "default": "one"},
        "from": {**text, "format": "date"},
        "to": {**text, "format": "date"},
        "group": {"type": "array", "items": _IN_GROUP},
        "find": {**text, "description": "Only values whose names contain this text."},
        "format": {"enum": ["json", "csv", "parquet", "png", "svg"], "default": "json"},
    }
    path = _path("question")
    queries = [{"name": name, "in": "query", "schema": schema} for name, schema in options.items()]
    schema = _object(collection=text, question=text, reports={"type": "integer"}, estimates=_ROWS)
    return {
        "summary": "The estimate of a question, with intervals, from all reports so far.",
        "security": [{"analyst": []}],
        "parameters": [path, *queries],
        "responses": {
            "200": _content(JSON_TYPE, schema),
            **_refusals(401, 403, 404, 409, 422, 503),
        },
    }


def _overview() -> dict[str, Any]:
    asks = {"type": ["string", "null"], "description": "What each person is asked, if not all."}
    schema = _object(
        collection={"type": "string"},
        name={"type": "string"},
        collections={**_ROWS, "description": "All of the series, oldest first."},
        asks=asks,
        questions={**_ROWS, "description": "With reports in all and by day."},
    )
    return {
        "summary": "The collections of the series, and the questions of one of them.",
        "security": [{"analyst": []}],
        "parameters": [_which_collection()],
        "responses": {
            "200": _content(JSON_TYPE, _without("asks", schema)),
            **_refusals(401, 403, 404, 422, 503),
        },
    }


def _trends() -> dict[str, Any]:
    schema = _object(
        question={"type": "string"},
        reports={"type": "integer"},
        periods={"type": "array", "items": {"type": "string", "format": "date"}},
        changes={**_ROWS, "description": "For each value its largest change."},
        watch={"type": "object", "description": "What a weekly watch found, at any look."},
        estimates={**_ROWS, "description": "A row for each period and value."},
    )
    summary = "How the answers to a question moved from day to day."
    return _between_days(summary, schema, {"every": {"enum": ["day", "week"], "default": "day"}})


def _comparisons() -> dict[str, Any]:
    schema = _object(
        question={"type": "string"},
        reports={"type": "integer"},
        groups={"type": "object", "description": "The reports of each period."},
        tests=_ROWS,
        estimates=_ROWS,
    )
    period = {"type": "string", "description": "Days, written FIRST..LAST."}
    level: dict[str, Any] = {"type": "number", "default": CONFIDENCE}
    looks: dict[str, Any] = {"enum": ["one", "any"], "default": "one"}
    options: dict[str, dict[str, Any]] = {"first": period, "second": period, "level": level}
    options["looks"] = looks
    return _between_days("What differs between two periods.", schema, options)


def _between_days(
    summary: str, schema: dict[str, Any], options: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """Describe an analyst's route over several days, with the option `different_people`."""
    known = {
        **options,
        "different_people": {"type": "boolean", "default": False},
        "group": {"type": "array", "items": _IN_GROUP},
    }
    queries = [{"name": name, "in": "query", "schema": one} for name, one in known.items()]
    return {
        "summary": summary,
        "security": [{"analyst": []}],
        "parameters": [_path("question"), _which_collection(), *queries],
        "responses": {"200": _content(JSON_TYPE, schema), **_refusals(401, 403, 404, 422, 503)},
    }


def _integrity() -> dict[str, Any]:
    schema = _object(
        question={"type": "string"},
        reports={"type": "integer", "description": "How many were looked at."},
        testable={"type": "boolean"},
        alarm={"type": "boolean"},
        deviations={"type": ["number", "null"]},
        explanation={"type": "string"},
    )
    return {
        "summary": "Whether the newest reports of a question look crafted.",
        "security": [{"analyst": []}],
        "parameters": [_path("question"), _which_collection()],
        "responses": {
            "200": _content(JSON_TYPE, _without("deviations", schema)),
            **_refusals(401, 403, 404, 422, 503),
        },
    }


def _which_collection() -> dict[str, Any]:
    return {"name": "collection", "in": "query", "schema": {"type": "string"}}


def _path(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _file(summary: str, kind: str) -> dict[str, Any]:
    return {**_plain(summary, kind=kind, refusals=[404]), "parameters": [_path("name")]}


def _plain(
    summary: str, *, kind: str = JSON_TYPE, refusals: list[int] | None = None
) -> dict[str, Any]:
    schema = {"type": "object" if kind == JSON_TYPE else "string"}
    return {
        "summary": summary,
        "responses": {"200": _content(kind, schema), **_refusals(*(refusals or []))},
    }


def _header(name: str, description: str, *, required: bool) -> dict[str, Any]:
    return {
        "name": name,
        "in": "header",
        "required": required,
        "description": description,
        "schema": {"type": "string"},
    }


def _content(kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": "As asked.", "content": {kind: {"schema": schema}}}


def _refusals(*statuses: int) -> dict[str, Any]:
    reference = {"$ref": "#/components/schemas/Problem"}
    return {
        str(status): {
            "description": "Refused; the sentence says why.",
            "content": {"application/problem+json": {"schema": reference}},
        }
        for status in statuses
    }
