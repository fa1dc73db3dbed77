"""On a fork where every read misses, each method responds as on a chain that has the state itself.

Blocks of all types of transactions are built on a fork in a directory, and the same on a chain without one. For each
method the fork is opened again, so that nothing of the remote is in memory, and both have to respond alike: hashes of
blocks and roots of states are the only difference.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.fees import FeeModel
from entresol.chain.genesis.accounts import DevAccount
from entresol.chain.genesis.fork_genesis import fork_genesis
from entresol.chain.genesis.genesis import Genesis
from entresol.chain.keyring import Keyring
from entresol.chain.rules import ChainRules
from entresol.primitives.anchor import Anchor
from entresol.primitives.transactions import PriorityTransaction, sign
from entresol.primitives.values import Hash32
from entresol.state_missing import waiting
from tests.support.chain.every_read import (
    FEW_TRACERS,
    Call,
    calls_of,
    reads_of_address,
    reads_of_block,
    reads_of_node,
    reads_of_transaction,
)
from tests.support.chain.varied_chain import (
    CALLER,
    COUNTER,
    NOBODY,
    SECRETS,
    SENDERS,
    VariedChain,
    varied_genesis,
)
from tests.support.contracts.accounts import ScriptedWorld, fill
from tests.support.contracts.layer_two import ALICE
from tests.support.contracts.layer_two import SECRETS as KEYS
from tests.support.fork.fake_remote import FakeRemote
from tests.support.fork.running_fork import (
    RunningApi,
    open_fork,
    remote_at,
    remote_of,
    running_api,
)

RULES: Final = ChainRules.layer_2()
DERIVED: Final = frozenset({"stateRoot", "rootHash", "mixHash"})
"""Members that follow from the root of a state, or from the hash of a block."""
UNLIKE: Final = frozenset(
    {
        # What they return is of the whole state, of which a fork has a part.
        "eth_getProof", "zks_getProof", "debug_executionWitness", "eth_getAccount",
        # Their bytes have the root of the state.
        "debug_getRawBlock", "debug_getRawHeader",
        # It reaches the anchor, and they describe the node.
        "eth_feeHistory",
        "anvil_nodeInfo", "anvil_metadata", "hardhat_metadata",
    }
)  # fmt: skip


class Pair:
    """A chain that has its state, and a fork in a directory that has it from a remote; both with the same blocks."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.client: RunningApi
        self.genesis: Genesis = varied_genesis(RULES.chain_id)
        self.local = VariedChain(RULES)
        first = self.local.client("eth_getBlockByNumber", "0x0", False)
        anchor = Anchor.of_json(RULES.chain_id, msgspec.json.encode(first))
        self._forked = fork_genesis(anchor, chain_id=RULES.chain_id, funded={}, balance=0)
        with remote_of(self.genesis) as remote:
            fork = waiting(lambda: VariedChain(RULES, self.open(remote, place)))()
            names, forked = names_of(self.local.chain), names_of(fork.chain)
            self._hashes = dict(zip(names, forked, strict=True))
            self.names = names | forked
            fork.close()

    def open(self, remote: FakeRemote, place: Path | None) -> Chain:
        """Open a fork with nothing of the remote in memory: that in a directory, or another one without blocks."""
        clock = Clock(lambda: 1_000.0)
        chain = Chain.open(
            place, RULES, self._forked, durable=False, clock=clock, remote=remote.table
        )
        # It begins at the time of its anchor, and the other chain at that of the clock.
        chain.clock.state = chain.clock.at(1_000)
        return chain

    def on_fork(self, params: object) -> Any:
        """Return parameters with the hashes that the blocks have on the fork."""
        text = msgspec.json.encode(params).decode()
        for local, forked in self._hashes.items():
            text = text.replace(local, forked)
        return msgspec.json.decode(text)


def names_of(chain: Chain) -> dict[str, str]:
    """Return a name for the hash of each block, which is the same on both chains."""
    return {
        str(chain.blocks.block_hash(number)): f"block {number}"
        for number in range(chain.number + 1)
    }


def named(value: Any, names: dict[str, str]) -> Any:
    """Return a result in which blocks have names, and what follows from roots of states has none."""
    if isinstance(value, dict):
        return {key: key if key in DERIVED else named(it, names) for key, it in value.items()}
    if isinstance(value, list):
        return [named(entry, names) for entry in value]
    return names.get(value, value) if isinstance(value, str) else value


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Return both chains."""
    built = Pair(tmp_path_factory.mktemp("fork") / "chain")
    with serve(built.local.chain) as built.client:
        yield built
        built.local.client.api.close()


def by_method(calls: Iterable[Call]) -> dict[str, list[Sequence[object]]]:
    """Return the parameters of calls by method, without those that cannot be alike."""
    found: defaultdict[str, list[Sequence[object]]] = defaultdict(list)
    for name, params in calls:
        if name not in UNLIKE and params not in found[name]:
            found[name].append(params)
    return found


def outcome(client: Any, name: str, params: Sequence[object]) -> Any:
    """Return the result of a call, or the code and text of its error."""
    response = client.post({"jsonrpc": "2.0", "id": 1, "method": name, "params": list(params)})
    result = response.get("result", response.get("error"))
    if name != "eth_simulateV1" or not isinstance(result, list):
        return result
    # The blocks are on top of one that has another hash.
    text = msgspec.json.encode(result).decode()
    for number, block in enumerate(result):
        text = text.replace(block["hash"], f"simulated block {number}")
    return msgspec.json.decode(text)


def check(pair: Pair, calls: Iterable[Call], *, with_pool: bool = False) -> None:
    """Check that both chains respond alike to each method, the fork with nothing in memory."""
    unlike = []
    for name, variants in by_method(calls).items():
        with remote_of(pair.genesis) as remote, serve(pair.open(remote, pair.place)) as fork:
            if with_pool:
                fill_pool(pair, fork)
            for params in variants:
                expected = named(outcome(pair.client, name, params), pair.names)
                found = named(outcome(fork, name, pair.on_fork(params)), pair.names)
                if found != expected:
                    unlike.append(f"{name}: {difference(expected, found)}"[:400])
    assert not unlike, "\n".join(unlike)


def difference(expected: Any, found: Any, path: str = "") -> str:
    """Say where two results first differ."""
    if isinstance(expected, dict) and isinstance(found, dict):
        keys = [
            line for line in expected.keys() | found.keys() if expected.get(line) != found.get(line)
        ]
        return difference(expected.get(keys[0]), found.get(keys[0]), f"{path}.{keys[0]}")
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        index = next(n for n, it in enumerate(expected) if it != found[n])
        return difference(expected[index], found[index], f"{path}[{index}]")
    return f"{path}: {expected} and {found}"


@contextmanager
def serve(chain: Chain) -> Iterator[RunningApi]:
    """Serve a chain that seals blocks on request."""
    chain.schedule.seal_on_request()
    keys = Keyring([DevAccount.from_secret(Hash32(secret)) for secret in SECRETS])
    with running_api(chain, keyring=keys, fees=FeeModel()) as client:
        yield client


def fill_pool(pair: Pair, fork: RunningApi) -> None:
    """Send what waits in the pool of the chain without a fork; each sender has to be fetched first."""
    local, chain = pair.local.chain, fork.chain
    fork.call(lambda: chain.filler.roots.extend(local.filler.roots.first))
    for transaction in local.filler.priority:
        assert isinstance(transaction.payload, PriorityTransaction)
        fork.call(partial(chain.enqueue, transaction.payload))
    for queued in local.pool:
        sent = fork("eth_sendRawTransaction", f"0x{queued.sent_raw.hex()}")
        assert sent == str(queued.hash)


def test_blocks_are_read_alike(pair: Pair) -> None:
    """The reads of blocks are forgotten, and fetched again for traces."""
    block = pair.client("eth_getBlockByNumber", "latest", False)
    check(pair, reads_of_block(block, FEW_TRACERS))


def test_transactions_are_read_alike(pair: Pair) -> None:
    """Each is executed again to be traced."""
    block = pair.client("eth_getBlockByNumber", "latest", True)
    chosen = [
        transaction
        for transaction in block["transactions"]
        if transaction["to"] in (f"0x{CALLER.hex()}", None)
    ]
    check(pair, [entry for sent in chosen for entry in reads_of_transaction(sent, FEW_TRACERS)])


@pytest.mark.parametrize("address", [SENDERS[0], CALLER, COUNTER, NOBODY])
def test_accounts_are_read_alike(pair: Pair, address: bytes) -> None:
    """Some are the remote's, others were changed by blocks."""
    check(pair, reads_of_address(f"0x{address.hex()}", "latest"))


def test_calls_run_alike(pair: Pair) -> None:
    """A call, an estimate, an access list, a simulation, bundles and traces of a contract that calls others."""
    check(pair, calls_of(f"0x{SENDERS[1].hex()}", f"0x{CALLER.hex()}", "latest", FEW_TRACERS))


def test_deposits_are_estimated_alike(pair: Pair) -> None:
    """By the crate where it can, with and without a factory dependency."""
    deposit = {"from": ME, "to": f"0x{CALLER.hex()}", "data": "0x0102", "value": "0x5"}
    estimates: list[Call] = [
        ("zks_estimateGasL1ToL2", [deposit]),
        ("zks_estimateGasL1ToL2", [deposit | {"eip712Meta": {"gasPerPubdata": "0x320"}}]),
        ("zks_estimateFee", [deposit]),
    ]
    check(pair, estimates)


def test_the_node_responds_alike(pair: Pair) -> None:
    """Also about the pending block and the pool, whose transactions are all cold."""
    past = ("earliest", "safe", "finalized")
    calls = [
        entry
        for entry in reads_of_node(f"0x{SENDERS[0].hex()}")
        if not (entry[1] and entry[1][0] in past)
    ]
    check(pair, calls, with_pool=True)


# What changes the chain

FORGED: Final = f"0x{'5e' * 20}"
"""An account that nobody has."""
ME, CONTRACT, WORD = f"0x{SENDERS[2].hex()}", f"0x{COUNTER.hex()}", f"0x{7:064x}"
LOGGED: Final = {"from": ME, "to": f"0x{CALLER.hex()}", "gas": "0x1e8480", "data": "0x0102"}

SCENARIOS: Final[dict[str, Sequence[Call]]] = {
    "set_balance": [
        ("anvil_setBalance", [CONTRACT, "0x7"]), ("hardhat_setBalance", [ME, "0x7"]), ("tenderly_addBalance", [FORGED, "0x9"]),
        ("anvil_addBalance", [f"0x{CALLER.hex()}", "0x9"]), ("eth_getBalance", [CONTRACT, "latest"]),
        ("eth_getCode", [CONTRACT, "latest"]), ("eth_getBalance", [f"0x{CALLER.hex()}", "latest"]), ("evm_mine", []),
        ("eth_getBalance", [CONTRACT, "latest"]),
    ],
    "set_nonce": [
        ("hardhat_setNonce", [ME, "0x63"]), ("evm_setAccountNonce", [FORGED, "0x3"]), ("eth_getTransactionCount", [ME, "pending"]),
        ("anvil_setNonce", [CONTRACT, "0x5"]), ("eth_getTransactionCount", [CONTRACT, "latest"]), ("evm_mine", []),
        ("eth_getTransactionCount", [FORGED, "latest"]),
    ],
    "set_code": [
        ("anvil_setCode", [CONTRACT, "0x60016000f3"]), ("eth_getCode", [CONTRACT, "latest"]), ("hardhat_setCode", [FORGED, "0x00"]),
        ("eth_getStorageAt", [CONTRACT, "0x0", "latest"]), ("eth_call", [{"to": CONTRACT}, "latest"]), ("evm_mine", []),
        ("eth_getBalance", [CONTRACT, "latest"]),
    ],
    "set_storage": [
        ("anvil_setStorageAt", [CONTRACT, "0x0", WORD]), ("eth_call", [{"to": CONTRACT}, "latest"]),
        ("hardhat_setStorageAt", [FORGED, "0x5", WORD]), ("eth_getStorageAt", [FORGED, "0x5", "latest"]), ("evm_mine", []),
        ("eth_call", [{"to": CONTRACT}, "latest"]),
    ],
    "send": [
        ("eth_sendTransaction", [LOGGED]), ("eth_sendTransaction", [{"from": ME, "to": FORGED, "value": "0x5"}]),
        ("eth_getTransactionCount", [ME, "pending"]), ("txpool_status", []), ("evm_mine", []),
        ("eth_getTransactionCount", [ME, "latest"]), ("eth_getBlockReceipts", ["latest"]),
        ("eth_getLogs", [{"fromBlock": "0x1", "toBlock": "latest"}]),
    ],
    "fill and sign": [
        ("eth_fillTransaction", [{"from": ME, "to": CONTRACT}]), ("eth_signTransaction", [{"from": ME, "to": CONTRACT}]),
    ],
    "impersonate": [
        ("anvil_impersonateAccount", [CONTRACT]), ("anvil_setBalance", [CONTRACT, "0xde0b6b3a7640000"]),
        ("eth_sendTransaction", [{"from": CONTRACT, "to": FORGED, "value": "0x5"}]),
        ("eth_sendUnsignedTransaction", [{"from": ME, "to": CONTRACT}]), ("evm_mine", []),
        ("eth_getBlockReceipts", ["latest"]), ("eth_getBalance", [FORGED, "latest"]),
    ],
    "automine": [
        ("evm_setAutomine", [True]), ("eth_sendTransaction", [LOGGED]), ("eth_sendTransaction", [LOGGED]),
        ("eth_getTransactionCount", [ME, "latest"]), ("eth_getBlockReceipts", ["latest"]), ("eth_getStorageAt", [CONTRACT, "0x0", "latest"]),
    ],
    "mine": [
        ("eth_sendTransaction", [LOGGED]), ("anvil_mine", ["0x3", "0x2"]), ("eth_blockNumber", []), ("hardhat_mine", ["0x2"]),
        ("eth_sendTransaction", [LOGGED]), ("evm_mine_detailed", []), ("eth_getBlockByNumber", ["latest", False]),
    ],
    "revert": [
        ("evm_snapshot", []), ("eth_sendTransaction", [LOGGED]), ("evm_mine", []), ("eth_sendTransaction", [LOGGED]),
        ("evm_snapshot", []), ("evm_mine", []), ("evm_revert", ["0x2"]), ("txpool_status", []), ("eth_getTransactionCount", [ME, "pending"]),
        ("evm_revert", ["0x1"]), ("txpool_status", []), ("eth_getTransactionCount", [ME, "latest"]), ("eth_blockNumber", []),
    ],
    "roll back": [
        ("eth_sendTransaction", [LOGGED]), ("evm_mine", []), ("anvil_rollback", ["0x1"]), ("eth_getTransactionCount", [ME, "latest"]),
        ("anvil_reorg", [1, [[LOGGED, 0]]]), ("eth_getTransactionCount", [ME, "latest"]), ("eth_blockNumber", []),
    ],
    "filters": [
        ("eth_newFilter", [{"address": CONTRACT}]),
        ("eth_newBlockFilter", []),
        ("eth_newPendingTransactionFilter", []),
        ("eth_sendTransaction", [LOGGED]),
        ("evm_mine", []),
        ("eth_getFilterChanges", ["$0"]),
        ("eth_getFilterChanges", ["$1"]),
        ("eth_getFilterChanges", ["$2"]),
        ("eth_getFilterLogs", ["$0"]),
    ],
    "raw": [
        ("eth_sendRawTransaction", [f"0x{'00' * 40}"]), ("eth_sendRawTransactionSync", [f"0x{'00' * 40}"]),
        ("eth_sendTransaction", [{"from": FORGED, "to": ME}]),
        ("eth_sendTransaction", [{"from": ME, "to": CONTRACT, "value": hex(10**30)}]),
    ],
    "simulate": [
        ("eth_simulateV1", [{"blockStateCalls": [
            {"stateOverrides": {CONTRACT: {"stateDiff": {f"0x{0:064x}": WORD}}}, "calls": [{"from": ME, "to": CONTRACT}]},
            {"calls": [{"from": ME, "to": f"0x{CALLER.hex()}"}]},
        ], "validation": False}, "latest"]),
        ("eth_call", [{"to": CONTRACT}, "latest", {CONTRACT: {"state": {f"0x{0:064x}": WORD}}}]),
        ("eth_estimateGas", [LOGGED, "pending"]), ("debug_traceCall", [LOGGED, "latest", {"tracer": "prestateTracer"}]),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", list(SCENARIOS))
def test_what_changes_the_chain_ends_alike(pair: Pair, name: str) -> None:
    """Each step on the fork begins with nothing of the remote in memory but what the steps before have read."""
    clock = Clock(lambda: 1_000.0)
    local_chain = Chain.open(None, RULES, pair.genesis, clock=clock)
    with (
        remote_of(pair.genesis) as remote,
        serve(pair.open(remote, None)) as fork,
        serve(local_chain) as local,
    ):
        unlike: list[str] = []
        results: list[tuple[Any, Any]] = []
        for method, params in SCENARIOS[name]:
            expected = outcome(local, method, [given(param, results, 0) for param in params])
            found = outcome(fork, method, [given(param, results, 1) for param in params])
            results.append((expected, found))
            expected = named(expected, names_of(local.chain))
            found = named(found, names_of(fork.chain))
            # The ids of filters are random.
            if expected != found and not method.startswith("eth_new"):
                unlike.append(f"{method}: {difference(expected, found)}"[:400])
        assert not unlike, "\n".join(unlike)
        assert remote.groups


def given(param: object, results: list[tuple[Any, Any]], side: int) -> object:
    """Return a parameter; `$n` is the result of an earlier step."""
    is_result = isinstance(param, str) and param.startswith("$")
    return results[int(str(param)[1:])][side] if is_result else param


def test_a_contract_account_sends_alike() -> None:
    """All that it reads to validate and execute is the remote's: its code, its slots, its nonce."""
    world = ScriptedWorld()
    account, paymaster = world.account(is_logged=False), world.paymaster()
    sent = [
        world.from_contract(account),
        sign(fill(ALICE, nonce=world.nonce(ALICE), paymaster=paymaster), KEYS[0]),
    ]
    rules, head = world.chain.rules, world.chain.head
    with remote_at(world.chain) as remote:
        fork = open_fork(remote, rules, number=head.number, clock=lambda: float(head.timestamp))
        with serve(fork) as client:
            hashes = [
                client("eth_sendRawTransaction", f"0x{transaction.raw.hex()}")
                for transaction in sent
            ]
            client("evm_mine")
            receipts = [client("eth_getTransactionReceipt", name) for name in hashes]
        results = [world.include(transaction) for transaction in sent]
        assert [int(receipt["gasUsed"], 16) for receipt in receipts] == [
            result.gas_used for result in results
        ]
        assert [receipt["status"] for receipt in receipts] == ["0x1", "0x1"]
    world.close()


def test_a_batch_keeps_its_order(pair: Pair) -> None:
    """A call that misses a value runs again before the next one."""
    with remote_of(pair.genesis) as remote, serve(pair.open(remote, None)) as fork:
        results = fork.batch(
            [
                ("evm_setAutomine", [True]),
                ("anvil_setBalance", [CONTRACT, "0x7"]),
                ("eth_getBalance", [CONTRACT, "latest"]),
                ("eth_sendTransaction", [{"from": ME, "to": CONTRACT, "value": "0x1"}]),
                ("eth_getBalance", [CONTRACT, "latest"]),
            ]
        )
        assert (results[2], results[4]) == ("0x7", "0x8")
        assert remote.groups
