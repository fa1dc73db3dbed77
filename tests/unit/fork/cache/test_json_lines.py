"""Exports: sorted lines that diff and merge, and errors that name a line."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from entresol._native import keccak256
from entresol.errors import ForkCacheUnusable, MalformedForkFile
from entresol.fork.cache import json_lines
from entresol.fork.cache.cache import ForkCache
from entresol.fork.cache.rows import Row
from tests.support.fork.cached_forks import FORK, fill

HEADER = f'["entresol-fork",1,1,19000000,"0x{"aa" * 32}"]\n'
ADDRESS = "0x" + "11" * 20
WORD = "0x" + "07" * 32


def exported(file: Path) -> list[str]:
    """Write one value of each kind to a file, and return its lines."""
    with closing(ForkCache.memory()) as cache:
        fill(cache)
        (database,) = cache._files.read
        json_lines.write_file(file, FORK, database.rows())
    return file.read_text().splitlines(keepends=True)


def test_an_export_is_lines_that_people_can_read(tmp_path: Path) -> None:
    code_hash = keccak256(b"\x60\x01").hex()
    assert exported(tmp_path / "fork.jsonl") == [
        HEADER,
        '["absent","eth_getTransactionByHash",["0x02"]]\n',
        f'["account","anchor","{ADDRESS}",5,"0xde0b6b3a7640000","0x{code_hash}"]\n',
        f'["account","anchor","0x{"22" * 20}",0,"0x0","0x{keccak256(b"").hex()}"]\n',
        '["answer","anchor",{"number":"0x121eac0"}]\n',
        '["answer","eth_config",{"current":{}}]\n',
        f'["code","0x{code_hash}","0x6001"]\n',
        f'["hash",18999999,"0x{"dd" * 32}"]\n',
        '["response","eth_getBlockByNumber",["0x1",false],{"number":"0x1"}]\n',
        f'["slot","anchor","{ADDRESS}","0x{"00" * 31}07","0x2a"]\n',
        f'["slot","0x{"cc" * 32}","{ADDRESS}","0x{"00" * 31}07","0x0"]\n',
    ]


def test_an_export_that_is_read_and_written_again_is_the_same(tmp_path: Path) -> None:
    lines = exported(tmp_path / "fork.jsonl")
    with closing(json_lines.load(tmp_path / "fork.jsonl")) as database:
        json_lines.write_file(tmp_path / "again.jsonl", database.fork, database.rows())
    assert (tmp_path / "again.jsonl").read_text() == "".join(lines)


def test_lines_may_come_in_any_order_and_twice_as_a_merge_leaves_them(tmp_path: Path) -> None:
    header, *lines = exported(tmp_path / "fork.jsonl")
    shuffled = lines * 2
    random.Random(0).shuffle(shuffled)
    (tmp_path / "merged.jsonl").write_text("".join([header, *shuffled]))
    with closing(json_lines.load(tmp_path / "merged.jsonl")) as database:
        assert list(json_lines.dump(FORK, database.rows())) == [
            it.encode() for it in (header, *lines)
        ]


@pytest.mark.usefixtures("usual_recursion")
@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("<<<<<<< HEAD", "a conflict of a merge is left"),
        ("=======", "a conflict of a merge is left"),
        (">>>>>>> branch", "a conflict of a merge is left"),
        ("", "not a JSON array"),
        ('["slot","anchor"', "not a JSON array, or cut off"),
        ('{"slot": 1}', "not a JSON array"),
        ("[]", "a line starts with one of"),
        ("[1]", "a line starts with one of"),
        ('["balance",1]', "a line starts with one of"),
        ('["slot","anchor"]', "slot: 4 values are expected"),
        (f'["slot","anchor","{ADDRESS}","{WORD}",1]', "slot: "),
        (f'["slot","anchor","0x11","{WORD}","0x1"]', "slot: an address is 20 bytes"),
        (f'["slot","anchor","{ADDRESS}","{WORD}","0x{"1" * 65}"]', "slot: a quantity is 1 to 64"),
        (f'["account","anchor","{ADDRESS}",-1,"0x0","{WORD}"]', "account: a nonce is an integer"),
        (f'["account","anchor","{ADDRESS}",true,"0x0","{WORD}"]', "account: a string or an int"),
        (f'["code","{WORD}","0x6001"]', "code: the code has the hash 0x"),
        (f'["hash",-1,"{WORD}"]', "hash: a block number is an integer"),
        ('["response",1,[],null]', "response: a name is a string"),
        ('["response","eth_x",[],' + "[" * 100_000 + "]" * 100_000 + "]", "line 2"),
        ('["response","eth_x",[],nul]', "not a JSON array"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, line: str, problem: str) -> None:
    file = tmp_path / "fork.jsonl"
    file.write_text(f"{HEADER}{line}\n")
    with pytest.raises(MalformedForkFile) as caught:
        json_lines.load(file)
    assert str(caught.value).startswith(f"{file}, line 2: ")
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    "first",
    [
        "",
        "[]",
        "garbage",
        '["slot"]',
        "[{}]",
        '["entresol-fork",1,1,-1,"0x"]',
        HEADER.replace("aa", "a", 1),
    ],
)
def test_a_file_without_the_first_line_of_an_export_is_named(tmp_path: Path, first: str) -> None:
    (tmp_path / "fork.jsonl").write_text(first)
    with pytest.raises(MalformedForkFile, match=r"fork\.jsonl, line 1: "):
        json_lines.load(tmp_path / "fork.jsonl")


def test_an_export_of_a_newer_version_is_named(tmp_path: Path) -> None:
    (tmp_path / "fork.jsonl").write_text('["entresol-fork",2,"something else"]\n')
    with pytest.raises(MalformedForkFile, match="version 2, and this entresol knows up to 1"):
        json_lines.load(tmp_path / "fork.jsonl")


def test_two_lines_that_contradict_are_named_with_both_values(tmp_path: Path) -> None:
    lines = [f'["hash",7,"0x{digits * 32}"]\n' for digits in ("01", "01", "02")]
    (tmp_path / "fork.jsonl").write_text("".join([HEADER, *lines]))
    with pytest.raises(MalformedForkFile, match=r"line 4: two lines differ: .* 0x0101.* 0x0202"):
        json_lines.load(tmp_path / "fork.jsonl")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ForkCacheUnusable, match=r"fork\.jsonl"):
        json_lines.load(tmp_path / "fork.jsonl")


def test_an_export_that_cannot_be_written_leaves_the_one_before(tmp_path: Path) -> None:
    lines = exported(tmp_path / "fork.jsonl")

    def broken() -> Iterator[Row]:
        yield Row("hash", (1,), (bytes(32),))
        raise RuntimeError

    with pytest.raises(RuntimeError):
        json_lines.write_file(tmp_path / "fork.jsonl", FORK, broken())
    assert (tmp_path / "fork.jsonl").read_text() == "".join(lines)
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.usefixtures("usual_recursion")
@pytest.mark.parametrize("json", [b"", b"nul", b'{"a":', b"[1]]", b'"\xff"', b"[" * 100_000])
def test_only_json_is_kept(json: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        json_lines.compact(json)


def test_numbers_and_strings_stay_as_they_are_written() -> None:
    json = b'{"a": 1.0e400, "b" : [123456789012345678901234567890, "\\u0041"]}'
    assert json_lines.compact(json) == json.replace(b" ", b"")
