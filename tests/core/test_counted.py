from __future__ import annotations

import pytest

from entresol.counted import batches, counted


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 batches"), (1, "1 batch"), (2, "2 batches"), (1200, "1,200 batches")]
)
def test_one_is_singular(count: int, text: str) -> None:
    assert batches(count) == text
    assert counted(count, "block") == text.replace("batches", "blocks").replace("batch", "block")
