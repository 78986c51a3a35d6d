"""The only importer of ragas and datasets.

Importing this package does not import ragas; `MetricSuite.prepare` or the first score does.
"""

from aletheia.ragas_bridge.base import MetricSample, MetricSuite, Scores, Support, SupportCounter
from aletheia.ragas_bridge.embedded_suite import EmbeddedSuite
from aletheia.ragas_bridge.llm_suite import RagasLLMSuite

__all__ = [
    "EmbeddedSuite",
    "MetricSample",
    "MetricSuite",
    "RagasLLMSuite",
    "Scores",
    "Support",
    "SupportCounter",
]
