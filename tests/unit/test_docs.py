"""The pages are true: references, examples, links and names."""

from __future__ import annotations

import asyncio
import doctest
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from docs.tools.examples.example import Example
from docs.tools.examples.examples import examples
from docs.tools.generate import renew
from docs.tools.pages import (
    DECISION,
    decisions_page,
    errors_page,
    errors_reference,
    methods_page,
    methods_reference,
    settings_page,
)
from docs.tools.recording import Exchange, Recorder, example_of, record_all
from docs.tools.rpc_markdown import abridged
from docs.tools.site import staged_names
from entresol.errors import NonceTooLow
from entresol.node.config.schema import SETTINGS
from entresol.node.metrics import request_memory
from entresol.rpc.namespaces.rejected import DEVELOPMENT, ETHEREUM
from entresol.server.config import ServerConfig
from entresol.server.limits import RequestBytes
from tests.support.chain.api_client import ApiClient
from tests.support.declared_results import check_response, declared_methods

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(str(it.relative_to(ROOT)) for it in (*ROOT.glob("*.md"), *DOCS.rglob("*.md")))
DECISIONS = [page for page in PAGES if re.search(r"decisions/\d", page)]
FENCED = re.MULTILINE | re.DOTALL
WHERE = "give it one line in docs/tools/examples, then run `make docs`"
REJECTED = {row.name for row in (*ETHEREUM, *DEVELOPMENT)}
_WITHOUT_CONTRACT = "the example has no token; tests/features/dev/methods/test_tokens.py has"
_ELSEWHERE = "tests/conformance/test_declared_results.py decodes it"
NOT_DECODED = {
    "anvil_dealERC20": _WITHOUT_CONTRACT,
    "anvil_getBlobByHash": _ELSEWHERE,
    "anvil_getBlobsByTransactionHash": _ELSEWHERE,
    "anvil_getIntervalMining": "tests/features/dev/methods/test_mining.py decodes it",
    "anvil_setERC20Allowance": _WITHOUT_CONTRACT,
    "anvil_setERC20Balance": _WITHOUT_CONTRACT,
    "entresol_getBundleProblem": "no relay has given the bundle of the example up",
    "entresol_addChain": "tests/features/adding/integration/test_add_chain.py decodes it",
    "entresol_setBaseTokenRatio": "tests/integration/test_base_token_prices.py decodes it",
    "hardhat_dealERC20": _WITHOUT_CONTRACT,
    "tenderly_addErc20Balance": _WITHOUT_CONTRACT,
    "tenderly_setErc20Balance": _WITHOUT_CONTRACT,
    "tenderly_setMaxErc20Balance": _WITHOUT_CONTRACT,
    "trace_get": _ELSEWHERE,
    "zks_getTimestampAsserter": "there is no such contract",
}
"""The methods whose example has no result, or null in place of one, and why."""

Recorded = tuple[Mapping[str, Any], dict[str, Exchange]]


@pytest.fixture(scope="module")
def recorded() -> Recorded:
    """Return the methods of a fresh node, and its responses to the examples."""
    return asyncio.run(record_all())


@pytest.fixture(scope="module")
def known() -> dict[str, Example]:
    async def read() -> dict[str, Example]:
        recorder = Recorder()
        try:
            return examples(await recorder.world())
        finally:
            await recorder.close()

    return asyncio.run(read())


def test_every_method_has_an_example(recorded: Recorded) -> None:
    document, exchanges = recorded
    missing = [it["name"] for it in document["methods"] if it["name"] not in exchanges]
    assert not missing, f"no example: {', '.join(missing)}; {WHERE}"


def test_every_example_is_of_a_method(recorded: Recorded, known: dict[str, Example]) -> None:
    names = {it["name"] for it in recorded[0]["methods"]}
    strays = sorted(set(known) - names)
    assert not strays, f"docs/tools/examples has examples of no method: {', '.join(strays)}"


def test_only_examples_of_rejections_are_rejected(
    recorded: Recorded, known: dict[str, Example]
) -> None:
    failed = {
        name: it.response["error"] for name, it in recorded[1].items() if "error" in it.response
    }
    rejected = {name for name in recorded[1] if (it := example_of(name, known)) and it.rejected}
    assert set(failed) == rejected, f"docs/tools/examples: {failed}"


def test_every_method_returns_what_it_declares(recorded: Recorded) -> None:
    methods = declared_methods()
    decoded = {
        name
        for name, it in recorded[1].items()
        if check_response(methods, it.request, it.response)
        and (it.response["result"] is not None or methods[name].result is type(None))
    }
    assert set(recorded[1]) - decoded == set(NOT_DECODED) | REJECTED


def test_what_every_method_returns_satisfies_its_schema(recorded: Recorded) -> None:
    jsonschema = import_module("jsonschema")
    document, exchanges = recorded
    for method in document["methods"]:
        response = exchanges[method["name"]].response
        if "result" in response:
            schema = {**method["result"]["schema"], "components": document["components"]}
            found = jsonschema.Draft202012Validator(schema).iter_errors(response["result"])
            assert [it.message for it in found] == [], method["name"]


def test_every_method_has_its_line_on_the_page(recorded: Recorded) -> None:
    document = recorded[0]
    assert methods_page(document) == (DOCS / "rpc.md").read_text(encoding="utf-8"), (
        "run `make docs`"
    )


def test_the_page_of_the_site_has_the_responses_of_a_fresh_node(recorded: Recorded) -> None:
    document, exchanges = recorded
    shown = dict(exchanges_in(methods_reference(document, exchanges)))
    assert shown == {
        name: [abridged(it.request), abridged(it.response)] for name, it in exchanges.items()
    }


def test_every_setting_is_on_its_page() -> None:
    page = settings_page()
    assert page == (DOCS / "config.md").read_text(encoding="utf-8"), "run `make docs`"
    for setting in SETTINGS.all:
        assert setting.description, setting.key
        if SETTINGS.sections[setting.section].mirror is not None:
            continue
        row = next(line for line in page.splitlines() if f"| `{setting.key}` |" in line)
        assert f"`{setting.variable}`" in row
        assert setting.flag.removeprefix("--") in row


def test_the_file_on_the_page_can_be_used(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", settings_page(), re.DOTALL)
    file = tmp_path / "node.toml"
    file.write_text(text, encoding="utf-8")
    config = SETTINGS.load({}, {}, file)
    assert (config.chain.block_time, config.server.port) == (1.0, 4000)


def test_a_stale_page_is_rewritten_or_reported(tmp_path: Path) -> None:
    current, stale, missing = (tmp_path / name for name in ("a.md", "b.md", "c.md"))
    current.write_text("same", encoding="utf-8")
    stale.write_text("old", encoding="utf-8")
    pages = {current: "same", stale: "new", missing: "new"}
    with pytest.raises(SystemExit, match=r"b\.md, .*c\.md; run `make docs`"):
        renew(pages, check=True)
    assert (stale.read_text(encoding="utf-8"), missing.exists()) == ("old", False)
    renew(pages, check=False)
    assert (stale.read_text(encoding="utf-8"), missing.read_text(encoding="utf-8")) == (
        "new",
        "new",
    )
    renew(pages, check=True)


def test_every_error_is_on_its_page() -> None:
    assert errors_page() == (DOCS / "errors.md").read_text(encoding="utf-8"), "run `make docs`"
    page = errors_reference()
    assert f"| &emsp;`NonceTooLow` | -32000 | {NonceTooLow.__doc__} |" in page
    assert "| &emsp;`ExecutionReverted` | 3 |" in page
    assert "| `RequestError` | -32600 |" in page


def test_codes_that_are_not_of_a_class_are_on_the_page_too() -> None:
    page = errors_page()
    assert "| -32007 | Request is too big. |" in page
    assert f"| -38010 | In `eth_simulateV1`: {NonceTooLow.__doc__} |" in page


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_to_a_page_and_its_heading(page: str) -> None:
    broken = [link for link in links_of(page) if not leads_somewhere(page, link)]
    assert broken == []


def test_every_page_has_a_place_on_the_site() -> None:
    config = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    pages = {name for name in staged_names(ROOT).values() if name.endswith(".md")}
    decisions = {page for page in pages if page.startswith("decisions/0")}
    listed = set(pages_in(config["project"]["nav"]))
    assert listed == pages - decisions, "give it a line in the navigation of zensical.toml"


@pytest.mark.parametrize("page", DECISIONS)
def test_a_decision_has_context_decision_and_consequence(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    found = DECISION.match(text)
    assert found, "below its title a decision has its package"
    parts = re.findall(r"^\*\*(\w+)\.\*\*", text, re.MULTILINE)
    assert [part for part in parts if part != "Measurement"] == [
        "Context", "Decision", "Consequence",
    ]  # fmt: skip


def test_the_index_of_the_decisions_is_current() -> None:
    index = (DOCS / "decisions" / "README.md").read_text(encoding="utf-8")
    assert index == decisions_page(DOCS / "decisions"), "run `make docs`"


@pytest.mark.parametrize("page", [page for page in PAGES if page != "CHANGELOG.md"])
def test_the_pages_name_what_is_in_the_sources(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    # The context of a decision may name what it removed.
    text = re.sub(r"^\*\*Context\.\*\*.*?(?=^\*\*)", "", text, flags=FENCED)
    names = {it.partition(".")[0] for it in re.findall(r"`([A-Z]\w*[a-z]\w*(?:\.\w+)*)`", text)}
    modules = {it.replace(".", "/") for it in re.findall(r"`(entresol(?:\.\w+)+)`", text)}
    files = set(re.findall(r"`((?:[\w-]+/)*\w+\.(?:py|rs|sol))`", text))
    unknown = {name for name in names if name not in words_of_the_sources()}
    unknown |= {
        module for module in modules if not exists(module) and not exists(module.rpartition("/")[0])
    }
    unknown |= {
        file for file in files if not any(str(path).endswith(f"/{file}") for path in source_files())
    }
    assert unknown == set()


@cache
def words_of_the_sources() -> set[str]:
    """Return every word in the Python, Rust and Solidity of the project and its tests, and the names of files."""
    texts = (
        path.read_text(encoding="utf-8")
        for path in source_files()
        if path.suffix in {".py", ".pyi", ".rs", ".sol"}
    )
    stems = {path.stem for path in source_files()}
    return stems | set(re.findall(r"\w+", " ".join(texts)))


@cache
def source_files() -> list[Path]:
    """Return the files of the project, without what was built or installed."""
    names = ("src", "contracts", "tests", "benchmarks", "docs", "tools")
    folders = [*(ROOT / name for name in names), *(ROOT / "native").glob("*/src")]
    files = (path for folder in folders for path in folder.rglob("*.*"))
    return [path for path in files if "node_modules" not in path.parts]


def exists(module: str) -> bool:
    """Tell whether there is a module with this path below `src`, also a stub."""
    path = ROOT / "src" / module
    return path.is_dir() or any(path.with_suffix(it).exists() for it in (".py", ".pyi"))


def pages_in(navigation: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the pages of a site's navigation."""
    for item in navigation:
        for value in item.values():
            yield from pages_in(value) if isinstance(value, list) else (value,)


def links_of(page: str) -> Iterator[str]:
    """Yield the targets of a page's links and pictures, without those that lead to other sites."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(encoding="utf-8"), flags=FENCED)
    for target in re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"", text):
        link = "".join(target)
        if "://" not in link:
            yield link


def leads_somewhere(page: str, link: str) -> bool:
    """Tell whether a link from a page leads to a file, and to a heading of it if it names one."""
    name, _, heading = link.partition("#")
    target = (ROOT / page).parent / name if name else ROOT / page
    if not heading:
        return target.exists()
    return target.is_file() and heading in anchors_of(target.read_text(encoding="utf-8"))


def anchors_of(text: str) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=FENCED)
    headings = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def exchanges_in(page: str) -> Iterator[tuple[str, list[Any]]]:
    """Yield the name of each method on the page, with the request and the response of its example."""
    decoder = json.JSONDecoder()
    for name, text in re.findall(
        r"^### (\S+)\n(?:(?!^###).)*?```json\n(.*?)```", page, re.MULTILINE | re.DOTALL
    ):
        request, end = decoder.raw_decode(text)
        response, _ = decoder.raw_decode(text[end:].lstrip())
        yield name, [request, response]


@pytest.mark.parametrize("page", ["README.md", "docs/library.md"])
def test_the_sessions_of_a_page_give_what_they_show(page: str) -> None:
    failed, attempted = doctest.testfile(str(ROOT / page), module_relative=False)
    assert attempted > 0
    assert failed == 0


def test_the_floors_are_those_of_the_import_contract() -> None:
    page = (DOCS / "architecture.md").read_text(encoding="utf-8").partition("## The layers")[2]
    (shown, *_) = re.findall(r"```\n(.*?)```", page, re.DOTALL)
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    layers = [re.sub(r"[()]", "", layer) for layer in contract["layers"]]
    assert ["__main__", *shown.splitlines()] == layers


TESTED = (ROOT / "docs" / "anvil.md").read_text(encoding="utf-8")
CLIENTS = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
REFERENCES = sorted(set(re.findall(r"`(tests/[^`]+)`", TESTED + CLIENTS)))


@pytest.mark.parametrize("reference", REFERENCES)
def test_the_page_of_checks_names_tests_that_there_are(reference: str) -> None:
    path, _, name = reference.partition("::")
    if not path.endswith((".py", ".mjs")):
        assert (ROOT / path).is_dir()
        return
    source = (ROOT / path).read_text(encoding="utf-8")
    named = r"def {}\(" if path.endswith(".py") else r'check\w*\("{}"'
    assert not name or re.search(named.format(re.escape(name)), source)


def test_the_page_of_checks_has_all_of_them() -> None:
    rows = [int(it) for it in re.findall(r"^\| (\d+) \|", TESTED, re.MULTILINE)]
    assert rows == [*range(1, 41), *range(54, 70)]


def test_the_documented_limits_of_memory_are_those_of_a_chain(client: ApiClient) -> None:
    page = (DOCS / "reports" / "robustness.md").read_text()
    table = page.partition("## Memory that clients can fill")[2].partition("\nTogether ")
    uses = (*client.api.memory(), *request_memory(RequestBytes(ServerConfig().request_limit_bytes)))
    parts = {use.part: use.limit for use in uses}
    assert set(re.findall(r"^\| `([a-z_]+)` \|", table[0], re.MULTILINE)) == set(parts)
    assert table[2].startswith(f"{sum(parts.values()) >> 20} MiB a chain")
