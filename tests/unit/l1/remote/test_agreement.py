"""What L1 says counts once it has said it twice in a row."""

from __future__ import annotations

import pytest

from entresol.errors import LayerOneMismatch
from entresol.l1.remote.agreement import MAX_READINGS, agreed
from tests.support.coroutines import completed


class Saying:
    """An L1 that says one thing after the other."""

    name = "L1"

    def __init__(self, *said: int) -> None:
        self.said = list(said)

    async def read(self) -> int:
        return self.said.pop(0)


@pytest.mark.parametrize("said", [(7, 7), (1, 7, 7), (7, 1, 7, 7)])
def test_what_l1_says_twice_in_a_row_counts(said: tuple[int, ...]) -> None:
    l1 = Saying(*said)
    assert completed(agreed(l1, "a number", l1.read)) == 7
    assert l1.said == []


def test_an_l1_that_says_something_else_each_time_is_not_believed() -> None:
    l1 = Saying(*range(MAX_READINGS))
    with pytest.raises(LayerOneMismatch, match=r"L1 says something else each time .* for a number"):
        completed(agreed(l1, "a number", l1.read))
    assert l1.said == []
