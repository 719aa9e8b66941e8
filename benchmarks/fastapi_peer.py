"""A plain FastAPI route that takes the same reports and keeps them in the same store.

Only what stands between the socket and the store differs: FastAPI with pydantic models here,
Rumor's collector there. Run as a process: PORT STORE DIGEST.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np
import uvicorn
from fastapi import FastAPI, Header, HTTPException
from pydantic import BaseModel, Field

from rumor.collector.http.limits import Limits
from rumor.collector.service import Service
from rumor.collector.store.base import open_store


class Report(BaseModel):
    """One report, as pydantic reads it."""

    id: str
    report: str


class Reports(BaseModel):
    """A body."""

    question: str
    reports: list[Report] = Field(min_length=1, max_length=1000)


class Answer(BaseModel):
    """What is answered."""

    accepted: int
    duplicates: int


def make(store_url: str, digest: str) -> FastAPI:
    store = open_store(store_url)
    entry = store.find(digest)
    service = Service(store, entry.collection.series, limits=Limits(requests_per_second=1e9))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await service.start()
        yield
        await service.stop()

    app = FastAPI(lifespan=lifespan)

    @app.post("/v1/reports")  # type: ignore[untyped-decorator]
    async def take(body: Reports, rumor_collection: str = Header()) -> Answer:
        if rumor_collection != entry.collection.digest:
            raise HTTPException(409)
        question = entry.collection.question(body.question)
        width = question.mechanism.width
        records = []
        for item in body.reports:
            id, report = base64.b64decode(item.id), base64.b64decode(item.report)
            if len(id) != 16 or len(report) != width:
                raise HTTPException(422)
            records.append(id + report)
        rows = np.frombuffer(b"".join(records), np.uint8).reshape(-1, 16 + width)
        if not question.mechanism.validate(np.ascontiguousarray(rows[:, 16:])).all:
            raise HTTPException(422)
        done = await service.take(entry, question, rows)
        return Answer(accepted=done.new, duplicates=done.duplicates)

    return app


if __name__ == "__main__":
    uvicorn.run(
        make(sys.argv[2], sys.argv[3]), port=int(sys.argv[1]), log_level="error", access_log=False
    )
