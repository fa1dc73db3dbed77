"""`entresol_` methods about tokens: what they are called, who has them, what an account has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias

import msgspec

from entresol.errors import MalformedValue, NotInspectable
from entresol.features.explorer.holders import MAX_SECONDS
from entresol.features.explorer.methods.transactions import check_indexed, page_size
from entresol.features.explorer.token_calls import MAX_TEXT, TokenAnswers, TokenCalls
from entresol.features.explorer.token_transfers import TokenStandard
from entresol.features.explorer.transaction_search import Before
from entresol.offload import Offload
from entresol.primitives.values import Address, Data, Hash32, Quantity
from entresol.rpc.jsonrpc.gil_turns import cooperatively
from entresol.rpc.jsonrpc.method import ServedBy, method
from entresol.rpc.jsonrpc.model import JsonModel, says
from entresol.rpc.types.block_id import LATEST
from entresol.rpc.types.number import Number
from entresol.state_missing import work_clock

if TYPE_CHECKING:
    from entresol.chain.ledger import Ledger
    from entresol.features.explorer.account_index import IndexedAccounts
    from entresol.features.explorer.holders import HolderLists
    from entresol.features.explorer.transfer_search import (
        FoundTransfer,
        TokenTransferPage,
        TransferSearch,
    )
    from entresol.rpc.services.block_resolver import BlockResolver

MAX_SEARCHED: Final = 500
"""How many tokens a page asks for their symbols at most."""

StandardName: TypeAlias = Literal["ERC-20", "ERC-721", "ERC-1155"]

STANDARDS: Final[dict[TokenStandard, StandardName]] = {
    TokenStandard.ERC20: "ERC-20",
    TokenStandard.ERC721: "ERC-721",
    TokenStandard.ERC1155: "ERC-1155",
}


class TokenDetails(JsonModel, frozen=True, kw_only=True):
    """A token as its contract describes itself; null where it does not, or not within the limits of a call."""

    address: Annotated[Address, says("The contract.")]
    standard: Annotated[StandardName, says("By the form of its logs.")]
    name: Annotated[str | None, says("Up to 64 printable characters.")]
    symbol: Annotated[str | None, says("Up to 64 printable characters.")]
    decimals: Annotated[int | None, says("Of an ERC-20, up to 77.")]
    total_supply: Annotated[Quantity | None, says("What `totalSupply` returns.")]


class TokenBalance(TokenDetails, frozen=True, kw_only=True):
    """A token, and how much of it an account has."""

    balance: Annotated[Quantity | None, says("What `balanceOf` returns.")]


class TokenHolder(JsonModel, frozen=True, kw_only=True):
    """An account, and how much of a token it has."""

    address: Annotated[Address, says("Who has it.")]
    balance: Annotated[Quantity | None, says("What `balanceOf` returns.")]


class TokenList(JsonModel, frozen=True, kw_only=True):
    """Some tokens, and the cursor of those that follow."""

    tokens: Annotated[list[TokenDetails], says("The tokens.")]
    next: Annotated[Data | None, says("The cursor of those that follow.")]


class AccountTokenList(JsonModel, frozen=True, kw_only=True):
    """Some tokens of an account, and the cursor of those that follow."""

    tokens: Annotated[list[TokenBalance], says("The tokens, by address.")]
    next: Annotated[Data | None, says("The cursor of those that follow.")]


class TokenHolderList(JsonModel, frozen=True, kw_only=True):
    """Some holders of a token, and the cursor of those that follow."""

    holders: Annotated[list[TokenHolder], says("The accounts.")]
    count: Annotated[Quantity | None, says("How many have a balance; null if not all were asked.")]
    is_sorted: Annotated[bool, says("Whether those with most come first.")]
    next: Annotated[Data | None, says("The cursor of those that follow.")]


class EntresolTokens:
    """Tokens by the index of who has received them, and by what their contracts say in the state of the head."""

    prefix = "entresol"

    def __init__(
        self,
        ledger: Ledger,
        resolver: BlockResolver,
        index: IndexedAccounts,
        holders: HolderLists,
        max_seconds: float = MAX_SECONDS,
    ) -> None:
        self._ledger = ledger
        self._index = index
        self._resolver = resolver
        self._holders = holders
        self._max_seconds = max_seconds

    @method(served_by=ServedBy.REPLICA)
    def get_token(self, token: Address) -> Offload[TokenDetails | None]:
        """Return what a token is; null for what neither was ever received nor has a symbol and a supply.

        `name` and `symbol` have at most 64 printable characters. Each call to the contract may take 200,000 gas.
        """
        calls, head = self._calls(), self._ledger.number

        def work() -> TokenDetails | None:
            found = self._index.holders(token, b"", 1, head) if self._index.is_on else []
            info = calls.info(token)
            if not found and (info.symbol is None or info.supply is None):
                return None
            return _details(token, found[0].standard if found else TokenStandard.ERC20, info)

        return Offload(work)

    @method(NotInspectable, MalformedValue, served_by=ServedBy.REPLICA)
    def get_tokens(
        self, text: str | None = None, cursor: Data | None = None, limit: Number | None = None
    ) -> Offload[TokenList]:
        """Return tokens that anybody has received, in the order of their addresses.

        With `text`, those whose symbol begins with it or whose name has it, in any case; a page asks at most 500
        tokens, for two seconds, so it may be shorter than `limit`, which is at most 100. On a fork, tokens that were
        received above its anchor.
        """
        check_indexed(self._index)
        size, after, head = page_size(limit), _after(cursor), self._ledger.number
        if text is not None and not 1 <= len(text) <= MAX_TEXT:
            raise MalformedValue(f"from 1 to {MAX_TEXT} characters", field="text")
        calls = self._calls()

        def work() -> TokenList:
            asked = MAX_SEARCHED if text else size
            end = work_clock() + self._max_seconds
            addresses = self._index.tokens(after, asked + 1, head)
            found: list[TokenDetails] = []
            last = after
            for address in cooperatively(addresses[:asked]):
                if len(found) == size or (last != after and work_clock() > end):
                    return TokenList(tokens=found, next=Data(last))
                last = address
                holdings = self._index.holders(address, b"", 1, head)
                if not holdings:
                    # Its blocks have been reverted since.
                    continue
                details = _details(
                    Address(address), holdings[0].standard, calls.info(Address(address))
                )
                if text is None or _is_called(details, text.casefold()):
                    found.append(details)
            following = Data(addresses[asked - 1]) if len(addresses) > asked else None
            return TokenList(tokens=found, next=following)

        return Offload(work)

    @method(NotInspectable, MalformedValue, served_by=ServedBy.REPLICA)
    def get_token_holders(
        self, token: Address, cursor: Data | None = None, limit: Number | None = None
    ) -> Offload[TokenHolderList]:
        """Return who has a token, of those that have received it by a transfer.

        Balances are what `balanceOf` returns at the head; who has nothing is left out. Up to 10,000 accounts are
        sorted, most first, and counted; beyond that, or if the token takes longer than two seconds, the order is that
        of addresses, `isSorted` is false and `count` null, and a page may be shorter than `limit`, which is at most
        100. The balance is null if the token does not return it, as an ERC-1155. On a fork, those that have received
        it above the anchor, and up to 200 are sorted.
        """
        check_indexed(self._index)
        size, head, head_hash = page_size(limit), self._ledger.number, self._ledger.head_hash
        evm_env = self._resolver.evm_env(LATEST)

        def work() -> TokenHolderList:
            page = self._holders.page(token, evm_env, head, head_hash, cursor, size)
            return TokenHolderList(
                holders=[
                    TokenHolder(address=holder.address, balance=_quantity(holder.balance))
                    for holder in page.holders
                ],
                count=_quantity(page.total),
                is_sorted=page.is_sorted,
                next=None if page.following is None else Data(page.following),
            )

        return Offload(work)

    @method(NotInspectable, MalformedValue, served_by=ServedBy.REPLICA)
    def get_account_tokens(
        self, account: Address, cursor: Data | None = None, limit: Number | None = None
    ) -> Offload[AccountTokenList]:
        """Return the tokens that an account has ever received by a transfer, in the order of their addresses.

        Balances are what `balanceOf` returns at the head, also zero; null if the token does not return it, as an
        ERC-1155. `limit` is at most 100. A page asks tokens for two seconds, so it may be shorter and have a next one.
        On a fork, tokens that it has received above the anchor.
        """
        check_indexed(self._index)
        size, after, head = page_size(limit), _after(cursor), self._ledger.number
        calls = self._calls()

        def work() -> AccountTokenList:
            end = work_clock() + self._max_seconds
            holdings = self._index.tokens_of(account, after, size + 1, head)
            found: list[TokenBalance] = []
            for holding in cooperatively(holdings[:size]):
                if found and work_clock() > end:
                    break
                token = Address(holding.token)
                has_sum = holding.standard is not TokenStandard.ERC1155
                balance = calls.balance(token, account) if has_sum else None
                details = _details(token, holding.standard, calls.info(token))
                found.append(_with_balance(details, balance))
            read = len(found)
            following = Data(holdings[read - 1].token) if len(holdings) > read else None
            return AccountTokenList(tokens=found, next=following)

        return Offload(work)

    def _calls(self) -> TokenCalls:
        return TokenCalls(self._resolver.evm_env(LATEST))


def _after(cursor: Data | None) -> bytes:
    if cursor is None:
        return b""
    if len(cursor) != len(Address.zero()):
        raise MalformedValue("20 bytes of an earlier page", field="cursor")
    return bytes(cursor)


def _details(token: Address, standard: TokenStandard, info: TokenAnswers) -> TokenDetails:
    return TokenDetails(
        address=token,
        standard=STANDARDS[standard],
        name=info.name,
        symbol=info.symbol,
        # Items have none, whatever their contract says.
        decimals=info.decimals if standard is TokenStandard.ERC20 else None,
        total_supply=_quantity(info.supply),
    )


def _with_balance(details: TokenDetails, balance: int | None) -> TokenBalance:
    return TokenBalance(**msgspec.structs.asdict(details), balance=_quantity(balance))


def _is_called(token: TokenDetails, text: str) -> bool:
    symbol, name = (token.symbol or "").casefold(), (token.name or "").casefold()
    return symbol.startswith(text) or text in name


def _quantity(value: int | None) -> Quantity | None:
    return None if value is None else Quantity(value)


class TokenMovement(JsonModel, frozen=True, kw_only=True):
    """A transfer of a token, as its contract has logged it."""

    token: Annotated[Address, says("The contract.")]
    standard: Annotated[StandardName, says("By the form of the log.")]
    from_: Annotated[Address, says("Who gives; the zero address for what is minted.")]
    to: Annotated[Address, says("Who receives; the zero address for what is burnt.")]
    values: Annotated[list[Quantity], says("The amount, or how many of each item.")]
    ids: Annotated[list[Quantity], says("The items; none of an ERC-20.")]
    transaction_hash: Annotated[Hash32, says("The transaction.")]
    block_number: Annotated[Quantity, says("Its block.")]
    timestamp: Annotated[Quantity, says("When that was sealed.")]
    log_index: Annotated[Quantity, says("The index of the log in the block.")]


class TokenMovementList(JsonModel, frozen=True, kw_only=True):
    """Some transfers of tokens, the newest first, and the cursor of those before."""

    transfers: Annotated[list[TokenMovement], says("The transfers.")]
    next: Annotated[Data | None, says("The cursor of those before.")]


class EntresolTokenTransfers:
    """Transfers by the index of logs, which every node has."""

    prefix = "entresol"

    def __init__(self, ledger: Ledger, search: TransferSearch) -> None:
        self._ledger = ledger
        self._search = search

    @method(MalformedValue, served_by=ServedBy.REPLICA)
    def get_token_transfers(
        self, token: Address, cursor: Data | None = None, limit: Number | None = None
    ) -> Offload[TokenMovementList]:
        """Return the transfers of a token, the newest first.

        They are what its contract has logged by `Transfer`, `TransferSingle` and `TransferBatch`, and nothing checks
        that it is true. `values` are one amount of an ERC-20, or how many of each of the `ids`, at most 256. `limit` is
        at most 100. A page reads at most 1,000 blocks, for two seconds, so it may be shorter and have a next
        one. On a fork, those above
        its anchor.
        """
        size, before = page_size(limit), Before.parse(cursor, self._ledger.number)
        return Offload(lambda: self._shown(self._search.of_token(token, before, size)))

    @method(MalformedValue, served_by=ServedBy.REPLICA)
    def get_account_transfers(
        self, account: Address, cursor: Data | None = None, limit: Number | None = None
    ) -> Offload[TokenMovementList]:
        """Return the transfers of tokens from and to an account, the newest first.

        They are as those of `entresol_getTokenTransfers`, with its limits.
        """
        size, before = page_size(limit), Before.parse(cursor, self._ledger.number)
        return Offload(lambda: self._shown(self._search.of_account(account, before, size)))

    def _shown(self, page: TokenTransferPage) -> TokenMovementList:
        return TokenMovementList(
            transfers=[self._movement(transfer) for transfer in page.transfers],
            next=None if page.following is None else Data(page.following.pack()),
        )

    def _movement(self, found: FoundTransfer) -> TokenMovement:
        transfer, record = found.transfer, found.record
        return TokenMovement(
            token=transfer.token,
            standard=STANDARDS[transfer.standard],
            from_=transfer.sender,
            to=transfer.recipient,
            values=[Quantity(value) for value in transfer.values],
            ids=[Quantity(item) for item in transfer.ids],
            transaction_hash=record.transaction_hash(found.transaction),
            block_number=Quantity(found.block),
            timestamp=Quantity(record.header().timestamp),
            log_index=Quantity(found.log),
        )
