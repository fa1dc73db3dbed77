"""`entresol_` methods about tokens: honest ones, and ones that lie in whatever they say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from entresol._native import keccak256
from entresol.contracts import artifact
from entresol.execution.limits import CallLimits
from entresol.features.explorer import token_calls
from entresol.features.explorer.account_index import AccountIndex, IndexedAccounts
from entresol.features.explorer.holders import HolderLists
from entresol.features.explorer.methods.tokens import EntresolTokens, EntresolTokenTransfers
from entresol.features.explorer.token_calls import TokenCalls
from entresol.features.explorer.token_transfers import TRANSFER
from entresol.features.explorer.transaction_search import Before
from entresol.features.explorer.transfer_search import TokenTransferPage, TransferSearch
from entresol.primitives import abi
from entresol.primitives.values import Address
from entresol.rpc.services.block_resolver import BlockResolver
from entresol.rpc.types.block_id import LATEST
from tests.support.chain.api_client import ApiClient, running_api
from tests.support.chain.dev_chain import ALICE, BOB, CAROL
from tests.support.evm.assembler import assemble
from tests.support.rpc_client import RpcError

LIAR = Address(b"\xc1" * 20)
BOASTER = Address(b"\xc2" * 20)
OLD = Address(b"\xc3" * 20)
ITEMS = Address(b"\xc4" * 20)
HOSTILE = Address(b"\xc5" * 20)

# Says that everybody calling it receives 2^256-1, and reverts whatever else is asked.
LIES = assemble(f"""
    calldatasize @fail jumpi
    0 not 0 mstore caller 0 0x{TRANSFER.hex()} 32 0 log3 stop
    fail: 0 0 revert
""")
# So, too, but answers every question with ten megabytes.
BOASTS = assemble(f"""
    calldatasize @long jumpi
    0 not 0 mstore caller 0 0x{TRANSFER.hex()} 32 0 log3 stop
    long: 10000000 0 return
""")
# So, too, but answers every question with the bytes32 "OLD".
ANSWERS = assemble(f"""
    calldatasize @old jumpi
    1 0 mstore caller 0 0x{TRANSFER.hex()} 32 0 log3 stop
    old: 0x4f4c44 232 shl 0 mstore 32 0 return
""")
SINGLE = keccak256(b"TransferSingle(address,address,address,uint256,uint256)")
SENDS_ITEMS = assemble(f"""
    7 0 mstore 40 32 mstore caller 0 caller 0x{SINGLE.hex()} 64 0 log4 stop
""")
# Burns all gas that it gets.
LOOPS = assemble(f"""
    calldatasize @loop jumpi
    1 0 mstore caller 0 0x{TRANSFER.hex()} 32 0 log3 stop
    loop: @loop jump
""")


class Tokens:
    """A chain with tokens."""

    def __init__(self, client: ApiClient) -> None:
        self.client = client
        client.chain.ledger.store.keep_indexes([AccountIndex()])
        self.coin = self.deploy("Coin", "COIN")
        self.mint(ALICE, 500)
        self.mint(BOB, 700)
        self.mint(CAROL, 20)
        self.send(CAROL, self.coin, abi.encode_call("transfer(address,uint256)", ALICE, 20))
        codes = ((LIAR, LIES), (BOASTER, BOASTS), (OLD, ANSWERS), (ITEMS, SENDS_ITEMS))
        for address, code in (*codes, (HOSTILE, LOOPS)):
            client("anvil_setCode", str(address), "0x" + code.hex())
            self.send(ALICE, address)

    def deploy(self, name: str, symbol: str) -> Address:
        found = artifact("TestERC20")
        arguments = abi.encode("(string,string,uint8)", (name, symbol, 6))
        return Address.parse(self.send(ALICE, None, found.bytecode + arguments)["contractAddress"])

    def mint(self, who: Address, amount: int) -> None:
        self.send(ALICE, self.coin, abi.encode_call("mint(address,uint256)", who, amount))

    def send(self, who: Address, to: Address | None, data: bytes = b"") -> dict[str, Any]:
        request = {"from": str(who), "data": "0x" + data.hex(), "gas": hex(3_000_000)}
        if to is not None:
            request["to"] = str(to)
        receipt = self.client.receipt(self.client("eth_sendTransaction", request))
        assert receipt["status"] == "0x1"
        return receipt


@pytest.fixture(scope="module")
def tokens() -> Iterator[Tokens]:
    with running_api() as client:
        yield Tokens(client)


def test_a_token_says_what_it_is(tokens: Tokens) -> None:
    assert tokens.client("entresol_getToken", str(tokens.coin)) == {
        "address": str(tokens.coin),
        "standard": "ERC-20",
        "name": "Coin",
        "symbol": "COIN",
        "decimals": 6,
        "totalSupply": hex(1220),
    }


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("pay\u202e\u200bout", "payout"),
        ("a\u200db", "ab"),
        ("\N{WOMAN}\u200d\N{PERSONAL COMPUTER}", "\N{WOMAN}\u200d\N{PERSONAL COMPUTER}"),
        ("\N{WOMAN}\u200d", "\N{WOMAN}"),
        ("<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"),
        ("x" * 1_000, "x" * 64),
    ],
)
def test_a_name_has_nothing_that_hides_but_what_joins_emoji(
    tokens: Tokens, said: str, shown: str
) -> None:
    snapshot = tokens.client("evm_snapshot")
    token = tokens.client("entresol_getToken", str(tokens.deploy(said, said)))
    assert (token["name"], token["symbol"]) == (shown, shown)
    tokens.client("evm_revert", snapshot)


def test_what_is_no_token_is_null(tokens: Tokens) -> None:
    assert tokens.client("entresol_getToken", str(ALICE)) is None


def test_holders_are_sorted_by_what_they_have_now(tokens: Tokens) -> None:
    found = tokens.client("entresol_getTokenHolders", str(tokens.coin))
    assert found == {
        "holders": [
            {"address": str(BOB), "balance": hex(700)},
            {"address": str(ALICE), "balance": hex(520)},
        ],
        "count": "0x2",
        "isSorted": True,
        "next": None,
    }


def test_holders_come_by_pages(tokens: Tokens) -> None:
    client, coin = tokens.client, str(tokens.coin)
    first = client("entresol_getTokenHolders", coin, None, 1)
    second = client("entresol_getTokenHolders", coin, first["next"], 1)
    assert [page["holders"][0]["address"] for page in (first, second)] == [str(BOB), str(ALICE)]
    assert second["next"] is None


def test_an_account_has_the_tokens_that_it_ever_received(tokens: Tokens) -> None:
    found = tokens.client("entresol_getAccountTokens", str(CAROL))["tokens"]
    assert [(token["symbol"], token["balance"]) for token in found] == [("COIN", "0x0")]
    assert len(tokens.client("entresol_getAccountTokens", str(ALICE))["tokens"]) == 6


def test_a_token_that_lies_in_its_logs_makes_nobody_rich(tokens: Tokens) -> None:
    token = tokens.client("entresol_getToken", str(LIAR))
    assert token["name"] is token["symbol"] is token["decimals"] is token["totalSupply"] is None
    (holder,) = tokens.client("entresol_getTokenHolders", str(LIAR))["holders"]
    assert holder == {"address": str(ALICE), "balance": None}
    (moved,) = tokens.client("entresol_getTokenTransfers", str(LIAR))["transfers"]
    assert moved["values"] == [hex(2**256 - 1)]


@pytest.mark.parametrize(
    ("token", "symbol"),
    [(BOASTER, None), (HOSTILE, None), (OLD, "OLD")],
    ids=["10 MB", "loop", "word"],
)
def test_what_a_token_says_is_bounded_and_may_be_a_word(
    tokens: Tokens, token: Address, symbol: str | None
) -> None:
    assert tokens.client("entresol_getToken", str(token))["symbol"] == symbol


def test_items_have_no_sum(tokens: Tokens) -> None:
    found = tokens.client("entresol_getAccountTokens", str(ALICE))["tokens"]
    (items,) = (token for token in found if token["address"] == str(ITEMS))
    assert (items["standard"], items["balance"]) == ("ERC-1155", None)
    (moved,) = tokens.client("entresol_getTokenTransfers", str(ITEMS))["transfers"]
    assert (moved["ids"], moved["values"]) == (["0x7"], ["0x28"])


def test_transfers_of_an_account_are_those_in_which_it_gives_or_receives(tokens: Tokens) -> None:
    found = tokens.client("entresol_getAccountTransfers", str(CAROL))["transfers"]
    assert [(transfer["from"], transfer["to"]) for transfer in found] == [
        (str(CAROL), str(ALICE)),
        (str(Address.zero()), str(CAROL)),
    ]
    receipt = tokens.client.receipt(found[0]["transactionHash"])
    assert receipt["logs"][0]["logIndex"] == found[0]["logIndex"]
    assert receipt["blockNumber"] == found[0]["blockNumber"]


def test_tokens_are_found_by_symbol_and_name(tokens: Tokens) -> None:
    client = tokens.client
    found = client("entresol_getTokens", "co")["tokens"]
    assert [token["symbol"] for token in found] == ["COIN"]
    assert not client("entresol_getTokens", "nothing")["tokens"]
    assert len(client("entresol_getTokens")["tokens"]) == 6


PAGED = [
    *("entresol_getTokenHolders", "entresol_getTokenTransfers"),
    *("entresol_getAccountTokens", "entresol_getAccountTransfers"),
]


@pytest.mark.parametrize("limit", [0, 101])
@pytest.mark.parametrize("method", PAGED)
def test_a_page_has_a_limit(tokens: Tokens, method: str, limit: int) -> None:
    with pytest.raises(RpcError, match="from 1 to 100") as caught:
        tokens.client(method, str(ALICE), None, limit)
    assert caught.value.code == -32602


@pytest.mark.parametrize("method", PAGED)
def test_a_cursor_is_of_an_earlier_page(tokens: Tokens, method: str) -> None:
    with pytest.raises(RpcError, match="cursor") as caught:
        tokens.client(method, str(tokens.coin), "0x1234")
    assert caught.value.code == -32602


def test_without_the_index_the_methods_that_need_it_say_so() -> None:
    with running_api() as client:
        for method in ("entresol_getTokenHolders", "entresol_getAccountTokens"):
            with pytest.raises(RpcError, match="--no-explorer") as caught:
                client(method, str(ALICE))
            assert caught.value.code == -32000
        assert client("entresol_getTokenTransfers", str(ALICE))["transfers"] == []
        assert client("entresol_getToken", str(ALICE)) is None


def test_holders_have_what_an_edit_by_hand_gives_them(tokens: Tokens) -> None:
    client, coin = tokens.client, str(tokens.coin)
    before = client("entresol_getTokenHolders", coin)
    snapshot = client("evm_snapshot")
    client("tenderly_setErc20Balance", coin, str(ALICE), hex(9_999))
    (richest, _) = client("entresol_getTokenHolders", coin)["holders"]
    assert richest == {"address": str(ALICE), "balance": hex(9_999)}
    client("evm_revert", snapshot)
    assert client("entresol_getTokenHolders", coin) == before


def methods_of(tokens: Tokens, max_seconds: float = 2.0) -> EntresolTokens:
    chain = tokens.client.chain
    index = IndexedAccounts(chain.ledger.store)
    holders = HolderLists(index, is_fork=False)
    return EntresolTokens(chain.ledger, BlockResolver(chain), index, holders, max_seconds)


def test_a_page_of_tokens_ends_with_its_time_and_the_next_goes_on(tokens: Tokens) -> None:
    methods, cursor, found = methods_of(tokens, -1.0), None, []
    for _ in range(6):
        page = methods.get_tokens("co", cursor).work()
        found += [token.symbol for token in page.tokens]
        cursor = page.next
    assert (found, cursor) == (["COIN"], None)


def test_a_page_of_an_account_ends_with_its_time_and_the_next_goes_on(tokens: Tokens) -> None:
    methods, cursor, found = methods_of(tokens, -1.0), None, []
    for _ in range(6):
        page = methods.get_account_tokens(ALICE, cursor).work()
        (one,) = page.tokens
        found.append(one)
        cursor = page.next
    assert cursor is None
    assert found == list(methods_of(tokens).get_account_tokens(ALICE).work().tokens)


def test_a_page_of_holders_ends_with_its_time_and_the_next_goes_on(tokens: Tokens) -> None:
    chain = tokens.client.chain
    index = IndexedAccounts(chain.ledger.store)
    lists = HolderLists(index, is_fork=False, max_seconds=-1.0)
    methods = EntresolTokens(chain.ledger, BlockResolver(chain), index, lists)
    cursor, found = None, []
    for _ in range(3):
        page = methods.get_token_holders(tokens.coin, cursor).work()
        assert (page.count, page.is_sorted) == (None, False)
        found += [holder.address for holder in page.holders]
        cursor = page.next
    assert cursor is None
    # Carol has passed hers on.
    assert set(found) == {ALICE, BOB}


def test_a_page_of_transfers_ends_with_its_time_and_the_next_goes_on(tokens: Tokens) -> None:
    ledger = tokens.client.chain.ledger
    methods = EntresolTokenTransfers(ledger, TransferSearch(ledger.store, max_seconds=-1.0))
    cursor, found = None, []
    for _ in range(4):
        page = methods.get_token_transfers(tokens.coin, cursor).work()
        found += [transfer.values for transfer in page.transfers]
        cursor = page.next
    assert (found, cursor) == ([[20], [20], [700], [500]], None)


def test_a_page_of_transfers_is_of_the_blocks_that_were_searched(tokens: Tokens) -> None:
    client = tokens.client
    snapshot = client("evm_snapshot")
    coin = tokens.deploy("Gone", "GONE")
    tokens.send(ALICE, coin, abi.encode_call("mint(address,uint256)", CAROL, 1))

    class Reverting(TransferSearch):
        def of_token(self, token: Address, before: Before, size: int) -> TokenTransferPage:
            page = super().of_token(token, before, size)
            client("evm_revert", snapshot)
            return page

    ledger = client.chain.ledger
    methods = EntresolTokenTransfers(ledger, Reverting(ledger.store))
    (moved,) = methods.get_token_transfers(coin).work().transfers
    assert moved.values == [1]


def test_a_call_that_takes_too_long_has_no_answer(
    tokens: Tokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_calls, "LIMITS", CallLimits(gas_cap=200_000_000, seconds=0.001))
    calls = TokenCalls(BlockResolver(tokens.client.chain).evm_env(LATEST))
    assert calls.info(HOSTILE).symbol is None
