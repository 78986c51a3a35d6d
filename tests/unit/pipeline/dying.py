"""Options that end the process they come to, as a judge that takes all memory would."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

from aletheia.pipeline.evaluate_many import ManyOptions
from aletheia.pipeline.evaluate_processes import ProcessOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Dying(ProcessOptions):
    """Judges nothing."""

    def in_process(self) -> ManyOptions:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError
