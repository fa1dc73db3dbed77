"""The GIL during executions on several threads, and memory over many calls."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from entresol._native import Overlay, Snapshot, call
from tests.support.evm.in_memory_state import BLOCK, CONTRACT, RULES, InMemoryState, to_contract
from tests.support.hex_data import word

# Returns the sum of the slots 1 to 200.
SUM_SLOTS = "5f 60c8 5b 80 54 90 91 01 90 6001 90 03 80 6003 57 50 5f 52 6020 5f f3"
# Loads slot 0, counts down from three million, and loads slot 1.
LOAD_LOOP_LOAD = "5f 54 50 622dc6c0 5b 6001 90 03 80 6007 57 6001 54 00"


def world_with_slots() -> InMemoryState:
    world = InMemoryState.with_contract(SUM_SLOTS)
    for number in range(1, 201):
        world.slots[CONTRACT, word(number)] = word(number)
    return world


def test_other_threads_run_during_an_execution() -> None:
    switches = 0
    seen: list[int] = []

    class Recording(InMemoryState):
        def slot(self, address: bytes, slot: bytes) -> bytes:
            seen.append(switches)
            return super().slot(address, slot)

    snapshot = Snapshot(Recording(**vars(InMemoryState.with_contract(LOAD_LOOP_LOAD))))
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(call, snapshot, RULES, BLOCK, to_contract(gas_limit=10**9))
        while not future.done():
            switches += 1
            time.sleep(0)
    assert future.result().status == "success"
    before, after = seen
    # Two or three, if no other thread could run in between.
    assert after - before > 10


def test_the_main_thread_and_workers_that_read_state_share_the_gil() -> None:
    begun = threading.Event()

    class Blocking(InMemoryState):
        def slot(self, address: bytes, slot: bytes) -> bytes:
            begun.wait()
            return super().slot(address, slot)

    world = Blocking(**vars(world_with_slots()))

    def run(_: int) -> bytes:
        return call(Snapshot(world), RULES, BLOCK, to_contract()).output

    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(run, number) for number in range(100)]
        assert not any(future.done() for future in futures)
        begun.set()
        while not all(future.done() for future in futures):
            time.sleep(0)
    assert {future.result() for future in futures} == {word(sum(range(1, 201)))}


def test_an_overlay_can_change_while_a_call_runs_on_it() -> None:
    overlay = Overlay(Snapshot(world_with_slots()))

    def run(_: int) -> str:
        return call(overlay, RULES, BLOCK, to_contract()).status

    with ThreadPoolExecutor(4) as pool:
        statuses = pool.map(run, range(100))
        for number in range(100):
            overlay.set_slot(CONTRACT, word(1), word(number))
        assert set(statuses) == {"success"}
    assert overlay.slot(CONTRACT, word(1)) == word(99)


def test_a_provider_may_execute_on_another_state() -> None:
    inner = Snapshot(world_with_slots())

    class Deriving(InMemoryState):
        def slot(self, _address: bytes, _slot: bytes) -> bytes:
            return call(inner, RULES, BLOCK, to_contract()).output

    world = Deriving(**vars(InMemoryState.with_contract("5f 54 6001 54 01 5f 52 6020 5f f3")))
    output = call(Snapshot(world), RULES, BLOCK, to_contract()).output
    assert output == word(2 * sum(range(1, 201)))
