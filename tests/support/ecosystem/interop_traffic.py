"""Random bundles between several chains, beside what their users do with L1; and what became of all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from eth_abi import abi
from web3 import Web3
from web3.providers.base import JSONBaseProvider
from web3.types import RPCEndpoint, RPCResponse

from entresol._native import keccak256
from entresol.contracts import artifact
from entresol.contracts.slots import storage_of
from entresol.errors import BundleNotReady, BundleReverted
from entresol.inprocess.bridge import Bridge
from entresol.inprocess.interop.builder import BundleBuilder, bundles_of
from entresol.inprocess.interop.bundle import BundleStage, BundleStatus, CallStatus, SentBundle
from entresol.primitives.base_token import L2_BASE_TOKEN, asset_id
from entresol.primitives.interop_bundles import BUNDLE_SENT, INTEROP_CENTER
from entresol.primitives.values import Address, Hash32
from tests.support.contracts.engine import Contract, find, types
from tests.support.ecosystem.ecosystem import Ecosystem, OnTheWay, Resident
from tests.support.hex_data import hexed
from tests.support.polling import eventually
from tests.support.rollup.layer_ones import ACCOUNTS
from tests.support.rollup.pair import L1_CHAIN_ID, USER, Pair
from tests.support.rpc_client import RpcClient, RpcError

HELD = 5_000
SENDER = USER.checksummed()
EXECUTOR, UNBUNDLER = (account.address.checksummed() for account in ACCOUNTS[4:6])
ACCEPTS, REJECTS = bytes.fromhex("2432ef26"), bytes(4)
TAKES_NOTHING = keccak256(b"TakesNothing()")[:4]
LIAR = 1
MOST = 1000


def check_ends(bridges: Sequence[Bridge], bundles: Mapping[bytes, SentBundle]) -> None:
    """Assert that each bundle was executed exactly once, whole, or unbundled, and each call processed exactly once."""
    handlers = [bridge.interop_handler.events for bridge in bridges]
    executed = Counter(name for handler in handlers for name in _named(handler.BundleExecuted))
    unbundled = {name for handler in handlers for name in _named(handler.BundleUnbundled)}
    calls: Counter[tuple[bytes, int]] = Counter()
    for handler in handlers:
        for event in handler.CallProcessed().get_logs(from_block=0):
            calls[bytes(event["args"]["bundleHash"]), event["args"]["callIndex"]] += 1
    assert executed.keys() | unbundled == bundles.keys()
    assert not executed.keys() & unbundled
    assert set(executed.values()) <= {1}
    assert set(calls.values()) <= {1}
    for name, bundle in bundles.items():
        expected = BundleStatus.EXECUTED if name in executed else BundleStatus.UNBUNDLED
        assert bundle.status is expected
        assert all(calls[name, at] for at in range(len(bundle.bundle.calls)))


def _named(event: Any) -> list[bytes]:
    return [bytes(log["args"]["bundleHash"]) for log in event().get_logs(from_block=0)]


class ClientProvider(JSONBaseProvider):
    """Sends requests by a client; its errors are those of the client."""

    def __init__(self, client: RpcClient) -> None:
        super().__init__()
        self._client = client

    def make_request(self, method: RPCEndpoint, params: Any) -> RPCResponse:
        response: RPCResponse = self._client.post(
            msgspec.json.decode(self.encode_rpc_request(method, params))
        )
        return response


def web3_of(client: RpcClient) -> Web3:
    return Web3(ClientProvider(client))


def deployed(layer: RpcClient, name: str, *arguments: object) -> Contract:
    compiled = find(name)
    constructors = [entry for entry in compiled.abi if entry["type"] == "constructor"]
    inputs = types(constructors[0]["inputs"]) if constructors else []
    data = hexed(compiled.bytecode + abi.encode(inputs, arguments))
    sent = layer("eth_sendTransaction", {"from": str(USER), "data": data})
    return Contract(Address.parse(layer.receipt(sent)["contractAddress"]), compiled)


class Liar:
    """The operator of a chain, who edits what its user has of a token of L1 there, of which the chain has a little.

    L1 books what it sends as long as it has so much in its books, and nothing else.
    """

    def __init__(self) -> None:
        self.forged = 0
        self.token: Address | None = None

    def meet(self, resident: Resident, bridge: Bridge) -> None:
        self._resident = resident
        self._bridge = bridge
        if self.token is None:
            self.token = resident.pair.create_token(10**30)
            resident.approve(self.token)
            resident.deposit(self.token, HELD)

    @property
    def asset(self) -> Hash32:
        assert self.token is not None
        return asset_id(L1_CHAIN_ID, self.token)

    def send(self, destination: Bridge, forged: int, part: float) -> SentBundle:
        """Make some out of nothing, and send a part of everything that the user has then."""
        token = self._bridge.l2_token(str(self.token))
        self.forge(forged)
        held = token.functions.balanceOf(SENDER).call()
        amount = max(1, int(held * part))
        return self._bridge.send(amount, chain=destination, token=token.address, sender=SENDER)

    def forge(self, amount: int) -> None:
        token = self._bridge.l2_token(str(self.token))
        held, supply = (
            entry.call()
            for entry in (token.functions.balanceOf(SENDER), token.functions.totalSupply())
        )
        edited = {"balanceOf": {USER: held + amount}, "totalSupply": supply + amount}
        for slot, word in storage_of(artifact("BridgedStandardERC20"), edited).items():
            self._resident.pair.l2("anvil_setStorageAt", token.address, str(slot), str(word))
        self.forged += amount

    def pay(self) -> None:
        assert self.token is not None
        if self.forged:
            self._resident.deposit(self.token, self.forged)


class Saved(NamedTuple):
    name: str
    on_the_way: OnTheWay
    acknowledged: set[bytes]
    forged: int


class InteropTraffic:
    """Bundles of all kinds between all chains, and their ends.

    What the chains have is read from them, since they may be killed or reverted; only what was acknowledged is remembered.
    """

    def __init__(self, seed: int, *, has_liar: bool = False) -> None:
        self.ecosystem = Ecosystem(seed)
        self.liar: Liar | None = Liar() if has_liar else None
        self.random = self.ecosystem.random
        self.own: list[tuple[int, Address]] = []
        self.bridges: list[Bridge] = []
        self.bundles: dict[bytes, SentBundle] = {}
        self.acknowledged: set[bytes] = set()
        self.done: Counter[str] = Counter()
        self._recipients: list[Contract] = []
        self._saved: Saved | None = None
        self._first_block = 0

    # The chains

    def meet(self, pairs: Sequence[Pair]) -> None:
        self._saved = None
        self.ecosystem.meet(pairs)
        self.bridges = [Bridge(web3_of(pair.l1), web3_of(pair.l2)) for pair in pairs]
        if not self._recipients:
            self._recipients = [deployed(pair.l2, "Recipient") for pair in pairs]
            for pair in (pairs[0], pairs[-1]):
                token = deployed(pair.l2, "TestERC20", "Own", "OWN", 18)
                pair.l2.receipt(pair.send_l2(token, "mint", USER, 10**24))
                self.own.append((pair.chain_id, token.address))
        if self.liar is not None:
            self.liar.meet(self.ecosystem.residents[LIAR], self.bridges[LIAR])
        self._first_block = int(pairs[0].l1("eth_blockNumber"), 16)
        self.look()
        assert self.acknowledged <= self.bundles.keys(), "a bundle that was acknowledged is lost"

    @property
    def pairs(self) -> list[Pair]:
        return [resident.pair for resident in self.ecosystem.residents]

    def look(self) -> None:
        self.bundles = {
            bytes(entry.hash): entry for source in self.bridges for entry in self._sent(source)
        }

    def _sent(self, source: Bridge) -> Iterator[SentBundle]:
        event: Any = {
            "address": INTEROP_CENTER.checksummed(),
            "topics": [str(BUNDLE_SENT)],
            "fromBlock": 0,
        }
        for log in source.l2.eth.get_logs(event):
            receipt = source.l2.eth.get_transaction_receipt(log["transactionHash"])
            for destination in self.bridges:
                yield from bundles_of(receipt, source, destination)

    # Actions

    def act(self) -> None:
        others = self.ecosystem
        actions: list[Callable[[], None]] = [
            *[self.send] * 8, *[self.execute] * 5, *[self.execute_twice] * 2, *[self.verify] * 2,
            *[self.unbundle] * 3, self.change_mood, *[others.deposit] * 2, *[others.withdraw] * 2,
            *[others.claim] * 2, others.fail, others.recover, others.set_ratio, self.take_snapshot,
            self.revert, self.stop_or_go_on, self.lie, self.roll_back,
        ]  # fmt: skip
        action = self.random.choice(actions)
        self.done[action.__name__] += 1
        try:
            action()
        except BundleNotReady as error:
            self._check_not_ready(error)

    def _check_not_ready(self, error: BundleNotReady) -> None:
        """Assert that only bundles of the chain that lies are not on L1."""
        (bundle,) = (
            bundle for bundle in self.bundles.values() if bundle.hash.to_0x_hex() in str(error)
        )
        assert self.liar is not None, error
        assert bundle.source is self.bridges[LIAR], error
        assert "InteropValueNotCovered" in str(error), error
        self.done["not covered"] += 1

    def send(self) -> None:
        chains = range(len(self.bridges))
        source = self.random.choice(
            [chain for chain in chains if chain not in self.ecosystem.stopped]
        )
        destination = self.random.choice([chain for chain in chains if chain != source])
        rare = self.random.random
        builder = self.bridges[source].bundle(
            self.bridges[destination],
            sender=SENDER,
            executor=EXECUTOR if rare() < 0.15 else None,
            unbundler=UNBUNDLER if rare() < 0.15 else None,
        )
        for _ in range(self.random.choice((1, 1, 1, 2, 3))):
            kind = self.random.randrange(4)
            if kind == 0:
                builder.value(self._amount(), to=SENDER)
            elif kind == 1:
                self._add_call(builder, source, destination)
            else:
                self._add_token(builder, source)
        self._remember(builder.send())

    def lie(self) -> None:
        if self.liar is not None and LIAR not in self.ecosystem.stopped:
            forged = self._amount()
            destination = self.random.choice(
                [bridge for bridge in self.bridges if bridge is not self.bridges[LIAR]]
            )
            self._remember(self.liar.send(destination, forged, self.random.random()))

    def _remember(self, bundle: SentBundle) -> None:
        self.bundles[bytes(bundle.hash)] = bundle
        self.acknowledged.add(bytes(bundle.hash))

    def _add_token(self, builder: BundleBuilder, source: int) -> None:
        _, address = self.random.choice(list(self._assets(source)))
        builder.token(address, self._amount(), to=SENDER)

    def _add_call(self, builder: BundleBuilder, source: int, destination: int) -> None:
        """Add a call with a payload, and with value if the user has what pays for gas there."""
        there = self.bridges[destination].base_asset
        has_some = any(asset == there for asset, _ in self._assets(source))
        value = self._amount() if has_some and self.random.random() < 0.5 else 0
        recipient = self._recipients[destination].address.checksummed()
        builder.call(recipient, self.random.randbytes(self.random.randrange(1, 100)), value=value)

    def _assets(self, chain: int) -> Iterator[tuple[Hash32, str]]:
        """Yield the assets of which the user has enough for every bundle on a chain, and their addresses there."""
        bridge, resident = self.bridges[chain], self.ecosystem.residents[chain]
        known = [(L1_CHAIN_ID, token) for token in self.ecosystem.tokens] + self.own
        for origin, token in known:
            asset = asset_id(origin, token)
            if asset == bridge.base_asset:
                yield asset, L2_BASE_TOKEN.checksummed()
                continue
            is_home = origin == resident.pair.chain_id
            found = (
                token.checksummed()
                if is_home
                else bridge.l2_vault.functions.tokenAddress(asset).call()
            )
            if (
                int(found, 16)
                and bridge.l2_erc20(found).functions.balanceOf(SENDER).call() > 3 * MOST
            ):
                yield asset, found

    def _amount(self) -> int:
        return self.random.randrange(1, MOST)

    def execute(self) -> None:
        """Execute a bundle, if there is one that the destination has the root of."""
        bundle = self._some(BundleStatus.UNRECEIVED, BundleStatus.VERIFIED)
        if bundle is not None:
            self._try(bundle.execute, bundle, range(len(bundle.bundle.calls)))

    def execute_twice(self) -> None:
        bundle = self._some(BundleStatus.EXECUTED, BundleStatus.UNBUNDLED)
        if bundle is None:
            return
        failure = _failure(lambda: bundle.execute(_executor(bundle)))
        assert failure is not None, "a bundle was executed twice"
        assert failure.reason.startswith("BundleAlreadyProcessed"), failure

    def verify(self) -> None:
        bundle = self._some(BundleStatus.UNRECEIVED)
        if bundle is not None:
            bundle.verify(SENDER)
            assert bundle.status is BundleStatus.VERIFIED

    def unbundle(self) -> None:
        bundle = self._some(BundleStatus.VERIFIED, BundleStatus.UNBUNDLED)
        if bundle is None:
            return
        before = bundle.call_statuses
        wanted = [0 if entry else self.random.randrange(3) for entry in before]
        executed = [at for at, it in enumerate(wanted) if it == CallStatus.EXECUTED]
        self._try(
            lambda sender: bundle.unbundle(wanted, sender), bundle, executed, _unbundler(bundle)
        )
        if any(wanted) and bundle.call_statuses != before:
            assert bundle.call_statuses == tuple(map(max, before, wanted))

    def _try(
        self,
        act: Callable[[str], object],
        bundle: SentBundle,
        calls: Sequence[int],
        sender: str | None = None,
    ) -> None:
        """Execute some calls; that reverts if and only if a recipient rejects one of them."""
        (destination,) = (at for at, it in enumerate(self.bridges) if it is bundle.destination)
        recipient = self._recipients[destination]
        has_call = any(bundle.bundle.calls[call].to == recipient.address for call in calls)
        expected = has_call and not self._accepts(destination)
        failure = _failure(lambda: act(sender or _executor(bundle)))
        assert (failure is not None) == expected, failure
        if failure is not None:
            assert failure.data.startswith(TAKES_NOTHING), failure
            self.done["rejected"] += 1

    def _some(self, *statuses: BundleStatus) -> SentBundle | None:
        running = [it for at, it in enumerate(self.bridges) if at not in self.ecosystem.stopped]
        candidates = [
            bundle
            for bundle in self.bundles.values()
            if bundle.destination in running and bundle.source in running
        ]
        self.random.shuffle(candidates)
        return next((candidate for candidate in candidates if candidate.status in statuses), None)

    # Recipients

    def change_mood(self) -> None:
        chain = self.random.choice(
            [number for number in range(len(self.bridges)) if number not in self.ecosystem.stopped]
        )
        self._answer(chain, REJECTS if self._accepts(chain) else ACCEPTS)

    def _answer(self, chain: int, returned: bytes) -> None:
        pair = self.pairs[chain]
        sent = pair.send_l2(self._recipients[chain], "answer", returned)
        assert pair.l2.receipt(sent)["status"] == "0x1"

    def _accepts(self, chain: int) -> bool:
        recipient = self._recipients[chain]
        try:
            self.pairs[chain].call_l2(recipient, "receiveMessage", bytes(32), b"", b"")
        except RpcError:
            return False
        return True

    # Time, and who is away

    def take_snapshot(self) -> None:
        if not self.ecosystem.stopped:
            taken = self.random.choice(self.pairs).l1("evm_snapshot")
            known = set(self.acknowledged)
            forged = 0 if self.liar is None else self.liar.forged
            self._saved = Saved(taken, self.ecosystem.on_the_way, known, forged)

    def revert(self) -> None:
        if self._saved is None or self.ecosystem.stopped:
            return
        saved, self._saved = self._saved, None
        lost = self.acknowledged - saved.acknowledged
        # Before it happens: a kill may prevent that anybody learns of it.
        self.acknowledged = saved.acknowledged
        assert self.random.choice(self.pairs).l2("evm_revert", saved.name)
        self.ecosystem.go_back(saved.on_the_way)
        if self.liar is not None:
            self.liar.forged = saved.forged
        self.look()
        # A bundle whose acknowledgement a kill prevented is there, too.
        assert self.acknowledged <= self.bundles.keys()
        assert not lost & self.bundles.keys()

    def roll_back(self) -> None:
        """Have L1 lose its last blocks, and the chains what came of them."""
        l1 = self.pairs[0].l1
        depth = self.random.randrange(1, 4)
        has_forged = self.liar is not None and self.liar.forged
        is_early = int(l1("eth_blockNumber"), 16) < self._first_block + 3
        # Which of the edits of a chain are lost with its blocks is not known.
        if has_forged or is_early or self.ecosystem.stopped:
            return
        # What is lost is known only afterwards, and a kill may come before that.
        known, self.acknowledged = self.acknowledged, set()
        l1(self.random.choice(("anvil_rollback", "anvil_reorg")), depth)
        self._saved = None
        self.ecosystem.forget_lost()
        self.look()
        self.acknowledged = known & self.bundles.keys()

    def stop_or_go_on(self) -> None:
        if self.ecosystem.stopped:
            self.go_on()
            return
        chain = self.random.randrange(len(self.bridges))
        self.pairs[chain].l2("evm_setAutomine", False)
        self.ecosystem.stopped.add(chain)

    def go_on(self) -> None:
        for chain in self.ecosystem.stopped:
            self.pairs[chain].l2("evm_setAutomine", True)
        self.ecosystem.stopped.clear()

    # The end

    def drain(self) -> None:
        """Finish everything that was begun, and assert that each bundle was executed exactly once or unbundled."""
        self.go_on()
        for chain in range(len(self.bridges)):
            self._answer(chain, ACCEPTS)
        self.look()
        assert self.acknowledged <= self.bundles.keys()
        if self.liar is not None:
            self.liar.pay()
        for bundle in self.bundles.values():
            self._finish(bundle)
        while any(self.ecosystem.on_the_way):
            self.ecosystem.claim()
            self.ecosystem.recover()
        check_ends(self.bridges, self.bundles)

    def _finish(self, bundle: SentBundle) -> None:
        if bundle.status in (BundleStatus.UNRECEIVED, BundleStatus.VERIFIED):
            eventually(lambda: bundle.stage is not BundleStage.NOT_COVERED)
            bundle.execute(_executor(bundle))
        rest = [int(not status) for status in bundle.call_statuses]
        if any(rest):
            bundle.unbundle(rest, _unbundler(bundle))


def _failure(act: Callable[[], object]) -> BundleReverted | None:
    try:
        act()
    except BundleReverted as error:
        return error
    return None


def _executor(bundle: SentBundle) -> str:
    return EXECUTOR if bundle.bundle.executor else SENDER


def _unbundler(bundle: SentBundle) -> str:
    return UNBUNDLER if bundle.bundle.unbundler.endswith(bytes(ACCOUNTS[5].address)) else SENDER
