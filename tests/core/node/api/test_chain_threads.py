"""The threads of an API let the chain be replaced only between their work."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event

import pytest

from entresol.chain.chain_use import ChainUse
from entresol.errors import ChainReplaced
from entresol.node.api.chain_threads import ChainThreads
from tests.support.polling import PATIENCE_SECONDS


def test_a_chain_is_used_from_the_request_to_the_end_of_the_work() -> None:
    use, begin = ChainUse(), Event()
    with ThreadPoolExecutor(1) as pool:
        threads = ChainThreads(pool, use)
        work = threads.submit(begin.wait, PATIENCE_SECONDS)
        queued = threads.submit(int)
        assert not use.is_idle
        assert queued.cancel()
        begin.set()
        assert work.result(PATIENCE_SECONDS)
    assert use.is_idle


@pytest.mark.parametrize("is_queued", [False, True])
def test_work_that_outlives_the_chain_fails(is_queued: bool) -> None:
    use, begin, running = ChainUse(), Event(), Event()

    def work() -> int:
        running.set()
        begin.wait(PATIENCE_SECONDS)
        return 1

    with ThreadPoolExecutor(1) as pool:
        threads = ChainThreads(pool, use)
        first = threads.submit(work)
        outlived: Future[int] = threads.submit(int) if is_queued else first
        running.wait(PATIENCE_SECONDS)
        use.on_removed()
        begin.set()
        with pytest.raises(ChainReplaced):
            outlived.result(PATIENCE_SECONDS)
    assert use.is_idle


def test_work_of_a_fork_that_is_cancelled_with_its_threads_fails() -> None:
    use, begin, pool = ChainUse(), Event(), ThreadPoolExecutor(1)
    threads = ChainThreads(pool, use, is_fork=True)
    threads.submit(begin.wait, PATIENCE_SECONDS)
    queued = threads.submit(int)
    threads.shutdown(wait=False, cancel_futures=True)
    begin.set()
    with pytest.raises(ChainReplaced):
        queued.result(PATIENCE_SECONDS)
    pool.shutdown()
    assert use.is_idle
