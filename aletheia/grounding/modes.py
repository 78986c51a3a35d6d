"""What a mode makes of a verification. The verification itself is the same in every mode."""

from __future__ import annotations

from aletheia.schema.verification import Category, Judged, Mode, Verification


def judge(verification: Verification, mode: Mode) -> Judged:
    """See `verification` through `mode`.

    Strict rejects what failed. Lenient and off keep every answer; lenient turns the reasons into
    warnings, off only reports the findings. A reply that holds no answer is rejected in every
    mode: there is nothing to keep.
    """
    failed = not verification.verified
    rejected = failed and (mode is Mode.STRICT or verification.problem is not None)
    return Judged(
        mode=mode,
        passed=not rejected,
        category=_category(verification, rejected=rejected),
        rejection_reason=verification.reasons[0] if rejected else None,
        rejection_reasons=verification.reasons if rejected else (),
        warnings=verification.reasons if failed and mode is Mode.LENIENT else (),
        verification=verification,
    )


def _category(verification: Verification, *, rejected: bool) -> Category:
    if rejected:
        return "rejected"
    return "insufficient_context" if verification.abstained else "grounded_answer"
