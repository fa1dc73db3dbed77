"""The frame that published data is compressed to: one of zstd, with bounds that are checked before it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from entresol.errors import NotPublishable
from entresol.primitives.published.limits import MAX_DECODED_BYTES, MAX_PUBLISHED_BYTES, MAX_RATIO
from entresol.primitives.published.reader import Reader

if TYPE_CHECKING:
    from collections.abc import Iterator

    # A node that publishes nothing does not load the library.
    from zstandard import ZstdCompressor

VERSION: Final = 1
"""The version of the envelope: what follows is a frame of zstd."""

_MAGIC: Final = bytes.fromhex("28b52ffd")
_SINGLE_SEGMENT: Final = 0x20
_MAX_BLOCK_BYTES: Final = 128 * 1024
"""The most that a block of zstd has, packed and unpacked; in a frame with less content, no more than that."""
_RLE: Final = 1
_COMPRESSED: Final = 2
_RESERVED: Final = 3
_HUFFMAN: Final = 2
"""The bit of literals that are compressed; raw and repeated ones do not have it."""
_LEVEL: Final = 1
_HASH_LOG: Final = 17
_MIN_MATCH: Final = 4
_PIECE_BYTES: Final = 512
"""A block of zstd takes four bytes at least, so pieces of this size cannot be compressed beyond the limit."""


def compress(body: bytes) -> bytes:
    """Return a body or a genesis as it is published; others may compress it otherwise, so it is never compressed again."""
    if not 1 <= len(body) <= MAX_DECODED_BYTES:
        problem = f"1 to {MAX_DECODED_BYTES} bytes expected, got {len(body)}"
        raise NotPublishable("body", problem)
    # Loading it takes some milliseconds.
    from zstandard import (  # noqa: PLC0415 - see above
        STRATEGY_FAST,
        ZstdCompressionParameters,
        ZstdCompressor,
    )

    # The window holds all of the content, so that the frame is a single segment. A target length above zero is how
    # the fast strategy is told not to compress literals. Decision 0276 compares the rest.
    window_log = max(10, (len(body) - 1).bit_length())
    compressor = ZstdCompressor(
        compression_params=ZstdCompressionParameters.from_level(
            _LEVEL,
            source_size=len(body),
            window_log=window_log,
            hash_log=_HASH_LOG,
            min_match=_MIN_MATCH,
            target_length=1,
            strategy=STRATEGY_FAST,
            write_content_size=True,
            write_checksum=False,
            write_dict_id=False,
        )
    )
    frame = compressor.compress(body)
    if len(body) > MAX_RATIO * len(frame):
        frame = _compress_pieces(compressor, body)
    return bytes((VERSION,)) + frame


def decompress(published: bytes, *, max_bytes: int = MAX_PUBLISHED_BYTES) -> bytes:
    """Return what was published, allocating nothing before sizes are checked; reject what no reader accepts."""
    reader = Reader(published, "published")
    if len(published) > max_bytes:
        raise reader.unreadable("size", f"{len(published)} bytes, at most {max_bytes} expected")
    reader.version(VERSION)
    begin, size = reader.offset, reader.remaining
    content_size = _read_header(reader)
    if not 1 <= content_size <= MAX_DECODED_BYTES:
        problem = f"1 to {MAX_DECODED_BYTES} bytes expected, got {content_size}"
        raise reader.unreadable("content_size", problem, offset=begin)
    if content_size > MAX_RATIO * size:
        problem = f"{content_size} bytes are more than {MAX_RATIO} times {size}"
        raise reader.unreadable("content_size", problem, offset=begin)
    ends = [reader.offset, *_read_blocks(reader, min(content_size, _MAX_BLOCK_BYTES))]
    reader.end()
    return _unpack(reader, published, begin, ends, content_size)


def _unpack(
    reader: Reader, published: bytes, begin: int, ends: list[int], content_size: int
) -> bytes:
    """Unpack a frame block by block.

    Given the whole frame at once, zstd does not check that a block has at most 128 KiB, which it does check if it is
    given pieces, and so do other programs: what is read must not depend on that.
    """
    from zstandard import ZstdDecompressor, ZstdError  # noqa: PLC0415 - as in `compress`

    unpacker = ZstdDecompressor().decompressobj()
    parts, unpacked = [], 0
    for end in ends:
        try:
            parts.append(unpacker.decompress(published[begin:end]))
        except ZstdError as error:
            raise reader.unreadable("frame", str(error), offset=begin) from None
        unpacked += len(parts[-1])
        if unpacked > content_size:
            break
        begin = end
    if unpacked != content_size:
        problem = f"{content_size} bytes expected, got {unpacked}"
        raise reader.unreadable("frame", problem, offset=begin)
    return b"".join(parts)


def _compress_pieces(compressor: ZstdCompressor, body: bytes) -> bytes:
    """Return a frame with a block for each piece, so that it is not too small for what it contains."""
    from zstandard import COMPRESSOBJ_FLUSH_BLOCK  # noqa: PLC0415 - as in `compress`

    stream = compressor.compressobj(size=len(body))
    parts = []
    for at in range(0, len(body), _PIECE_BYTES):
        parts.append(stream.compress(body[at : at + _PIECE_BYTES]))
        parts.append(stream.flush(COMPRESSOBJ_FLUSH_BLOCK))
    parts.append(stream.flush())
    return b"".join(parts)


def _read_header(reader: Reader) -> int:
    """Read the header of a frame: a single segment without checksum and dictionary. Return the size of its content."""
    if reader.take(4, "magic") != _MAGIC:
        raise reader.unreadable("magic", f"{_MAGIC.hex()} expected", offset=reader.offset - 4)
    begin, descriptor = reader.offset, reader.byte("descriptor")
    if descriptor & 0x3F != _SINGLE_SEGMENT:
        problem = "a single segment without checksum, dictionary and reserved bits expected"
        raise reader.unreadable("descriptor", problem, offset=begin)
    size_bytes = (1, 2, 4, 8)[descriptor >> 6]
    content = int.from_bytes(reader.take(size_bytes, "content_size"), "little")
    return content + 256 if size_bytes == 2 else content


def _read_blocks(reader: Reader, most: int) -> Iterator[int]:
    """Read the blocks of a frame, of which none has more than so many bytes; yield where each of them ends.

    Versions of zstd read broken literals of Huffman differently: the same frame to other bytes. So there are none.
    """
    is_last = False
    while not is_last:
        begin, header = reader.offset, int.from_bytes(reader.take(3, "block"), "little")
        is_last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
        if kind == _RESERVED or size > most:
            problem = f"a block of type 0 to 2 and at most {most} bytes expected"
            raise reader.unreadable("block", problem, offset=begin)
        data = reader.take(1 if kind == _RLE else size, "block")
        if kind == _COMPRESSED and (not data or data[0] & _HUFFMAN):
            problem = "literals that are not compressed expected"
            raise reader.unreadable("literals", problem, offset=begin)
        yield reader.offset
