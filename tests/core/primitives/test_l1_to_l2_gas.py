"""The bounds of the L1 contracts for the gas limit of a priority transaction."""

from __future__ import annotations

import msgspec
import pytest

from entresol.primitives.l1_to_l2_gas import calldata_floor, max_gas_limit, min_gas_limit
from entresol.primitives.transactions import PriorityTransaction
from entresol.primitives.values import Address, Hash32


def request_with(data: bytes = b"", deps: int = 0, pubdata: int = 800) -> PriorityTransaction:
    return PriorityTransaction(
        sender=Address(b"\x01" * 20),
        to=Address(b"\x02" * 20),
        gas_limit=0,
        gas_per_pubdata_limit=pubdata,
        max_fee_per_gas=1,
        nonce=7,
        data=data,
        factory_dep_hashes=(Hash32(b"\x01" * 32),) * deps,
    )


def test_a_plain_deposit_needs_the_gas_of_the_network() -> None:
    assert min_gas_limit(request_with()) == 10_000 + 173_484 + 88 * 800


def test_large_data_raises_overhead_and_body() -> None:
    size = len(request_with(bytes(10_000)).to_abi())
    expected = 10 * size + 167_157 + -(-size * 1_656 // 544) + 88 * 800
    assert min_gas_limit(request_with(bytes(10_000))) == expected


@pytest.mark.parametrize(
    ("data", "floor"),
    [(b"", 21_000), (bytes(3), 21_030), (b"\1\0\xff", 21_090), (b"\1" * 20_000, 821_000)],
)
def test_the_calldata_floor_counts_zeros_once_and_other_bytes_four_times(
    data: bytes, floor: int
) -> None:
    assert calldata_floor(data) == floor


def test_the_calldata_floor_is_the_minimum_where_it_is_higher() -> None:
    assert min_gas_limit(request_with(b"\1" * 20_000)) == 821_000
    assert min_gas_limit(request_with(bytes(20_000))) > calldata_floor(bytes(20_000))


def test_dependencies_cost_what_calldata_of_their_size_costs() -> None:
    codes = (b"\1" * 32, bytes(31 * 32), b"\1" * 501 * 32)
    request = msgspec.structs.replace(request_with(b"\1" * 100, deps=3), factory_deps=codes)
    assert min_gas_limit(request) == 21_000 + 40 * (100 + 502 * 32) + 10 * 31 * 32


def test_each_dependency_costs_computation_and_published_bytes() -> None:
    size = len(request_with(deps=3).to_abi())
    body = max(167_157 + -(-size * 1_656 // 544) + 3 * 2_473, 173_484)
    assert min_gas_limit(request_with(deps=3)) == 10_000 + body + (88 + 3 * 64) * 800


@pytest.mark.parametrize(("pubdata", "body"), [(800, 72_000_000), (100, 99_001 * 100 - 1)])
def test_the_maximum_limit_bounds_body_gas_and_pubdata(pubdata: int, body: int) -> None:
    limit = max_gas_limit(request_with(pubdata=pubdata), 72_000_000)
    assert limit - 10_000 == body
    assert body // pubdata <= 99_000
