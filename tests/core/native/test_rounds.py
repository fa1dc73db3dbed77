"""Executions on a fork run in rounds: few waits for many values, and nothing of a round with placeholders is seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, Final

import pytest

from entresol import errors
from entresol._native import (
    Limits,
    Overlay,
    Snapshot,
    Tracer,
    Trie,
    TxEnv,
    call,
    call_output,
    create_access_list,
    estimate_gas,
    estimate_l1_to_l2,
    execute,
    keccak256,
    run_call,
    trace_call,
)
from entresol.execution.calls import CallRequest
from entresol.execution.simulation import BlockCalls, SimulationBase, SimulationOptions, simulate
from entresol.primitives.headers import Header
from entresol.primitives.values import Address, Hash32
from tests.support.evm.in_memory_state import (
    ALICE,
    BLOCK,
    BOB,
    CONTRACT,
    EMPTY_CODE,
    ETHER,
    RULES,
    InMemoryState,
    to_contract,
)
from tests.support.fork.fake_remote import FakeRemote, LocalRows, RemoteAccount, on_thread
from tests.support.hex_data import word

GAS_CAP: Final = 30_000_000
EMPTY_ROOT: Final = keccak256(b"\x80")

RETURN: Final = "5f52 6020 5ff3"
SUM: Final = f"5f 5b 80 54 5f51 01 5f52 6001 01 80 61%04x 11 6001 57 5f51 {RETURN}"
"""Returns the sum of so many first slots."""
CHAIN: Final = f"6001 60%02x 5b 90 54 90 6001 90 03 80 6004 57 50 {RETURN}"
"""Reads slot 1, then the slot that its value names, and so on, so many times; returns the last value."""
WAIT_FOR_ONE: Final = f"5b 5f54 15 5f 57 6001 {RETURN}"
"""Loops while slot 0 is zero."""
DETOUR: Final = f"5f54 6009 57 61dead 54 5b 6001 {RETURN}"
"""Reads slot 0xdead if slot 0 is zero."""
LOG_AND_READ: Final = f"5f 5f 6004 5f 5f 6a636f6e736f6c652e6c6f67 5a f1 50 5f54 {RETURN}"
"""Calls the address of `console.log`, then returns slot 0."""


@pytest.fixture
def remote() -> Iterator[FakeRemote]:
    with FakeRemote({ALICE: RemoteAccount(7, ETHER)}) as made:
        yield made


def fork(remote: FakeRemote, code: str, slots: dict[int, int] | None = None) -> Snapshot:
    """Return a fork of a chain that has a contract with this code and these slots."""
    remote.accounts[CONTRACT] = RemoteAccount(1, 0, bytes.fromhex(code))
    remote.slots = {(CONTRACT, slot): value for slot, value in (slots or {}).items()}
    return Snapshot(LocalRows(remote.table))


def environment(state: Snapshot | Overlay) -> Any:
    return SimpleNamespace(state=state, rules=RULES, block=SimpleNamespace(native=BLOCK))


def to_fork(**fields: Any) -> CallRequest:
    return CallRequest(sender=Address(ALICE), to=Address(CONTRACT), **fields)


def output(state: Snapshot, limits: Limits | None = None) -> int:
    work = lambda: call_output(environment(state), to_fork(), GAS_CAP, limits=limits)  # noqa: E731
    return int.from_bytes(on_thread(work))


def test_a_loop_that_only_a_placeholder_has_does_not_count_as_time(remote: FakeRemote) -> None:
    state = fork(remote, WAIT_FOR_ONE, {0: 1})
    endless = to_contract(gas_limit=1 << 40)
    work = lambda: call(state, RULES, BLOCK, endless, limits=Limits(seconds=0.2))  # noqa: E731
    assert on_thread(work).output == word(1)


def test_waiting_does_not_count_as_time(remote: FakeRemote) -> None:
    state = fork(remote, CHAIN % 6, {slot: slot + 1 for slot in range(1, 7)})
    remote.latency = 0.1
    assert output(state, Limits(seconds=0.4)) == 7


def test_a_limit_of_gas_is_that_of_one_round(remote: FakeRemote) -> None:
    state = fork(remote, SUM % 200, dict.fromkeys(range(200), 1))
    twin = InMemoryState.with_contract(SUM % 200)
    needed = call(Snapshot(twin), RULES, BLOCK, to_contract()).gas_spent
    assert output(state, Limits(gas=2 * needed)) == 200


def test_what_the_console_gets_is_that_of_the_last_round(remote: FakeRemote) -> None:
    state = fork(remote, LOG_AND_READ, {0: 9})
    logged: list[Any] = []
    console = lambda calls, dropped: logged.append((len(calls), dropped))  # noqa: E731
    work = lambda: call_output(environment(state), to_fork(), GAS_CAP, console=console)  # noqa: E731
    assert on_thread(work) == word(9)
    assert logged == [(1, 0)]


def test_a_failure_of_a_key_is_that_of_the_execution(remote: FakeRemote) -> None:
    state = fork(remote, SUM % 3)
    error = errors.RemoteRejected("http://there", "eth_getStorageAt", -32000, "no")
    remote.failures["slot", CONTRACT, word(1)] = error
    with pytest.raises(errors.RemoteRejected) as raised:
        output(state)
    assert raised.value is error
    remote.failures.clear()
    assert output(state) == 0


def test_a_failure_of_a_key_that_only_a_placeholder_needs_is_none(remote: FakeRemote) -> None:
    state = fork(remote, DETOUR, {0: 1})
    remote.failures["slot", CONTRACT, word(0xDEAD)] = OSError("never")
    assert output(state) == 1
    assert remote.asked["slot", CONTRACT, word(0xDEAD)] == 1


def test_a_remote_that_does_not_respond_is_a_time_out(remote: FakeRemote) -> None:
    state = fork(remote, SUM % 3)
    remote.silent.add("slot")
    work = lambda: call_output(environment(state), to_fork(), GAS_CAP)  # noqa: E731
    problem = r"the remote http://there did not respond to a request for the slot 0x.* in 0\.05 seconds; see --fork"
    with pytest.raises(errors.RemoteWaitOver, match=problem):
        on_thread(work, 0.05)


def test_values_that_lead_to_each_other_are_waited_for_only_so_long_in_all() -> None:
    """However quickly each of them comes: otherwise a remote could hold a client for ever."""
    with FakeRemote({ALICE: RemoteAccount(7, ETHER)}, silence=10.0, total=0.2) as remote:
        state = fork(remote, CHAIN % 200, {slot: slot + 1 for slot in range(250)})
        remote.latency = 0.02
        problem = r"all that was needed in 0\.2 seconds: the .* did not come; see --fork-timeout"
        with pytest.raises(errors.RemoteWaitOver, match=problem):
            output(state)
        assert remote.asked_of("slot") < 100


def test_work_that_has_waited_for_too_long_in_all_waits_for_nothing_else() -> None:
    with FakeRemote({ALICE: RemoteAccount(7, ETHER)}, silence=0.05, total=0.05) as remote:
        remote.silent |= {"account", "slot"}
        snapshot = Snapshot(LocalRows(remote.table))

        def work() -> list[bool]:
            totals = []
            for slot in range(200):
                with pytest.raises(errors.RemoteWaitOver) as over:
                    snapshot.slot(CONTRACT, word(slot))
                totals.append(over.value.is_total)
            return totals

        assert all(on_thread(work)[1:])


def test_a_transaction_of_an_unknown_sender_needs_no_round_for_its_nonce(
    remote: FakeRemote,
) -> None:
    overlay = Overlay(fork(remote, SUM % 3, {0: 1, 1: 2, 2: 3}))
    transaction = TxEnv(sender=ALICE, to=CONTRACT, gas_limit=100_000, gas_price=10, nonce=7)
    result = on_thread(lambda: execute(overlay, RULES, BLOCK, transaction))
    assert result.output == word(6)
    assert remote.groups == 2
    # Everything that it changes is known now.
    overlay.apply(result)
    account = overlay.account(ALICE)
    assert account is not None
    assert account.nonce == 8


def _simulated(state: Snapshot | Overlay) -> bytes:
    header = Header(
        parent_hash=Hash32.zero(),
        state_root=Hash32(EMPTY_ROOT),
        number=10,
        gas_limit=GAS_CAP,
        timestamp=1_000,
        base_fee_per_gas=0,
    )
    base = SimulationBase(
        header=header,
        state=state,
        rules=RULES,
        state_root=Hash32(EMPTY_ROOT),
        trie=Trie(lambda _: None),
        next_base_fee=lambda _: 0,
    )
    blocks = [BlockCalls(calls=(to_fork(), to_fork(value=1))), BlockCalls(calls=(to_fork(),))]
    return simulate(base, blocks, SimulationOptions(trace_transfers=True))


def _listed(state: Snapshot | Overlay) -> Any:
    created = create_access_list(environment(state), to_fork(), GAS_CAP)
    return created.access_list, created.gas_used, created.error


def _minted(state: Snapshot | Overlay) -> Any:
    payment = (10**6, 1, BOB)
    transaction = TxEnv(
        sender=BOB,
        to=CONTRACT,
        gas_limit=200_000,
        gas_price=1,
        mint=10**6,
        keeps_nonce=True,
        l1_payment=payment,
    )
    result = execute(state, RULES, BLOCK, transaction)
    return result.output, result.gas_used, [account.address for account in result.changes.accounts]


CALL_TRACER: Final = Tracer(b'{"tracer": "callTracer"}')
PRESTATE_TRACER: Final = Tracer(b'{"tracer": "prestateTracer"}')
KINDS: Final[dict[str, Callable[[Snapshot | Overlay], Any]]] = {
    "call": lambda state: call_output(environment(state), to_fork(), GAS_CAP),
    "run": lambda state: run_call(environment(state), to_fork(), GAS_CAP).gas_used,
    "paid call": lambda state: call_output(environment(state), to_fork(gas_price=7), GAS_CAP),
    "estimate": lambda state: estimate_gas(environment(state), to_fork(), GAS_CAP),
    "paid estimate": lambda state: estimate_gas(environment(state), to_fork(gas_price=7), GAS_CAP),
    "access list": _listed,
    "trace": lambda state: (
        trace_call(environment(state), to_fork(), GAS_CAP, tracer=CALL_TRACER).trace
    ),
    "prestate": lambda state: (
        trace_call(environment(state), to_fork(), GAS_CAP, tracer=PRESTATE_TRACER).trace
    ),
    "simulation": _simulated,
    "deposit": _minted,
    "estimated deposit": lambda state: estimate_l1_to_l2(
        environment(state), to_fork(), gas_price=1, minimum=21_000, maximum=10**6
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_the_result_that_it_has_without_a_fork(kind: str, remote: FakeRemote) -> None:
    run = KINDS[kind]
    code, slots = SUM % 20, {slot: slot for slot in range(20)}
    twin = InMemoryState.with_contract(code)
    twin.accounts[ALICE] = type(twin.accounts[ALICE])(7, ETHER, EMPTY_CODE)
    twin.slots = {(CONTRACT, word(slot)): word(value) for slot, value in slots.items()}
    state = fork(remote, code, slots)
    with pytest.raises(errors.StateMissing):
        run(state)
    assert on_thread(lambda: run(state)) == run(Snapshot(twin))
    assert remote.groups <= 3
    # Now that everything is known nobody has to wait.
    assert run(Overlay(state)) == run(Snapshot(twin))
