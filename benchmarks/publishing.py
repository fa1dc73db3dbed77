"""What publishing costs: batches a second and memory of a pair, bytes and gas of L1 for a transaction."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from benchmarks.harness import Peer, Row, Target
from benchmarks.servers import Server
from entresol.chain.base_fee import L2BaseFee
from entresol.chain.fees import FeeModel
from entresol.l1.operator import ALL_STEPS, Operator
from entresol.primitives import abi
from entresol.primitives.batches import DataScheme, SettlementStep
from entresol.primitives.transactions import FeeMarketTransaction, ZkTransaction, sign
from entresol.primitives.values import Address
from entresol.rollup.batcher import Batcher
from entresol.rollup.batches import SealingPolicy, stored_info_of
from entresol.rollup.publication.publication import Publication
from entresol.rollup.settlement.settler import Settler
from tests.support.contracts.accounts import sign_by
from tests.support.contracts.engine import find
from tests.support.evm.programs import program, store, work
from tests.support.node_process import running_node
from tests.support.rollup.layer_ones import ACCOUNTS, Embedded
from tests.support.rollup.settlement_scenario import deploy
from tests.support.rollup.settling_chain import CHAIN_ID, SettlingChain
from tests.support.rpc_client import HttpRpcClient

BATCHES: Final = 64
LARGE_BATCHES: Final = 8
LARGE: Final = 200
ROUNDS: Final = 5
FEWER_BATCHES, MORE_MEMORY = 0.9, 1.25
"""What publishing may cost a development pair to be its default."""

TRANSACTIONS: Final = 300
BATCHES_OF_MEMORY: Final = 40
USER: Final = ACCOUNTS[3]
TOKEN, EXCHANGE = Address(b"\xd1" * 20), Address(b"\xd2" * 20)
_SWAP: Final = "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)"
_OPTIONS: Final = ("--silent", "--l1-delay", "0.02", "--settle-interval", "1000")
_FEE: Final = 10**9
_OFF: Final = False

_Builder = Callable[[int], bytes]


def rows() -> Iterator[Row]:
    """Measure chains with and without data on L1, in turns."""
    yield from _batches("batches of one message settled on the embedded L1", BATCHES, 1)
    yield from _batches(f"batches of {LARGE} transfers settled there", LARGE_BATCHES, LARGE)
    with ExitStack() as stack:
        schemes = ("none", "calldata")
        none, calldata = (stack.enter_context(_PairOfScheme.running(scheme)) for scheme in schemes)
        begun = _Memory(none.server.resident_bytes(), calldata.server.resident_bytes())
        for kind in _kinds():
            beside, ours = none.publish(kind), calldata.publish(kind)
            yield Row(what=f"published of a {kind}", value=ours.size / TRANSACTIONS, unit="bytes")
            yield Row(
                what=f"gas of L1 to commit a {kind}",
                value=ours.gas / TRANSACTIONS,
                unit="gas",
                peer=Peer("none", beside.gas / TRANSACTIONS),
            )
        for _ in range(BATCHES_OF_MEMORY):
            for pair in (none, calldata):
                pair.settle_transfer()
        done = _Memory(none.server.resident_bytes(), calldata.server.resident_bytes())
    for what, memory in (("after its start", begun), ("after those batches", done)):
        yield Row(
            what=f"memory of a pair {what}",
            value=memory.calldata / 2**20,
            unit="MiB",
            peer=Peer("none", memory.none / 2**20),
            target=Target(MORE_MEMORY * memory.none / 2**20, "at most"),
        )


class _Memory(NamedTuple):
    none: int
    calldata: int


class _Settled(NamedTuple):
    seconds: float
    gas: int


def _batches(what: str, count: int, size: int) -> Iterator[Row]:
    """Measure sealing, commit, proof and execution; the best of rounds in turns."""
    best: dict[bool, _Settled] = {}
    for _ in range(ROUNDS):
        for publishes in (False, True):
            settled = asyncio.run(_settle(count, size, publishes=publishes))
            best[publishes] = min(settled, best.get(publishes, settled))
    rate, without = (count / best[publishes].seconds for publishes in (True, False))
    yield Row(
        what=what,
        value=rate,
        unit="/s",
        peer=Peer("none", without),
        target=Target(FEWER_BATCHES * without, "at least"),
    )
    yield Row(
        what="  gas of L1 for each",
        value=best[True].gas / count,
        unit="gas",
        peer=Peer("none", best[False].gas / count),
    )


async def _settle(count: int, size: int, *, publishes: bool) -> _Settled:
    layer_one = Embedded()
    chain = SettlingChain.begin(fees=L2BaseFee(FeeModel()), publishes=publishes)
    batcher = Batcher(
        chain.blocks, chain.batches, SealingPolicy(max_age=1e9), publication=Publication.of(chain)
    )
    genesis = stored_info_of(batcher.last, CHAIN_ID).hash()
    scheme = DataScheme.CALLDATA if publishes else DataScheme.NONE
    validator = ACCOUNTS[1]
    contracts = await deploy(layer_one.l1, CHAIN_ID, genesis, validator.address, data_scheme=scheme)
    operator = Operator(layer_one.l1, validator.secret)
    settler = Settler(
        chain,
        contracts.chain,
        {operator: ALL_STEPS},
        contracts.timelock,
        message_root=contracts.addresses.message_root,
    )
    seconds = 0.0
    for number in range(count):
        if size == 1:
            chain.send_message(number)
        else:
            for _ in range(size):
                chain.call_contract(Address(random.randbytes(20)), b"", 21_000)
        chain.builder.seal()
        begun = time.perf_counter()
        await batcher.seal(0.0)
        seconds += time.perf_counter() - begun
    begun = time.perf_counter()
    while await settler.step(0.0):
        pass
    seconds += time.perf_counter() - begun
    assert settler.totals.executed == count
    batches = chain.batches
    done = {batches.settled(number + 1, step) for number in range(count) for step in SettlementStep}
    gas = sum(batch.gas_used or 0 for batch in done if batch is not None)
    chain.close()
    layer_one.chain.close()
    return _Settled(seconds, gas)


class _Published(NamedTuple):
    size: int
    gas: int


class _PairOfScheme:
    """A pair in a process of its own, whose batches are sealed on request."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._rpc = server.client
        self._nonce = 0
        exchange = program([work(20), store(1, 1), store(2, 1)])
        token = find("TestERC20").runtime.hex()
        for address, code in ((TOKEN, token), (EXCHANGE, exchange)):
            self._rpc("anvil_setCode", str(address), "0x" + code)
        mint = abi.encode_call("mint(address,uint256)", USER.address, 10**30)
        call = {"from": str(USER.address), "to": str(TOKEN), "data": "0x" + mint.hex()}
        sent = self._rpc("eth_sendTransaction", {**call, "gas": "0x100000"})
        assert self._rpc.receipt(sent)["status"] == "0x1"
        self._nonce += 1
        self._rpc("evm_setAutomine", _OFF)
        self._commit()

    @classmethod
    def running(cls, scheme: str) -> _RunningPair:
        """Start one, and stop it at the end."""
        return _RunningPair(scheme)

    def publish(self, kind: str) -> _Published:
        """Commit a batch of one block with transactions of a kind."""
        build = _kinds()[kind]
        for _ in range(TRANSACTIONS):
            self._send(build)
        self._rpc("evm_mine")
        block = self._rpc("eth_getBlockByNumber", "latest", _OFF)
        assert len(block["transactions"]) == TRANSACTIONS, len(block["transactions"])
        details = self._commit()
        return _Published(details["pubdataBytes"], details["commitGasUsed"])

    def settle_transfer(self) -> None:
        """Settle a batch of one transfer."""
        self._send(_transfer)
        self._rpc("evm_mine")
        number = self._commit()["number"]
        for step in ("prove", "execute"):
            self._rpc(f"anvil_zks_{step}Batch", number)

    def _send(self, build: _Builder) -> None:
        self._rpc("eth_sendRawTransaction", "0x" + build(self._nonce).hex())
        self._nonce += 1

    def _commit(self) -> Mapping[str, Any]:
        number = int(self._rpc("zks_L1BatchNumber"), 16) + 1
        self._rpc("anvil_zks_commitBatch", number)
        details: Mapping[str, Any] = self._rpc("zks_getL1BatchDetails", number)
        return details


class _RunningPair(ExitStack):
    """A pair as a context."""

    def __init__(self, scheme: str) -> None:
        super().__init__()
        self._scheme = scheme

    def __enter__(self) -> _PairOfScheme:  # type: ignore[override]
        super().__enter__()
        info = Path(self.enter_context(TemporaryDirectory())) / "info.json"
        flags = (*_OPTIONS, "--config-out", str(info), "--data-availability", self._scheme)
        node = self.enter_context(running_node(*flags, info=info))
        server = Server(self._scheme, HttpRpcClient(node.url), node.process.pid)
        self.callback(server.client.close)
        return _PairOfScheme(server)


def _kinds() -> Mapping[str, _Builder]:
    return {
        "transfer": _transfer,
        "token transfer": _token_transfer,
        "swap": _swap,
        "0x71 transfer": _account_transfer,
    }


def _transfer(nonce: int) -> bytes:
    return _signed(nonce, _stranger(), random.randrange(10**15), b"", 21_000)


def _token_transfer(nonce: int) -> bytes:
    data = abi.encode_call("transfer(address,uint256)", _stranger(), random.randrange(10**18))
    return _signed(nonce, TOKEN, 0, data, 80_000)


def _swap(nonce: int) -> bytes:
    amount, deadline = random.randrange(10**18), 1_800_000_000 + nonce
    path = [TOKEN, EXCHANGE]
    data = abi.encode_call(_SWAP, amount, amount * 997 // 1000, path, _stranger(), deadline)
    return _signed(nonce, EXCHANGE, 0, data, 90_000)


def _account_transfer(nonce: int) -> bytes:
    payload = ZkTransaction(
        nonce=nonce,
        gas_limit=60_000,
        to=_stranger(),
        value=random.randrange(10**15),
        sender=USER.address,
        gas_per_pubdata_limit=50_000,
        chain_id=CHAIN_ID,
        max_priority_fee_per_gas=0,
        max_fee_per_gas=_FEE,
    )
    return sign_by(payload, USER.secret).encode()


def _signed(nonce: int, to: Address, value: int, data: bytes, gas: int) -> bytes:
    payload = FeeMarketTransaction(
        chain_id=CHAIN_ID,
        nonce=nonce,
        max_priority_fee_per_gas=0,
        max_fee_per_gas=_FEE,
        gas_limit=gas,
        to=to,
        value=value,
        data=data,
    )
    return sign(payload, USER.secret).raw


def _stranger() -> Address:
    return Address(random.randbytes(20))
