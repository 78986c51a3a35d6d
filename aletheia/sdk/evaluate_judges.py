"""The judges that a call names: chosen from the settings, or given as an object."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aletheia.config import Settings
from aletheia.errors import UsageError
from aletheia.judges.base import FusedJudge, Judges
from aletheia.pipeline.judge_setup import (
    JUDGE_CHOICES,
    embedded_judges,
    judge_kind,
    llm_judges,
    whole,
)
from aletheia.schema.model import ChatModel
from aletheia.sdk.models import leased_model

__all__ = ["JudgeLike", "chosen_judge", "opened_judges"]

JudgeLike = str | ChatModel | Judges | FusedJudge
"""`auto`, `embedded` or `llm`; a chat model that judges and cuts; or judges of your own."""


def chosen_judge(judge: object, settings: Settings) -> JudgeLike:
    """Resolve a name to `embedded` or `llm`, and leave a model or judges as they are.

    Raises `UsageError` for what is no judge, `ConfigError` where `llm` has no endpoint.
    """
    if judge is None or isinstance(judge, str):
        return judge_kind(settings, "auto" if judge is None else judge)
    if not isinstance(judge, ChatModel | Judges | FusedJudge):
        listed = ", ".join(f"`{name}`" for name in JUDGE_CHOICES)
        raise UsageError(
            f"`judge` is a `{type(judge).__name__}`", hint=f"give {listed}, or a chat model"
        )
    return judge


@asynccontextmanager
async def opened_judges(
    chosen: JudgeLike, settings: Settings, *, decompose: bool = True
) -> AsyncIterator[Judges | FusedJudge]:
    """Give the judges to a block; models of the settings are those of the running loop."""
    most = settings.max_output_tokens
    if chosen == "embedded":
        yield embedded_judges(decompose=decompose)
    elif isinstance(chosen, str):
        async with (
            leased_model(settings, settings.judging_model) as judge,
            leased_model(settings, settings.decomposing_model) as cutter,
        ):
            yield llm_judges(judge, cutter, max_output_tokens=most, decompose=decompose)
    elif isinstance(chosen, ChatModel):
        yield llm_judges(chosen, max_output_tokens=most, decompose=decompose)
    else:
        yield whole(chosen, decompose=decompose)
