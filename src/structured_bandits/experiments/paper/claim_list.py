"""The claims of the paper on its experiments, in our words, and the test that decides each.

Statements of Section 6, of the pull counts in Appendix F, of Section 3.1 and of the abstract. Left out:
that most of SUCB's regret on random structures is due to the hard models (§6), that SAE removes arms 2
and 4 of Figure 1 right with as many pulls as SUCB (§3.1), and WAGP on random structures, which have no
parameter (errata, I-35). Arms have the names of the paper, which counts them from 1.
"""

from __future__ import annotations

from structured_bandits.experiments.claims import (
    Arm,
    Claim,
    EarlyRegret,
    FewerPulls,
    Flat,
    Growing,
    Linear,
    LowerRegret,
    NeverPulls,
    ShareOfRegret,
)

ARM_2, ARM_3, ARM_4 = (Arm(number - 1, f"arm {number}") for number in (2, 3, 4))

CLAIMS = (
    Claim(
        "left-sae-much-lower",
        "On Figure 1 left, with its informative arm, SAE's regret is far below SUCB's (at most half).",
        "§6, Figure 2a; abstract",
        "fig2a",
        LowerRegret("SAE", "SUCB", factor=0.5),
    ),
    Claim(
        "left-asae-slightly-better",
        "On Figure 1 left the anytime version does (slightly) better than SAE.",
        "§6, Figure 2a",
        "fig2a",
        LowerRegret("ASAE", "SAE"),
    ),
    Claim(
        "left-asae-below-sucb",
        "On Figure 1 left ASAE's regret is below SUCB's too.",
        "§6, Figure 2a",
        "fig2a",
        LowerRegret("ASAE", "SUCB"),
    ),
    Claim(
        "left-sae-constant",
        "On Figure 1 left SAE's regret stops growing (less than 2 % in the second half).",
        "§6, Figure 2a",
        "fig2a",
        Flat("SAE"),
        patience=8,
    ),
    Claim(
        "left-asae-constant",
        "On Figure 1 left ASAE's regret stops growing (less than 2 % in the second half).",
        "abstract; §4, Theorem 5",
        "fig2a",
        Flat("ASAE"),
    ),
    Claim(
        "left-sucb-still-grows",
        "On Figure 1 left SUCB's regret has not yet stopped growing at 10,000 pulls.",
        "§6, Figure 2a",
        "fig2a",
        Growing("SUCB"),
    ),
    Claim(
        "left-sucb-constant-later",
        "On Figure 1 left SUCB's regret stops growing later (the same for 1,000,000 pulls).",
        "§6, Figure 2a",
        "fig2a-long",
        Flat("SUCB"),
    ),
    Claim(
        "left-sucb-pays-for-arm-3",
        "On Figure 1 left SUCB pays for the models of arm 3 (at least 90 % of its regret).",
        "§6, Figure 2a",
        "fig2a",
        ShareOfRegret("SUCB", arm=ARM_3, share=0.9),
    ),
    Claim(
        "left-fewer-pulls-of-arm-3",
        "On Figure 1 left SAE pulls arm 3 far less often than SUCB (at most half).",
        "App. F, Figure 3a; abstract",
        "fig3a",
        FewerPulls("SAE", "SUCB", ARM_3, factor=0.5),
    ),
    Claim(
        "left-more-pulls-of-arm-2",
        "On Figure 1 left SAE pays for it with more pulls of arm 2 than SUCB makes.",
        "App. F, Figure 3a",
        "fig3a",
        FewerPulls("SUCB", "SAE", ARM_2),
    ),
    Claim(
        "left-sucb-never-arm-2",
        "On Figure 1 left SUCB never pulls the informative arm 2.",
        "§3.1, caption of Figure 1",
        "fig3a",
        NeverPulls("SUCB", arm=ARM_2),
    ),
    Claim(
        "flat-sae-above-sucb",
        "When arm 2 of Figure 1 left tells nothing, SAE does worse than SUCB.",
        "§6, Figure 2b",
        "fig2b",
        LowerRegret("SUCB", "SAE"),
    ),
    Claim(
        "flat-sae-below-ucb",
        "When arm 2 of Figure 1 left tells nothing, SAE still stays below UCB.",
        "§6, Figure 2b",
        "fig2b",
        LowerRegret("SAE", "UCB"),
    ),
    Claim(
        "flat-no-fewer-pulls-of-arm-3",
        "When arm 2 of Figure 1 left tells nothing, SAE makes more pulls of arm 3 than SUCB.",
        "App. F, Figure 3b",
        "fig3b",
        FewerPulls("SUCB", "SAE", ARM_3),
    ),
    Claim(
        "right-sucb-never-arm-4",
        "On Figure 1 right SUCB discards arm 4 without a single pull.",
        "§6, Figure 2c; App. F, Figure 3c",
        "fig3c",
        NeverPulls("SUCB", arm=ARM_4),
    ),
    Claim(
        "right-sae-fewer-pulls-of-arm-3",
        "On Figure 1 right SAE uses arm 4 to discard arm 3 sooner than SUCB does.",
        "§6, Figure 2c",
        "fig3c",
        FewerPulls("SAE", "SUCB", ARM_3),
        patience=4,
    ),
    Claim(
        "right-sae-fewer-pulls-of-arm-2",
        "On Figure 1 right SAE uses arm 4 to reduce the pulls of arm 2.",
        "App. F, last sentence (errata, I-6)",
        "fig3c",
        FewerPulls("SAE", "SUCB", ARM_2),
        patience=4,
    ),
    Claim(
        "right-sae-much-lower",
        "On Figure 1 right SAE's regret is far below SUCB's (at most half).",
        "§3.1 (errata, I-27)",
        "fig2c",
        LowerRegret("SAE", "SUCB", factor=0.5),
    ),
    Claim(
        "right-asae-below-sae",
        "On Figure 1 right the anytime version has a smaller regret than SAE.",
        "§6, Figure 2c",
        "fig2c",
        LowerRegret("ASAE", "SAE"),
        patience=4,
    ),
    Claim(
        "right-asae-below-sucb",
        "On Figure 1 right the anytime version performs well; we take it as: below SUCB.",
        "§6, Figure 2c",
        "fig2c",
        LowerRegret("ASAE", "SUCB"),
        patience=4,
    ),
    Claim(
        "right-sae-below-ucb",
        "On Figure 1 right SAE's regret is below UCB's; the paper says so of the bounds.",
        "§3.3, Proposition 1",
        "fig2c",
        LowerRegret("SAE", "UCB"),
        patience=1 / 4,
    ),
    Claim(
        "random-asae-below-sucb",
        "On random structures ASAE does better than SUCB.",
        "§6, Figure 2d",
        "fig2d",
        LowerRegret("ASAE", "SUCB"),
    ),
    Claim(
        "random-asae-below-sae",
        "On random structures ASAE does better than SAE.",
        "§6, Figure 2d",
        "fig2d",
        LowerRegret("ASAE", "SAE"),
    ),
    Claim(
        "random-asae-below-ucb",
        "On random structures ASAE does better than UCB.",
        "§6, Figure 2d",
        "fig2d",
        LowerRegret("ASAE", "UCB"),
    ),
    Claim(
        "random-sae-starts-high",
        "SAE has a high initial regret: at a tenth of the run it is above ASAE's.",
        "§6, Figure 2d",
        "fig2d",
        EarlyRegret("SAE", "ASAE"),
    ),
    Claim(
        "wagp-linear-left",
        "WAGP has linear regret on Figure 1 left (second half ≥ 0.9 × first half).",
        "§6, first paragraph",
        "wagp-left",
        Linear("WAGP"),
    ),
    Claim(
        "wagp-linear-flat",
        "WAGP has linear regret on Figure 1 left with a useless arm 2.",
        "§6, first paragraph",
        "wagp-flat",
        Linear("WAGP"),
    ),
    Claim(
        "wagp-linear-right",
        "WAGP has linear regret on Figure 1 right.",
        "§6, first paragraph",
        "wagp-right",
        Linear("WAGP"),
    ),
)
