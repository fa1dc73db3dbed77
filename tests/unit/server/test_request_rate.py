from __future__ import annotations

import resource

from entresol.server.request_rate import RequestRate, allow_open_files


def test_a_rate_allows_a_burst_of_one_second() -> None:
    rate = RequestRate(4.0, now=0.0)
    assert [rate.allows(0.0) for _ in range(5)] == [True] * 4 + [False]
    assert rate.allows(0.25)
    assert not rate.allows(0.25)
    assert [rate.allows(100.0) for _ in range(5)] == [True] * 4 + [False]


def test_a_rate_below_one_still_allows_one() -> None:
    rate = RequestRate(0.5, now=0.0)
    assert [rate.allows(now) for now in (0.0, 1.0, 2.0)] == [True, False, True]


def test_the_limit_of_open_files_is_never_lowered() -> None:
    before, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert allow_open_files(0) == before
