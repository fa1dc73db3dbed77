"""Values that a chain publishes on L1, for tests of their encodings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
from hypothesis import strategies as st

from entresol._native import keccak256
from entresol.errors import UnreadableData
from entresol.primitives.base_token import EtherPrice
from entresol.primitives.bytecode import EMPTY_CODE_HASH
from entresol.primitives.interop_roots import InteropRoot
from entresol.primitives.published.body import (
    BatchHeader,
    PublishedBatch,
    PublishedBlock,
    PublishedPrices,
)
from entresol.primitives.published.edits import EditsByHash, PublishedEdits
from entresol.primitives.published.genesis import PublishedAccount, PublishedGenesis
from entresol.primitives.published.rules import BlockRules
from entresol.primitives.records import StoredAccount, StoredChange
from entresol.primitives.values import Address, Hash32, Nonce8
from tests.support.run.examples import tries_many

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

T = TypeVar("T")

numbers: Final = st.one_of(st.integers(0, 300), st.integers(0, 2**64 - 1))
counts: Final = st.one_of(st.integers(1, 300), st.integers(1, 2**64 - 1))
gas_limits: Final = st.one_of(st.integers(0, 300), st.integers(0, 2**30))
addresses: Final = st.binary(min_size=20, max_size=20).map(Address)
hashes: Final = st.binary(min_size=32, max_size=32).map(Hash32)

rules: Final = st.builds(
    BlockRules,
    chain_id=counts,
    is_development=st.booleans(),
    fork=st.from_regex(r"[a-z][a-z0-9_]{0,31}", fullmatch=True),
    code_size_limit=st.none() | numbers,
    caps_gas=st.booleans(),
    gas_limit=gas_limits,
    beneficiary=addresses,
    minimal_l2_gas_price=numbers,
    compute_overhead_part=numbers,
    pubdata_overhead_part=numbers,
    batch_overhead_l1_gas=numbers,
    max_gas_per_batch=counts,
    max_pubdata_per_batch=counts,
)

digits: Final = st.integers(0, 2**256 - 1).map(lambda it: it.to_bytes(-(-it.bit_length() // 8)))
codes: Final = st.binary(min_size=1, max_size=60)
raws: Final = st.builds(
    lambda first, rest: bytes((first,)) + rest,
    st.sampled_from((1, 2, 4, 0x71, 0xC0, 0xF8, 0xFD)),
    st.binary(max_size=200),
)
prices: Final = st.builds(
    PublishedPrices,
    numbers,
    st.builds(EtherPrice, st.integers(1, 2**128 - 1), st.integers(1, 2**128 - 1)),
)
roots: Final = st.builds(InteropRoot.of, numbers, numbers, numbers, hashes)


@st.composite
def edits(draw: st.DrawFn) -> PublishedEdits:
    """Draw edits with accounts that exist or do not, with old code, with new code and with slots."""
    new_codes = draw(st.lists(codes, max_size=2, unique=True))
    hashes_of_code = [bytes(EMPTY_CODE_HASH), *map(keccak256, new_codes), bytes(32)]
    accounts = st.builds(StoredAccount, numbers, digits, st.sampled_from(hashes_of_code))
    slots = st.dictionaries(hashes.map(bytes), digits, max_size=3).map(
        lambda it: tuple(sorted(it.items()))
    )
    changes = draw(
        st.lists(
            st.builds(StoredChange, addresses.map(bytes), accounts, st.booleans(), slots)
            | st.builds(StoredChange, addresses.map(bytes), st.none(), st.booleans()),
            min_size=1,
            max_size=4,
            unique_by=lambda it: it.address,
        )
    )
    used = {change.account.code_hash for change in changes if change.account is not None}
    found = sorted(
        (new_code for new_code in new_codes if keccak256(new_code) in used), key=keccak256
    )
    return PublishedEdits(tuple(sorted(changes, key=lambda it: it.address)), tuple(found))


blocks: Final = st.one_of(
    st.builds(PublishedBlock, timestamp_step=st.integers(0, 2)),
    st.builds(
        PublishedBlock,
        timestamp_step=numbers,
        rules=st.none() | rules,
        gas_limit=st.none() | gas_limits,
        beneficiary=st.none() | addresses,
        base_fee=st.none() | numbers,
        prevrandao=st.none() | hashes,
        prices=st.none() | prices,
        edits=st.none() | edits() | st.builds(EditsByHash, hashes, counts),
        roots=st.lists(roots, max_size=3).map(tuple),
        deposits=st.integers(0, 5),
        transactions=st.lists(raws, max_size=4).map(tuple),
    ),
)


@st.composite
def batches(draw: st.DrawFn) -> PublishedBatch:
    """Draw a batch whose blocks say prices and rules only when they change."""
    header = draw(
        st.builds(
            BatchHeader,
            number=st.integers(1, 2**53 - 1),
            first_block=st.integers(1, 2**53 - 1),
            parent_hash=hashes,
            rules_hash=hashes,
        )
    )
    first = msgspec.structs.replace(draw(blocks), prices=draw(prices))
    found = [first, *draw(st.lists(blocks, max_size=8))]
    return PublishedBatch(header=header, blocks=_once(found), last_hash=draw(hashes))


def _once(blocks: Sequence[PublishedBlock]) -> tuple[PublishedBlock, ...]:
    found, last_prices, last_rules = [], None, None
    for block in blocks:
        prices = None if block.prices == last_prices else block.prices
        rules = None if block.rules == last_rules else block.rules
        found.append(msgspec.structs.replace(block, prices=prices, rules=rules))
        last_prices, last_rules = block.prices or last_prices, block.rules or last_rules
    return tuple(found)


accounts: Final = st.builds(
    PublishedAccount,
    address=addresses,
    nonce=numbers,
    balance=st.integers(0, 2**256 - 1),
    code=st.binary(max_size=60),
    slots=st.dictionaries(hashes, hashes.filter(any), max_size=3).map(
        lambda it: tuple(sorted(it.items()))
    ),
)
geneses: Final = st.builds(
    PublishedGenesis,
    rules=rules,
    number=numbers,
    timestamp=numbers,
    gas_limit=numbers,
    base_fee=numbers,
    beneficiary=addresses,
    extra_data=st.binary(max_size=40),
    difficulty=st.integers(0, 2**256 - 1),
    mix_hash=hashes,
    nonce=st.binary(min_size=8, max_size=8).map(Nonce8),
    accounts=st.lists(accounts, max_size=4, unique_by=lambda it: it.address).map(
        lambda it: tuple(sorted(it, key=lambda account: account.address))
    ),
)

DEVELOPMENT_RULES: Final = BlockRules(
    chain_id=270,
    is_development=True,
    fork="osaka",
    code_size_limit=24_576,
    caps_gas=False,
    gas_limit=30_000_000,
    beneficiary=Address.zero(),
    minimal_l2_gas_price=100_000_000,
    compute_overhead_part=0,
    pubdata_overhead_part=1_000_000,
    batch_overhead_l1_gas=800_000,
    max_gas_per_batch=200_000_000,
    max_pubdata_per_batch=500_000,
)


CODE: Final = bytes.fromhex("6001600155")

GIVEN_EDITS: Final = PublishedEdits(
    (
        StoredChange(b"\x44" * 20, None, destroyed=True),
        StoredChange(
            b"\x55" * 20,
            StoredAccount(1, b"\x01\x00", keccak256(CODE)),
            slots=((bytes(32), b""), (b"\x66" * 32, b"\x77")),
        ),
        StoredChange(b"\x88" * 20, StoredAccount(0, b"", bytes(EMPTY_CODE_HASH))),
    ),
    (CODE,),
)

EVERYTHING: Final = PublishedBatch(
    header=BatchHeader(
        number=300,
        first_block=1_000,
        parent_hash=Hash32(b"\x11" * 32),
        rules_hash=DEVELOPMENT_RULES.hash(),
    ),
    blocks=(
        PublishedBlock(
            timestamp_step=0,
            prices=PublishedPrices(10**9, EtherPrice(3_000, 1)),
            deposits=2,
            transactions=(b"\x02\xc0", b"\xc1\x80"),
        ),
        *(PublishedBlock(timestamp_step=1),) * 3,
        *(PublishedBlock(timestamp_step=2),) * 2,
        PublishedBlock(
            timestamp_step=12,
            rules=msgspec.structs.replace(
                DEVELOPMENT_RULES, fork="prague", code_size_limit=None, caps_gas=True
            ),
            gas_limit=40_000_000,
            beneficiary=Address(b"\x22" * 20),
            base_fee=7,
            prevrandao=Hash32(b"\x33" * 32),
            prices=PublishedPrices(2 * 10**9, EtherPrice(2**128 - 1, 10**18)),
            edits=GIVEN_EDITS,
            roots=(
                InteropRoot.of(9, 5, 1_700_000_000, Hash32(b"\x99" * 32)),
                InteropRoot.of(9, 6, 1_700_000_012, Hash32(b"\xaa" * 32)),
            ),
            deposits=1,
            transactions=(b"\x71\xc0",),
        ),
        PublishedBlock(timestamp_step=1, edits=EditsByHash(Hash32(b"\xbb" * 32), 2_000_000)),
    ),
    last_hash=Hash32(b"\xcc" * 32),
)
"""A batch with everything that a body can have; its transactions are not real ones."""

SMALL_BATCH: Final = PublishedBatch(
    header=BatchHeader(
        number=7,
        first_block=300,
        parent_hash=Hash32(b"\x11" * 32),
        rules_hash=DEVELOPMENT_RULES.hash(),
    ),
    blocks=(
        PublishedBlock(timestamp_step=2, prices=PublishedPrices(10**9), deposits=1),
        *(PublishedBlock(timestamp_step=1),) * 3,
        PublishedBlock(timestamp_step=1, transactions=(b"\x02\xc0", b"\xc1\x80")),
    ),
    last_hash=Hash32(b"\xcc" * 32),
)
"""The batch of the page's example; its transactions are not real ones."""

PUBLISHED_SMALL: Final = bytes.fromhex(
    "0128b52ffd207d2d0200b4030107ac0211d6f8bb34ffd87da4bbfc691b02176e07c7bf5b724804cd7ece46b308f142160f"
    "0544028094ebdc03010001038001020202c002c180cc031000fd1394e60d"
)
"""One way to publish it: other versions of zstd may compress it in another way."""

SMALL_GENESIS: Final = PublishedGenesis(
    rules=DEVELOPMENT_RULES,
    number=0,
    timestamp=1_700_000_000,
    gas_limit=30_000_000,
    base_fee=100_000_000,
    beneficiary=Address.zero(),
    extra_data=b"hi",
    difficulty=0,
    mix_hash=Hash32.zero(),
    nonce=Nonce8.zero(),
    accounts=(
        PublishedAccount(address=Address(b"\x01" * 20)),
        PublishedAccount(address=Address(b"\x02" * 20), balance=10**22),
        PublishedAccount(
            address=Address(b"\x03" * 20),
            nonce=1,
            code=CODE,
            slots=((Hash32.zero(), Hash32(b"\x00" * 31 + b"\x05")),),
        ),
    ),
)


def mutations(data: bytes) -> Iterator[bytes]:
    """Yield every truncation of some bytes, and changes of each of them: at night every one."""
    for at in range(len(data)):
        yield data[:at]
    for at, byte in enumerate(data):
        for other in others(byte):
            yield data[:at] + bytes((other,)) + data[at + 1 :]
    yield from (data + bytes((byte,)) for byte in (0, 1, 0x80, 0xFF))


def others(byte: int) -> set[int]:
    """Return other bytes than this one: all, or the next ones, that with another highest bit and those at borders."""
    if tries_many():
        return {*range(256)} - {byte}
    return {(byte + 1) % 256, (byte - 1) % 256, byte ^ 0x80, 0, 1, 0xFF} - {byte}


def check_mutations(
    data: bytes, decode: Callable[[bytes], T], encode: Callable[[T], bytes]
) -> None:
    """Check that every mutation is rejected by name, or is the one encoding of another value."""
    value = decode(data)
    assert encode(value) == data
    for other in mutations(data):
        found = read(other, decode)
        if isinstance(found, UnreadableData):
            assert 0 <= found.offset <= len(other)
        else:
            assert found != value
            assert encode(found) == other


def read(data: bytes, decode: Callable[[bytes], T]) -> T | UnreadableData:
    try:
        return decode(data)
    except UnreadableData as error:
        return error
