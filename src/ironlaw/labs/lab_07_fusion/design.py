"""What the ledger keeps of this lab, and what the HUD shows: the controls as they stand."""

from __future__ import annotations

from typing import Any

from ironlaw import kit

TAX = ("execution_mode", "kws_utilization_eager_pct", "kws_utilization_compiled_pct")
FUSION = ("fusion_enabled", "arithmetic_intensity_unfused", "arithmetic_intensity_fused")
ROI = ("compilation_roi_positive", "breakeven_inferences", "act2_result", "act2_decision", "constraint_hit")


def design(lab: kit.Lab) -> dict[str, Any]:
    """Exactly the fields that later labs may read: Lab 08 the utilisations, Lab 11 fusion and intensities."""
    tax, fusion, roi = (lab.readouts.get(name, {}) for name in ("act1", "act2", "act2.roi"))
    attempt = lab.entry("act2_challenge")
    return {
        "context": lab.current_context.slug,
        **{name: tax.get(name) for name in TAX},
        **{name: fusion.get(name) for name in FUSION},
        **{name: roi.get(name) for name in ROI},
        **lab.outcomes("act1", "act2"),
        "challenge_passed": bool(attempt.payload["correct"]) if attempt else None,
    }


def readouts(lab: kit.Lab) -> list[tuple[str, str, str]]:
    tax, fusion, roi = (lab.readouts.get(name, {}) for name in ("act1", "act2", "act2.roi"))
    spotter = f"{tax['kws_utilization_eager_pct']:.0f} → {tax['kws_utilization_compiled_pct']:.0f}%" if tax else "open"
    rows = [("Spotter, compiled", spotter, "")]
    if not roi:
        return [*rows, ("Fusion", "open", ""), ("ROI", "open", ""), ("Break-even", "open", "")]
    positive, hit = bool(roi["compilation_roi_positive"]), bool(roi["constraint_hit"])
    return [
        *rows,
        ("Fusion", "on" if fusion.get("fusion_enabled") else "off", ""),
        (
            "ROI",
            "positive" if positive else "negative, not justified" if hit else "negative",
            "good" if positive else "fail" if hit else "warn",
        ),
        ("Break-even", f"{roi['breakeven_inferences']:,}", ""),
    ]
