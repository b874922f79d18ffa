"""The paper's Figure 1 right, which several files of tests ask."""

from __future__ import annotations

import pytest

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_right


@pytest.fixture(scope="module")
def right() -> sb.Analysis:
    return sb.analyse(figure1_right(), truth=0)
