"""Stores of both kinds for the collector at the end of the way."""

from __future__ import annotations

from tests.collector.conftest import store_url

__all__ = ["store_url"]
