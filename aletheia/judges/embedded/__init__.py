"""Judges without a model behind them: rules, word vectors and small trees, on one CPU thread."""

from aletheia.judges.embedded.completeness import EmbeddedCompletenessJudge
from aletheia.judges.embedded.decompose import EmbeddedDecomposer
from aletheia.judges.embedded.faithfulness import EmbeddedFaithfulnessJudge
from aletheia.judges.embedded.sufficiency import EmbeddedSufficiencyJudge

__all__ = [
    "EmbeddedCompletenessJudge",
    "EmbeddedDecomposer",
    "EmbeddedFaithfulnessJudge",
    "EmbeddedSufficiencyJudge",
]
