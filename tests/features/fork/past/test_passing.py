"""How parameters reach a remote: in the form that nodes take, and always the same."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import Raw

from entresol.errors import AnchorLost, NotRecorded, RemoteRejected
from entresol.features.fork.past.passing import PassedReads, UnknownHash
from entresol.primitives.values import Address, Hash32, Quantity, Quantity64
from entresol.rpc.jsonrpc.method import method
from entresol.rpc.jsonrpc.served_method import methods_of
from entresol.rpc.types.block_id import LATEST, BlockHash, BlockHeight, BlockId, TransactionHash
from entresol.rpc.types.number import HexOrInteger, Number

HASH = Hash32(b"\xab" * 32)
WORD = f"0x{5:064x}"


class Methods:
    """Methods with parameters of every form."""

    prefix = "x"

    @method()
    def height(self, block: BlockHeight) -> None: ...

    @method()
    def page(self, block: BlockId, page: Number, size: Number) -> None: ...

    @method()
    def slot(self, address: Address, slot: HexOrInteger, block: BlockId = LATEST) -> None: ...

    @method()
    def proof(self, address: Address, keys: list[Quantity], block: BlockId = LATEST) -> None: ...

    @method()
    def index(self, block_hash: BlockHash, index: Quantity64) -> None: ...

    @method()
    def traced(self, sent: TransactionHash, config: dict[str, Any] | None = None) -> None: ...


class Recorder:
    """A remote that records what it is asked for."""

    host = "http://remote:8545"

    class anchor:  # noqa: N801 - an attribute of the remote
        number = 100

    def __init__(self) -> None:
        self.params: Any = None

    async def read(self, _method: str, params: Any, **_options: Any) -> Raw:
        self.params = params
        return Raw(b'{"number":"0x5","blockNumber":"0x5"}')

    async def past_block(self, block: Any) -> Any:
        return block

    def hash_at(self, _number: int) -> None:
        return None


METHODS = methods_of([Methods()])
ADDRESS = Address(b"\x01" * 20)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("x_height", [Number(5)], [5]),
        ("x_height", [5], [5]),
        ("x_page", [LATEST, Number(1), Number(10)], ["0x5", 1, 10]),
        ("x_slot", [ADDRESS, HexOrInteger(5), LATEST], [str(ADDRESS), WORD, "0x5"]),
        ("x_slot", [bytes(ADDRESS), 5, LATEST], [str(ADDRESS), WORD, "0x5"]),
        ("x_proof", [ADDRESS, [Quantity(5)], LATEST], [str(ADDRESS), [WORD], "0x5"]),
    ],
)
def test_arguments_are_written_as_nodes_take_them(
    name: str, arguments: list[Any], expected: list[Any]
) -> None:
    remote = Recorder()
    reads = PassedReads(remote)  # type: ignore[arg-type]
    asyncio.run(reads.by_number(METHODS[name], arguments, 5))
    assert remote.params == expected


def test_hashes_of_getters_are_plain_bytes() -> None:
    remote = Recorder()
    reads = PassedReads(remote)  # type: ignore[arg-type]
    unknown = UnknownHash(HASH, is_transaction=False)
    asyncio.run(reads.by_hash(METHODS["x_index"], [bytes(HASH), 3], unknown))
    assert remote.params == [str(HASH), "0x3"]


def test_a_trace_that_is_left_to_the_remote_has_its_options() -> None:
    remote = Recorder()
    reads = PassedReads(remote)  # type: ignore[arg-type]
    config = {"tracer": "callTracer"}
    asyncio.run(reads.of_sealed(METHODS["x_traced"], [HASH, config], 5))
    assert remote.params == [str(HASH), config]
    asyncio.run(reads.of_sealed(METHODS["x_traced"], [HASH, None], 5))
    assert remote.params == [str(HASH)]


class Otterscan:
    """A method whose block is a number in one way or the other."""

    prefix = "ots"

    @method()
    def get_block_transactions(self, block: BlockId, page: Number, size: Number) -> None: ...


class Choosy(Recorder):
    """A remote that takes blocks in one form alone; one that is offline has recorded that form."""

    def __init__(self, form: type, error: Exception | None = None) -> None:
        super().__init__()
        self.form = form
        self.error = error or RemoteRejected(self.host, "ots", -32602, "invalid type")
        self.asked: list[object] = []

    async def read(self, _method: str, params: Any, **options: Any) -> Raw:
        self.asked.append(params[0])
        if not isinstance(params[0], self.form):
            raise self.error
        return await super().read(_method, params, **options)


@pytest.mark.parametrize("error", [None, NotRecorded("the response", "entresol")])
@pytest.mark.parametrize(("form", "asked"), [(int, [5]), (str, [5, "0x5"])])
def test_the_block_of_a_page_of_otterscan_is_an_integer_or_hex(
    form: type, asked: list[object], error: Exception | None
) -> None:
    remote = Choosy(form, error)
    (pages,) = methods_of([Otterscan()]).values()
    asyncio.run(PassedReads(remote).by_number(pages, [LATEST, Number(0), Number(10)], 5))  # type: ignore[arg-type]
    assert remote.asked == asked


def test_a_remote_that_fails_a_page_otherwise_is_asked_once() -> None:
    remote = Choosy(str, RemoteRejected("http://remote", "ots", -32000, "too busy"))
    (pages,) = methods_of([Otterscan()]).values()
    with pytest.raises(RemoteRejected, match="too busy"):
        asyncio.run(PassedReads(remote).by_number(pages, [LATEST, Number(0), Number(9)], 5))  # type: ignore[arg-type]
    assert remote.asked == [5]


class Reorganised(Recorder):
    """A remote that has replaced block 5; `understands` says whether it takes objects for blocks."""

    def __init__(self, *, understands: bool = True, now: bytes = b"\xcd" * 32) -> None:
        super().__init__()
        self.understands = understands
        self.now = Hash32(now)

    async def read(self, _method: str, params: Any, **options: Any) -> Raw:
        if options.get("at") is not None and self.now != HASH:
            raise AnchorLost(self.host, options["at"], HASH, self.now)
        named = params[-1]
        if isinstance(named, dict):
            if not self.understands:
                raise RemoteRejected(self.host, _method, -32602, "invalid argument 1")
            if named["blockHash"] != str(self.now):
                raise RemoteRejected(self.host, _method, -32000, "header for hash not found")
        return Raw(b'"0x7"')

    def hash_at(self, _number: int) -> Hash32:  # type: ignore[override]
        return HASH


class Reads:
    """Methods of nodes."""

    prefix = "eth"

    @method()
    def get_balance(self, address: Address, block: BlockId = LATEST) -> None: ...

    @method()
    def get_block_by_number(self, block: BlockId, full: bool) -> None: ...


READS = methods_of([Reads()])


@pytest.mark.parametrize("understands", [True, False])
def test_a_state_of_a_block_that_was_replaced_is_an_error(understands: bool) -> None:
    reads = PassedReads(Reorganised(understands=understands))  # type: ignore[arg-type]
    with pytest.raises(AnchorLost, match=r"block 5 of the fork, 0xabab.*was orphaned"):
        asyncio.run(reads.state(READS["eth_getBalance"], [ADDRESS, LATEST], 5))


@pytest.mark.parametrize("understands", [True, False])
def test_a_state_of_a_block_that_may_be_replaced_is_read_of_that_block(understands: bool) -> None:
    remote = Reorganised(understands=understands, now=bytes(HASH))
    reads = PassedReads(remote)  # type: ignore[arg-type]
    found = asyncio.run(reads.state(READS["eth_getBalance"], [ADDRESS, LATEST], 5))
    assert bytes(found) == b'"0x7"'


def test_the_anchor_is_served_as_it_was_read() -> None:
    class Anchored(Reorganised):
        class anchor:  # noqa: N801 - an attribute of the remote
            number = 5
            json = b'{"number":"0x5","transactions":[]}'

    reads = PassedReads(Anchored())  # type: ignore[arg-type]
    found = asyncio.run(reads.by_number(READS["eth_getBlockByNumber"], [LATEST, False], 5))
    assert bytes(found) == Anchored.anchor.json
