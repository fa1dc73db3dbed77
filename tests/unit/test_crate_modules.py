"""The modules of a crate, and the circles among them, as tools/crate_modules.py reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.crate_modules import Graph, circles, graph_of, written


def read(folder: Path, sources: dict[str, str]) -> Graph:
    for name, text in {"Cargo.toml": '[package]\nname = "the-crate"\n', **sources}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return graph_of(folder)


def used(graph: Graph, module: str) -> set[str]:
    return {written(it) for it in graph[tuple(module.split("::"))]}


@pytest.mark.parametrize(
    "text",
    [
        "use crate::b::Thing;",
        "use super::b;",
        "use crate::{c::Other, b::{self, Thing as It}};",
        "fn make() -> u8 { crate::b::make() }",
        "struct Holder(super::b::Thing);",
        "mod inner { use super::super::b::Thing; }",
    ],
)
def test_each_way_to_name_a_module_is_a_use_of_it(tmp_path: Path, text: str) -> None:
    sources = {"src/lib.rs": "mod a; mod b; mod c;", "src/b.rs": "", "src/c.rs": ""}
    graph = read(tmp_path, {**sources, "src/a.rs": text})
    assert "the_crate::b" in used(graph, "the_crate::a")


@pytest.mark.parametrize(
    "text",
    [
        "/// As [`crate::b::Thing`].\nstruct Mine;",
        "/* use crate::b; */",
        'const TEXT: &str = "use crate::b;";',
        'const TEXT: &str = r#"use crate::"b";"#;',
        "#[cfg(test)]\nmod tests { use crate::b::Thing; fn check() {} }",
        "#[cfg(test)]\nuse crate::b::Thing;",
        "fn first<'a>(b: &'a [u8; 1]) -> &'a u8 { &b[0] }",
    ],
)
def test_comments_texts_and_tests_use_nothing(tmp_path: Path, text: str) -> None:
    sources = {"src/lib.rs": "mod a; mod b;", "src/b.rs": "", "src/a.rs": text}
    assert used(read(tmp_path, sources), "the_crate::a") == set()


def test_modules_that_use_each_other_through_others_are_one_circle(tmp_path: Path) -> None:
    sources = {
        "src/lib.rs": "mod a; mod b; mod c; mod d;",
        "src/a.rs": "use crate::b::B;",
        "src/b.rs": "use crate::c::C;",
        "src/c.rs": "use crate::a::A; use crate::d::D;",
        "src/d.rs": "",
    }
    [circle] = circles(read(tmp_path, sources))
    assert [written(module) for module in circle] == [f"the_crate::{name}" for name in "abc"]
