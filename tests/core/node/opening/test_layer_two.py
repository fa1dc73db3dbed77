from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from entresol.chain.chain import Chain
from entresol.chain.fees import LARGEST_BASE_FEE
from entresol.chain.keyring import Keyring
from entresol.contracts import artifact
from entresol.contracts.slots import Value, storage_of
from entresol.errors import InvalidConfig
from entresol.l1.contracts import ZkChain
from entresol.l1.embedded import EmbeddedLayerOne
from entresol.node.base_tokens import development_base_tokens
from entresol.node.config.evm import EvmConfig
from entresol.node.config.schema import ETHER, ChainConfig, NodeConfig
from entresol.node.opening.layer_one import open_layer_one
from entresol.node.opening.layer_two import open_layer_two
from entresol.node.settlement.settlement_layer import development_contracts
from entresol.primitives.base_token import BaseToken, EtherPrice
from entresol.primitives.values import Address
from entresol.rollup.system_contracts import DEPLOYERS
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import BOB, NOBODY, priority_transaction
from tests.support.chain.served import served_chain
from tests.support.rollup.layer_ones import ACCOUNTS
from tests.support.rpc_client import DispatcherClient


@contextmanager
def opened(config: ChainConfig) -> Iterator[Chain]:
    chain, _ = open_layer_two(NodeConfig(chain=config), None, None)
    yield chain
    chain.close()


def test_a_chain_can_be_opened_again_with_another_gas_price(tmp_path: Path) -> None:
    directory = str(tmp_path / "chain")
    with opened(ChainConfig(data_dir=directory)) as chain:
        genesis = chain.head
    with opened(ChainConfig(data_dir=directory, gas_price=7)) as chain:
        assert chain.head == genesis
        assert chain.next_base_fee() == 7


@pytest.mark.parametrize(
    ("flags", "flag"),
    [({"fee_recipient": "0x1"}, "--fee-recipient"), ({"mixed_mining": True}, "--mixed-mining")],
)
def test_a_chain_that_cannot_be_opened_leaves_its_directory_unlocked(
    tmp_path: Path, flags: dict[str, Any], flag: str
) -> None:
    # The error is kept, and with it all that its traceback refers to.
    with (
        pytest.raises(InvalidConfig, match=flag) as caught,
        opened(ChainConfig(data_dir=str(tmp_path), **flags)),
    ):
        pass
    with opened(ChainConfig(data_dir=str(tmp_path))):
        assert caught.tb is not None


THREE = BaseToken(l1_address=Address(b"\x33" * 20), ether_price=EtherPrice(3, 1))


def test_gas_of_a_chain_with_a_base_token_costs_that_of_ether_times_the_price_from_genesis_on() -> (
    None
):
    config = NodeConfig(chain=ChainConfig(gas_price=7))
    chain, fees = open_layer_two(config, None, None, base_token=THREE)
    with closing(chain):
        assert chain.head.base_fee_per_gas == 300_000_000
        assert chain.next_base_fee() == chain.pool.base_fee == 21
        fees.set_ether_price(EtherPrice(5, 3))
        assert chain.next_base_fee() == chain.pool.base_fee == 12


@pytest.mark.parametrize(
    ("gas_price", "price"), [(10**8, EtherPrice(2**128 - 1, 1)), (1, EtherPrice(2**64, 1))]
)
def test_a_price_of_ether_that_no_block_can_hold_is_an_error_of_its_flag(
    gas_price: int, price: EtherPrice
) -> None:
    config = NodeConfig(chain=ChainConfig(gas_price=gas_price))
    token = msgspec.structs.replace(THREE, ether_price=price)
    with pytest.raises(InvalidConfig, match=r"--base-token-ratio.*at most 2\^64 - 1"):
        open_layer_two(config, None, None, base_token=token)


def test_the_vault_holds_the_balances_of_the_genesis_accounts() -> None:
    config = NodeConfig(chain=ChainConfig(accounts=3, balance=7))
    with opened(config.chain) as chain:
        layer_one = open_layer_one(config, (chain,))
        vault = layer_one.state_after(0).account(development_contracts().native_token_vault)
        layer_one.close()
    assert vault is not None
    # The three, and the two well-known ones of the ZK Stack.
    assert vault.balance == 5 * 7 * ETHER


def test_the_vault_holds_what_a_genesis_file_allocates_of_the_base_token(tmp_path: Path) -> None:
    genesis = tmp_path / "genesis.json"
    file = {
        "config": {"chainId": 270},
        "gasLimit": "0x1c9c380",
        "alloc": {f"0x{number:040x}": {"balance": hex(number)} for number in (5, 6)},
    }
    genesis.write_text(json.dumps(file), encoding="utf-8")
    chain = ChainConfig(genesis=str(genesis), base_token="ZOO", balance=0)  # noqa: S106
    config = NodeConfig(chain=chain)
    (token,) = development_base_tokens([config])
    contracts = development_contracts()
    layer_two, _ = open_layer_two(config, 31337, contracts, base_token=token)
    with (
        closing(layer_two),
        closing(open_layer_one(config, (layer_two,), base_tokens=(token,))) as layer_one,
    ):
        minted: dict[str, Value] = {"balanceOf": {contracts.native_token_vault: 11}}
        for slot, value in storage_of(artifact("TestERC20"), {**minted, "totalSupply": 11}).items():
            assert layer_one.latest.slot(token.l1_address, slot) == value


def test_accounts_cannot_have_more_of_a_base_token_than_there_can_be() -> None:
    chain = ChainConfig(base_token="ZOO", base_token_decimals=30, balance=10**46)  # noqa: S106
    config = NodeConfig(chain=chain)
    tokens = development_base_tokens([config])
    with (
        opened(ChainConfig()) as layer_two,
        pytest.raises(InvalidConfig, match="--balance: so many"),
    ):
        open_layer_one(config, (layer_two,), base_tokens=tokens)


def test_the_balance_of_the_vault_leaves_room_for_deposits(tmp_path: Path) -> None:
    genesis = tmp_path / "genesis.json"
    rich = {f"0x{number:040x}": {"balance": hex(2**256 - 1)} for number in (1, 2)}
    text = {"config": {"chainId": 270}, "gasLimit": "0x1c9c380", "difficulty": "0x0", "alloc": rich}
    genesis.write_text(json.dumps(text), encoding="utf-8")
    config = NodeConfig(chain=ChainConfig(genesis=str(genesis)))
    with opened(config.chain) as chain:
        layer_one = open_layer_one(config, (chain,))
        vault = layer_one.state_after(0).account(development_contracts().native_token_vault)
        layer_one.close()
    assert vault is not None
    assert vault.balance == 2**128


@pytest.mark.parametrize("gas_limits", [(30_000_000, 30_000_000), (40_000_000, 20_000_000)])
def test_the_development_l1_accepts_requests_up_to_the_gas_of_a_block(
    tmp_path: Path, gas_limits: tuple[int, int]
) -> None:
    for gas_limit in gas_limits:
        chain = ChainConfig(data_dir=str(tmp_path / "chain"), gas_limit=gas_limit)
        config = NodeConfig(chain=chain)
        with opened(chain) as layer_two, closing(open_layer_one(config, (layer_two,))) as layer_one:
            contract = ZkChain(
                EmbeddedLayerOne(layer_one, InlineSequencer(layer_one)),
                development_contracts().chain,
            )
            assert asyncio.run(contract.priority_tx_max_gas()) == gas_limit
            layer_one.builder.seal()
            assert asyncio.run(contract.priority_tx_max_gas()) == gas_limit
            layer_one.verify()


@contextmanager
def opened_pair(config: NodeConfig) -> Iterator[tuple[Chain, Chain]]:
    layer_two, _ = open_layer_two(config, config.l1.l1_chain_id, development_contracts())
    with closing(layer_two), closing(open_layer_one(config, (layer_two,))) as layer_one:
        yield layer_two, layer_one


@pytest.mark.parametrize(
    ("evm", "expected"),
    [
        ({}, (24_576, 24_576)),
        ({"code_size_limit": 100_000}, (100_000, 100_000)),
        # The settlement contracts need what Ethereum allows.
        ({"code_size_limit": 5_000}, (5_000, 24_576)),
        ({"disable_code_size_limit": True}, (None, None)),
    ],
)
def test_each_layer_has_a_code_size_limit(
    evm: dict[str, Any], expected: tuple[int | None, int | None]
) -> None:
    with opened_pair(NodeConfig(evm=EvmConfig(**evm))) as chains:
        assert tuple(chain.rules.code_size_limit for chain in chains) == expected


@pytest.mark.parametrize("is_enabled", [False, True])
def test_the_gas_cap_of_transactions_is_that_of_the_flag_on_both_layers(
    *, is_enabled: bool
) -> None:
    with opened_pair(NodeConfig(evm=EvmConfig(enable_tx_gas_limit=is_enabled))) as chains:
        for chain in chains:
            assert chain.pool.rules.transaction_gas_limit == (2**24 if is_enabled else None)


@pytest.mark.parametrize("is_disabled", [False, True])
def test_deterministic_deployers_can_be_left_out(*, is_disabled: bool) -> None:
    evm = EvmConfig(disable_default_create2_deployer=is_disabled)
    with opened_pair(NodeConfig(evm=evm)) as chains:
        for chain in chains:
            for deployer in DEPLOYERS:
                assert (deployer not in chain.genesis.alloc) is is_disabled


def test_l1_and_l2_cannot_have_the_same_chain_id() -> None:
    config = ChainConfig(chain_id=31337)
    with pytest.raises(InvalidConfig, match="--chain-id: the L1 has 31337, too"):
        open_layer_two(NodeConfig(chain=config), 31337, development_contracts())


LARGEST = 2**128 - 1
TOKEN = Address(b"\x33" * 20)
USER = ACCOUNTS[0]


class PricedChain(DispatcherClient):
    """An L2 that is paid in a token, and its methods."""

    def __init__(self, price: EtherPrice) -> None:
        config = NodeConfig(chain=ChainConfig(balance=10**12, accounts=1))
        token = BaseToken(l1_address=TOKEN, ether_price=price)
        self.chain, self.fees = open_layer_two(config, None, None, base_token=token)
        self.api = served_chain(
            self.chain,
            InlineSequencer(self.chain),
            wake=lambda: None,
            fees=self.fees,
            keyring=Keyring([USER]),
        )
        super().__init__(self.api.dispatcher)

    def number(self, method: str, *params: object) -> int:
        return int(self(method, *params), 16)

    def transfer(self, **fields: Any) -> dict[str, Any]:
        """Send a unit, and return the receipt."""
        sent = {"from": str(USER.address), "to": str(BOB), "value": "0x1", **fields}
        return self.receipt(self("eth_sendTransaction", sent))

    def close(self) -> None:
        self.api.close()
        self.chain.close()


@pytest.fixture(
    params=[
        EtherPrice(1, LARGEST),
        EtherPrice(3, 10**15),
        EtherPrice(3, 10**9),
        EtherPrice(3000, 1),
        EtherPrice(LARGEST_BASE_FEE, 10**8),
    ],
    ids=["cheapest", "no decimals", "six decimals", "3000", "dearest"],
)
def chain(request: pytest.FixtureRequest) -> Iterator[PricedChain]:
    """Open an L2, at each price if the test does not choose some."""
    opened = PricedChain(request.param)
    yield opened
    opened.close()


only_dearest = pytest.mark.parametrize(
    "chain", [EtherPrice(LARGEST_BASE_FEE, 10**8)], indirect=True, ids=["dearest"]
)


def test_every_quote_is_what_the_next_block_takes_and_what_it_takes_is_paid(
    chain: PricedChain,
) -> None:
    expected = max(math.ceil(chain.fees.ether_price.units(10**8)), 1)
    call = {"from": str(USER.address), "to": str(BOB)}
    assert chain.number("eth_gasPrice") == expected
    assert chain.number("eth_maxPriorityFeePerGas") == 0
    fee = chain("zks_estimateFee", call)
    assert int(fee["max_fee_per_gas"], 16) == expected
    filled = chain("eth_fillTransaction", call)["tx"]
    assert int(filled["maxFeePerGas"], 16) == 2 * expected
    before = chain.number("eth_getBalance", str(USER.address), "latest")
    for fields in ({}, {"gasPrice": hex(expected)}, {"maxFeePerGas": fee["max_fee_per_gas"]}):
        receipt = chain.transfer(**fields)
        assert int(receipt["effectiveGasPrice"], 16) == expected
    after = chain.number("eth_getBalance", str(USER.address), "latest")
    assert before - after == 3 * (21_000 * expected + 1)
    block = chain("eth_getBlockByNumber", "latest", True)
    assert int(block["baseFeePerGas"], 16) == expected
    history = chain("eth_feeHistory", "0x4", "latest", [50])
    assert {int(it, 16) for it in history["baseFeePerGas"]} == {expected}
    assert chain.number("eth_estimateGas", call) == 21_000
    assert chain.number("zks_estimateGasL1ToL2", call) > 21_000
    assert 1 <= chain.number("zks_gasPerPubdata") <= 50_000


@only_dearest
def test_requests_at_any_price_that_l1_can_ask_are_included_and_shown(chain: PricedChain) -> None:
    for number, price in enumerate((2**64, 2**127, 2**128 - 1, 2**128, 2**200)):
        request = priority_transaction(number, sender=NOBODY, to=BOB, value=5, fee=price)
        sent = str(chain.chain.enqueue(request))
        chain.chain.builder.seal()
        succeeds = price < 2**128
        receipt, transaction = chain.receipt(sent), chain("eth_getTransactionByHash", sent)
        assert receipt["status"] == ("0x1" if succeeds else "0x0")
        assert int(transaction["maxFeePerGas"], 16) == price
        for method, params in {
            "eth_getBlockByNumber": ("latest", True),
            "eth_getBlockReceipts": ("latest",),
            "eth_feeHistory": ("0x1", "latest", [50]),
            "debug_traceTransaction": (sent,),
            "ots_getBlockTransactions": (number + 1, 0, 10),
        }.items():
            assert chain(method, *params) is not None
    assert chain.transfer()["status"] == "0x1", "the chain goes on"


@only_dearest
def test_what_waits_in_the_pool_follows_the_price_as_any_base_fee(chain: PricedChain) -> None:
    chain("evm_setAutomine", False)
    cheap, dear = EtherPrice(1, 1), EtherPrice(2, 1)
    chain.fees.set_ether_price(cheap)
    sent = chain(
        "eth_sendTransaction", {"from": str(USER.address), "to": str(BOB), "gasPrice": hex(10**8)}
    )
    chain.fees.set_ether_price(dear)
    chain("evm_mine")
    assert chain("eth_getTransactionReceipt", sent) is None
    assert int(chain("eth_getBlockByNumber", "latest", False)["baseFeePerGas"], 16) == 2 * 10**8
    chain.fees.set_ether_price(cheap)
    chain("evm_mine")
    assert chain.receipt(sent)["status"] == "0x1"
