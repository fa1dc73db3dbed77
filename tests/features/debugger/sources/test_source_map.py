from __future__ import annotations

from entresol.features.debugger.sources.source_map import UNMAPPED, PositionMap, SourceMap, Span

# PUSH2 0x5b5b JUMPDEST PUSH0 JUMP
CODE = bytes.fromhex("615b5b5b5f56")


def test_an_empty_field_is_that_of_the_entry_before() -> None:
    found = SourceMap(CODE, "1:2:0:-;:5;;7:::i")
    spans = [found.span(pc) for pc in (0, 3, 4, 5)]
    assert spans == [Span(1, 2, 0), Span(1, 5, 0), Span(1, 5, 0), Span(7, 5, 0)]
    assert [found.jump(pc) for pc in (0, 3, 4, 5)] == ["-", "-", "-", "i"]


def test_bytes_that_are_pushed_belong_to_their_instruction() -> None:
    found = SourceMap(CODE, "1:2:0:-;3:4:0:o")
    assert [found.span(pc) for pc in (1, 2)] == [Span(1, 2, 0)] * 2
    assert found.jump(3) == "o"


def test_instructions_beyond_the_map_are_not_mapped() -> None:
    found = SourceMap(CODE, "1:2:0:-")
    assert found.span(4) is UNMAPPED
    assert found.jump(4) == "-"
    assert SourceMap(CODE, "").span(0) == UNMAPPED
    assert SourceMap(b"", "1:2:0:-;;;").span(0) == UNMAPPED


def test_what_is_malformed_is_not_mapped() -> None:
    assert SourceMap(CODE, "x:2:0:-").span(0) == UNMAPPED


def test_a_map_by_offsets_knows_the_next_one_that_is_mapped() -> None:
    found = PositionMap({4: Span(1, 2, 0)}, {5: "i"}, {5: "safesub"})
    assert (found.span(3), found.span(4)) == (UNMAPPED, Span(1, 2, 0))
    assert (found.span_from(3), found.span_from(5)) == (Span(1, 2, 0), UNMAPPED)
    assert (found.jump(5), found.jump(4)) == ("i", "-")
    assert (found.check(5), found.check(4)) == ("safesub", None)
