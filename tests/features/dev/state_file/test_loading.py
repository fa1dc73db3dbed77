"""Building a chain from a state file."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from entresol.chain.base_fee import L2BaseFee
from entresol.chain.chain import Chain
from entresol.chain.fees import FeeModel
from entresol.chain.genesis.stored_genesis import identity
from entresol.chain.ledger import rebuild
from entresol.errors import HistoryNotLoaded, InvalidStateFile, NotPossible
from entresol.features.dev.reverts import Reverts
from entresol.features.dev.state_file.loading import build_foreign, build_genesis, build_own
from entresol.features.dev.state_file.reading import StateFile, read_state_file
from entresol.features.dev.state_file.writing import ChainDump, write_state_file
from entresol.primitives.values import Address
from tests.support.chain.dev_chain import open_importing, root, roots, stored_root
from tests.support.chain.state_files import ALICE, OWN, anvil_file, layer_one
from tests.support.rollup.settling_chain import SettlingChain

SENDER = Address.parse(ALICE)


@pytest.fixture
def chain() -> Iterator[Chain]:
    opened = layer_one()
    yield opened
    opened.close()


def read(document: Any) -> StateFile:
    return read_state_file(json.dumps(document).encode())


def load(chain: Chain, document: Any) -> None:
    store = build_foreign(read(document), chain.genesis, chain.identity)
    Reverts(chain).replace(store)
    store.close()


def test_blocks_have_the_hashes_of_the_file_and_the_state_is_merged(chain: Chain) -> None:
    document = anvil_file()
    load(chain, document)
    assert chain.number == 2
    for entry in document["transactions"]:
        assert str(chain.blocks.block_hash(entry["block_number"])) == entry["block_hash"]
    account = chain.latest.account(SENDER)
    assert account is not None
    assert account.nonce == document["accounts"][ALICE]["nonce"]
    assert hex(account.balance) == document["accounts"][ALICE]["balance"]
    own = chain.latest.account(OWN)
    assert own is not None
    assert own.balance == 7


def test_a_nonce_does_not_get_lower(chain: Chain) -> None:
    document = anvil_file()
    document["accounts"][str(OWN)] = {"nonce": 0, "balance": "0x9", "code": "0x"}
    load(chain, document)
    account = chain.latest.account(OWN)
    assert account is not None
    assert (account.nonce, account.balance) == (1, 9)


def test_states_of_earlier_blocks_are_read_if_the_file_has_them(chain: Chain) -> None:
    document = anvil_file()
    load(chain, document)
    (first,) = [it for it in document["transactions"] if it["block_number"] == 1]
    states = dict(document["historical_states"])
    was = states[first["block_hash"]]["accounts"][ALICE]
    account = chain.state_after(1).account(SENDER)
    assert account is not None
    assert hex(account.balance) == was["balance"]


def test_states_of_earlier_blocks_are_rejected_if_the_file_has_none(chain: Chain) -> None:
    document = {**anvil_file(), "historical_states": None}
    load(chain, document)
    for number in (0, 1):
        with pytest.raises(HistoryNotLoaded, match="from block 2 on"):
            chain.state_after(number)
        with pytest.raises(HistoryNotLoaded):
            Reverts(chain).plan_roll_back(number).apply()
    assert chain.number == 2


def test_blocks_follow_that_verify_and_whose_tables_can_be_rebuilt(chain: Chain) -> None:
    load(chain, anvil_file())
    chain.edit(SENDER, lambda it: it.set_balance(SENDER, 5))
    chain.builder.seal()
    chain.builder.seal()
    chain.verify()
    proof = chain.state_trie.prove(chain.head.state_root, SENDER)
    assert proof.balance == 5
    rebuild(chain.ledger.store)
    assert chain.state_trie.prove(chain.blocks.header(2).state_root, OWN).balance == 7


def test_a_file_without_its_best_block_is_rejected_in_the_words_of_anvil(chain: Chain) -> None:
    with pytest.raises(NotPossible, match="Best hash not found for best number 9"):
        load(chain, {**anvil_file(), "best_block_number": 9})


def test_a_gap_between_blocks_is_named(chain: Chain) -> None:
    document = anvil_file()
    document["blocks"] = [it for it in document["blocks"] if it["header"]["number"] != "0x1"]
    with pytest.raises(InvalidStateFile, match="blocks: block 1 is missing"):
        load(chain, document)


def test_a_dump_of_our_own_is_restored_exactly(chain: Chain) -> None:
    load(chain, {**anvil_file(), "historical_states": None})
    for _ in range(3):
        chain.builder.seal()
    part = ChainDump(chain).part()
    store = build_own(part, chain.genesis, chain.identity)
    before = [chain.blocks.record(number) for number in range(chain.number + 1)]
    reverts = Reverts(chain)
    reverts.replace(build_genesis(chain.genesis, chain.identity, chain.ledger.genesis_fields))
    assert (chain.number, chain.ledger.store.loaded.last) == (0, 0)
    reverts.replace(store)
    assert [chain.blocks.record(number) for number in range(chain.number + 1)] == before
    chain.verify()
    assert chain.ledger.store.loaded.first == 2


def test_a_dump_is_written_in_pieces_that_do_not_grow_with_the_chain(chain: Chain) -> None:
    def longest() -> int:
        return max(map(len, ChainDump(chain).written()))

    chain.builder.seal()
    short = longest()
    for _ in range(50):
        chain.builder.seal()
    assert longest() <= short + 2


def test_a_record_that_does_not_lead_to_its_state_root_is_rejected(chain: Chain) -> None:
    chain.edit(SENDER, lambda it: it.set_balance(SENDER, 5))
    chain.builder.seal()
    part = ChainDump(chain).part()
    broken = msgspec.structs.replace(part.records[1], changes=())
    for records in ((part.records[0], broken), part.records[1:]):
        wrong = msgspec.structs.replace(part, records=records)
        with pytest.raises(InvalidStateFile, match="records: block"):
            build_own(wrong, chain.genesis, chain.identity)


def test_rows_of_other_tables_are_rejected_and_nothing_is_left(
    chain: Chain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = msgspec.structs.replace(ChainDump(chain).part(), rows=((b"mhead", b"\x01"),))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(InvalidStateFile, match="rows of an unknown table") as rejection:
        build_own(part, chain.genesis, chain.identity)
    # Whoever handles the error still has it, and its frames.
    assert rejection.tb is not None
    assert list(tmp_path.iterdir()) == []


def test_a_chain_that_starts_at_a_number_is_dumped_and_loaded(chain: Chain) -> None:
    genesis = msgspec.structs.replace(chain.genesis, number=100)
    store = build_genesis(genesis, identity(genesis), chain.ledger.genesis_fields)
    Reverts(chain).replace(store)
    store.close()
    chain.builder.seal()
    document = msgspec.json.decode(write_state_file(ChainDump(chain).written(), packed=False))
    assert (document["best_block_number"], len(document["blocks"])) == (101, 2)
    for part in (True, False):
        loaded = layer_one()
        file = read(document)
        own = file.part_of(chain.rules.chain_id)
        assert own is not None
        source = (
            build_own(own, loaded.genesis, loaded.identity)
            if part
            else build_foreign(file, loaded.genesis, loaded.identity)
        )
        Reverts(loaded).replace(source)
        source.close()
        assert (loaded.ledger.first, loaded.number) == (100, 101)
        assert loaded.head.hash() == chain.head.hash()
        loaded.close()


def test_a_chain_on_disk_is_replaced_by_what_a_worker_has_read(
    chain: Chain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_disk = Chain.open(tmp_path / "chain", chain.rules, chain.genesis)
    on_disk.builder.seal()
    source = build_genesis(chain.genesis, on_disk.identity, chain.ledger.genesis_fields)
    with ThreadPoolExecutor(1) as worker:
        worker.submit(on_disk.ledger.store.prepare_replace, source).result()
    monkeypatch.setattr(source._db, "scan", None)
    Reverts(on_disk).replace(source)
    source.close()
    assert on_disk.number == 0
    on_disk.close()
    again = Chain.open(tmp_path / "chain", chain.rules, chain.genesis)
    assert (again.number, again.head) == (0, on_disk.head)
    again.close()


def test_imports_of_roots_are_dumped_restored_and_rebuilt() -> None:
    chain = open_importing()
    chain.schedule.seal_on_request()
    chain.filler.roots.extend(roots(3))
    chain.builder.seal()
    assert b'"0x7d"' in b"".join(ChainDump(chain).written())
    store = build_own(ChainDump(chain).part(), chain.genesis, chain.identity)
    Reverts(chain).replace(store)
    chain.verify()
    rebuild(chain.ledger.store)
    assert stored_root(chain, 3) == root(3).root
    store.close()
    chain.close()


def test_a_dump_has_the_prices_and_the_rules_of_its_last_block() -> None:
    model = FeeModel()
    with closing(SettlingChain.begin(fees=L2BaseFee(model), publishes=True)) as chain:
        chain.builder.seal()
        model.observe(2 * model.l1_gas_price)
        dumped = chain.ledger.store
        assert dumped.rules.current is not None
        dumped.rules.current = msgspec.structs.replace(dumped.rules.current, gas_limit=12_345_678)
        chain.builder.seal()
        part = ChainDump(chain).part()
        with closing(build_own(part, chain.genesis, chain.identity)) as restored:
            assert restored.prices.at(2) == dumped.prices.at(2) != dumped.prices.at(1)
            assert restored.rules.at(2) == dumped.rules.current != dumped.rules.at(1)


def test_a_failed_import_of_roots_in_a_dump_is_rejected() -> None:
    chain = open_importing()
    chain.schedule.seal_on_request()
    chain.filler.roots.extend(roots(1))
    chain.builder.seal()
    part = ChainDump(chain).part()
    first, second = part.records
    result = msgspec.structs.replace(second.results[0], succeeded=False)
    broken = msgspec.structs.replace(second, results=(result,))
    wrong = msgspec.structs.replace(part, records=(first, broken))
    with pytest.raises(InvalidStateFile, match="a system transaction may not fail"):
        build_own(wrong, chain.genesis, chain.identity)
    chain.close()
