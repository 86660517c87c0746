"""What a lab says about a run of the learner's own: what was measured, and the lesson only where the run shows it."""

from __future__ import annotations

from ironlaw.kit.lab import Lab, Slots

AGAINST = (
    "This run does not show what the lab teaches: the difference is too small to tell, or it goes the other way. "
    "Measure again when the machine is quiet; if the result is the same, believe your machine."
)


def caption(lab: Lab, section: str, slots: Slots, shows: bool) -> str:
    """Markdown: the section with what was measured, then `section.lesson` if the run `shows` it, else that it does not."""
    texts = lab.words.fill_all([section, f"{section}.lesson"], slots)
    return f"{texts[section]} {texts[f'{section}.lesson'] if shows else AGAINST}"
