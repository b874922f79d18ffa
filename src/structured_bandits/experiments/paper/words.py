"""What the page says of the paper: its title, how open settings are read, errata that matter."""

from __future__ import annotations

TITLE = "A Novel Confidence-Based Algorithm for Structured Bandits: the experiments, again"
LEAD = (
    "Tirinzoni, Lazaric and Restelli (AISTATS 2020), Section 6 and Appendix F, played again with the "
    "paper's settings where it gives them. Some it does not give; two readings of those stand side by "
    "side, and every statement of the paper that a simulation can decide is decided in both."
)
FAIR = "equal-widths"
FITTED = "fitted"
PRESETS = {
    FAIR: (
        "the fair comparison. Every policy has confidence intervals of the same width (alpha = 2), ASAE "
        "is read as its proofs need it, and the truth lies in the middle of the region."
    ),
    FITTED: (
        "the open settings were chosen so that the paper's words come out right as far as possible: "
        "SUCB and UCB with wider intervals (alpha = 4, which is the paper's 2 at another sigma), ASAE "
        "with other periods, the truth at the left edge. It shows that such a reading exists, not that "
        "the paper used it."
    ),
}
NOTES = [
    ("I-2", "Figure 1 right: the mean of arm 2 in the fourth model is 0.92, as drawn, not 0.2."),
    ("I-3, I-4, I-7", "ASAE's pseudo-code, proofs and text differ; the presets use two readings."),
    ("I-6", "Arm 4 cannot save pulls of arm 2; Section 6 itself speaks of arm 3."),
    ("I-11", "Random structures: the paper gives neither horizon nor eta; 50,000 and 0.1 here."),
    ("I-12", "The paper does not say which widths SUCB and UCB had. They decide who wins."),
    ("I-13", "Where in the shaded region the truth lies is not said; all regrets depend on it."),
    (
        "I-27",
        "Section 3.1's saving on Figure 1 right is 3 % of pulls without phases, none with them.",
    ),
    ("I-32", "SUCB does pull arm 4 in some runs; it rarely pulls it."),
    ("I-35", "How WAGP inverts flat means is not said; we take the middle."),
]
