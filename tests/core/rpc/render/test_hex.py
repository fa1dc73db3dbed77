"""Points in time."""

from __future__ import annotations

from datetime import datetime

import pytest

from entresol.rpc.render.hex import iso_timestamp


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1970-01-01T00:00:00.000000Z"),
        (1_700_000_000, "2023-11-14T22:13:20.000000Z"),
        (1_679_815_281.046817, "2023-03-26T07:21:21.046817Z"),
    ],
)
def test_a_time_always_has_six_digits_of_a_second(seconds: float, text: str) -> None:
    assert iso_timestamp(seconds) == text


def test_zksync2_reads_a_whole_second() -> None:
    # The format that zksync2 2.0 has in its details of blocks and batches.
    read = datetime.strptime(iso_timestamp(1_700_000_000), "%Y-%m-%dT%H:%M:%S.%fZ")  # noqa: DTZ007
    assert read.microsecond == 0


@pytest.mark.parametrize("seconds", [253_402_300_800, 2**63 - 1])
def test_a_chain_may_be_past_the_last_year_that_can_be_written(seconds: int) -> None:
    assert iso_timestamp(seconds) == "9999-12-31T23:59:59.999999Z"
