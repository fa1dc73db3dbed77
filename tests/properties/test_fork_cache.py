"""The cache of a fork: what is put is got."""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol.fork.cache.fork_cache import ForkCache, compact
from entresol.fork.cache.fork_database import CachedAccount, StartAnswers
from tests.support.fork.cached_forks import FORK, cache_at
from tests.support.run.examples import examples

words = st.binary(min_size=32, max_size=32)
addresses = st.binary(min_size=20, max_size=20)
blocks = st.one_of(st.just(FORK.hash), words)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
json = st.builds(
    lambda value, indent: msgspec.json.format(msgspec.json.encode(value), indent=indent),
    values,
    st.sampled_from((-1, 2)),
)
accounts = st.builds(
    CachedAccount,
    st.integers(0, (1 << 64) - 1),
    st.integers(0, (1 << 256) - 1),
    st.binary(max_size=40),
)
contents = st.fixed_dictionaries(
    {
        "accounts": st.dictionaries(addresses, accounts, max_size=4),
        "slots": st.dictionaries(st.tuples(addresses, words), st.binary(max_size=32), max_size=4),
        "hashes": st.dictionaries(st.integers(0, (1 << 63) - 1), words, max_size=4),
        "responses": st.dictionaries(
            st.tuples(st.text(min_size=1), json.map(compact)), json, max_size=3
        ),
        "answers": st.dictionaries(
            st.text(min_size=1).filter(lambda name: name != "anchor"), json, max_size=2
        ),
        "block": blocks,
    }
)


def put(cache: ForkCache, content: dict[str, Any]) -> None:
    """Put everything."""
    cache.put_start(StartAnswers(FORK, b"{}", content["answers"]))
    cache.put_accounts(content["block"], content["accounts"])
    cache.put_slots(content["block"], content["slots"])
    cache.put_hashes(content["hashes"])
    for (method, params), result in content["responses"].items():
        cache.put_response(method, params, result)


def check(cache: ForkCache, content: dict[str, Any]) -> None:
    """Check that everything that was put is there."""
    block = content["block"]
    assert cache.accounts(block, list(content["accounts"])) == content["accounts"]
    found = cache.slots(block, list(content["slots"]))
    assert found == {key: value.lstrip(b"\0") for key, value in content["slots"].items()}
    assert cache.hashes(list(content["hashes"])) == content["hashes"]
    for (method, params), result in content["responses"].items():
        assert cache.response(method, params) == compact(result)


@settings(max_examples=examples(150), deadline=None)
@given(content=contents)
def test_what_is_put_is_got(content: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "fork.sqlite"
        with closing(cache_at(file)) as cache:
            put(cache, content)
            check(cache, content)
        with closing(cache_at(file)) as cache:
            check(cache, content)
            put(cache, content)
            cache.flush()
