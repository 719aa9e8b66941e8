"""Rumor: learn from a crowd without being trusted by it.

Local differential privacy end to end: devices randomise, a collector stores, an analyst
estimates, and everyone can check the privacy that was promised.
"""

from __future__ import annotations

import importlib

__version__ = "1.0.0rc1"

# The public names and where they live; each module loads when first asked for, so that
# `import rumor` costs next to nothing.
_HOMES = {
    "Client": "rumor.client.client",
    "Collection": "rumor.contract.collection",
    "Combined": "rumor.analysis.combine.result",
    "Comparison": "rumor.analysis.compare.result",
    "DayColumn": "rumor.core.day_columns",
    "Estimate": "rumor.results.estimate",
    "GroupedEstimates": "rumor.results.grouped",
    "HadamardResponse": "rumor.mechanisms",
    "Harmony": "rumor.mechanisms",
    "InputError": "rumor.core.errors",
    "ItemSampling": "rumor.mechanisms",
    "JointEstimate": "rumor.kinds.joint.result",
    "KeySet": "rumor.mechanisms",
    "KeyValueBlock": "rumor.mechanisms",
    "KeyValueEstimate": "rumor.kinds.keyvalue.result",
    "Keyed": "rumor.core.randomness",
    "LocalHashing": "rumor.mechanisms",
    "MeanEstimate": "rumor.kinds.number.result",
    "Mixed": "rumor.mechanisms",
    "OpenWordEstimate": "rumor.kinds.words.result",
    "OpenWords": "rumor.mechanisms",
    "OrderedEstimate": "rumor.kinds.ordered.result",
    "PaperDesign": "rumor.mechanisms",
    "PckvGrr": "rumor.mechanisms",
    "PersonRule": "rumor.contract.person_rows",
    "Piecewise": "rumor.mechanisms",
    "PrivKV": "rumor.mechanisms",
    "PrivKVM": "rumor.mechanisms",
    "Projective": "rumor.mechanisms",
    "RandomizedResponse": "rumor.mechanisms",
    "Rappor": "rumor.mechanisms",
    "Regression": "rumor.analysis.regress.result",
    "Respondent": "rumor.client.respondent",
    "Seeded": "rumor.core.randomness",
    "Service": "rumor.collector.service",
    "SetBlock": "rumor.mechanisms",
    "SetEstimate": "rumor.kinds.set.result",
    "SetSelect": "rumor.mechanisms",
    "SubsetSelection": "rumor.mechanisms",
    "SurveyDesign": "rumor.estimators.survey",
    "Summary": "rumor.mechanisms.summary",
    "System": "rumor.core.randomness",
    "Trend": "rumor.analysis.trend.result",
    "UnaryEncoding": "rumor.mechanisms",
    "View": "rumor.results.view",
    "Watch": "rumor.analysis.trend.watch",
    "Wave": "rumor.mechanisms",
    "Window": "rumor.mechanisms",
    "WordEstimate": "rumor.kinds.word_estimate",
    "Cheating": "rumor.analysis.cheating",
    "cheating": "rumor.analysis.cheating",
    "combine": "rumor.analysis.combine.method",
    "compare": "rumor.analysis.compare.method",
    "decode": "rumor.kinds.text.fit.literature",
    "estimate": "rumor.analysis.files",
    "key_value": "rumor.kinds.keyvalue.question",
    "load": "rumor.analysis.files",
    "mechanism": "rumor.mechanisms.factory",
    "merge": "rumor.mechanisms.summary",
    "next_round": "rumor.privacy.rounds",
    "post_stratify": "rumor.analysis.combine.method",
    "privatize": "rumor.contract.table_reports",
    "regress": "rumor.analysis.regress.method",
    "trend": "rumor.analysis.trend.method",
    "watch": "rumor.analysis.trend.watching",
    "weigh": "rumor.analysis.combine.method",
}

__all__ = [*_HOMES, "__version__"]

TYPE_CHECKING = False  # typing's, without the time that loading typing takes
if TYPE_CHECKING:
    from typing import Any

    from rumor.analysis.cheating import Cheating as Cheating
    from rumor.analysis.cheating import cheating as cheating
    from rumor.analysis.combine.method import combine as combine
    from rumor.analysis.combine.method import post_stratify as post_stratify
    from rumor.analysis.combine.method import weigh as weigh
    from rumor.analysis.combine.result import Combined as Combined
    from rumor.analysis.compare.method import compare as compare
    from rumor.analysis.compare.result import Comparison as Comparison
    from rumor.analysis.files import estimate as estimate
    from rumor.analysis.files import load as load
    from rumor.analysis.regress.method import regress as regress
    from rumor.analysis.regress.result import Regression as Regression
    from rumor.analysis.trend.method import trend as trend
    from rumor.analysis.trend.result import Trend as Trend
    from rumor.analysis.trend.watch import Watch as Watch
    from rumor.analysis.trend.watching import watch as watch
    from rumor.client.client import Client as Client
    from rumor.client.respondent import Respondent as Respondent
    from rumor.collector.service import Service as Service
    from rumor.contract.collection import Collection as Collection
    from rumor.contract.person_rows import PersonRule as PersonRule
    from rumor.contract.table_reports import privatize as privatize
    from rumor.core.day_columns import DayColumn as DayColumn
    from rumor.core.errors import InputError as InputError
    from rumor.core.randomness import Keyed as Keyed
    from rumor.core.randomness import Seeded as Seeded
    from rumor.core.randomness import System as System
    from rumor.estimators.survey import SurveyDesign as SurveyDesign
    from rumor.kinds.joint.result import JointEstimate as JointEstimate
    from rumor.kinds.keyvalue.question import key_value as key_value
    from rumor.kinds.keyvalue.result import KeyValueEstimate as KeyValueEstimate
    from rumor.kinds.number.result import MeanEstimate as MeanEstimate
    from rumor.kinds.ordered.result import OrderedEstimate as OrderedEstimate
    from rumor.kinds.set.result import SetEstimate as SetEstimate
    from rumor.kinds.text.fit.literature import decode as decode
    from rumor.kinds.word_estimate import WordEstimate as WordEstimate
    from rumor.kinds.words.result import OpenWordEstimate as OpenWordEstimate
    from rumor.mechanisms import HadamardResponse as HadamardResponse
    from rumor.mechanisms import Harmony as Harmony
    from rumor.mechanisms import ItemSampling as ItemSampling
    from rumor.mechanisms import KeySet as KeySet
    from rumor.mechanisms import KeyValueBlock as KeyValueBlock
    from rumor.mechanisms import LocalHashing as LocalHashing
    from rumor.mechanisms import Mixed as Mixed
    from rumor.mechanisms import OpenWords as OpenWords
    from rumor.mechanisms import PaperDesign as PaperDesign
    from rumor.mechanisms import PckvGrr as PckvGrr
    from rumor.mechanisms import Piecewise as Piecewise
    from rumor.mechanisms import PrivKV as PrivKV
    from rumor.mechanisms import PrivKVM as PrivKVM
    from rumor.mechanisms import Projective as Projective
    from rumor.mechanisms import RandomizedResponse as RandomizedResponse
    from rumor.mechanisms import Rappor as Rappor
    from rumor.mechanisms import SetBlock as SetBlock
    from rumor.mechanisms import SetSelect as SetSelect
    from rumor.mechanisms import SubsetSelection as SubsetSelection
    from rumor.mechanisms import UnaryEncoding as UnaryEncoding
    from rumor.mechanisms import Wave as Wave
    from rumor.mechanisms import Window as Window
    from rumor.mechanisms.factory import mechanism as mechanism
    from rumor.mechanisms.summary import Summary as Summary
    from rumor.mechanisms.summary import merge as merge
    from rumor.privacy.rounds import next_round as next_round
    from rumor.results.estimate import Estimate as Estimate
    from rumor.results.grouped import GroupedEstimates as GroupedEstimates
    from rumor.results.view import View as View


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rumor' has no attribute {name!r}")
    from rumor.core.extras import load_public_name

    value = load_public_name(name, lambda: getattr(importlib.import_module(_HOMES[name]), name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
