//! Strict RLP: only the canonical encoding of a value is accepted.

use thiserror::Error;

/// Maximum nesting of lists, far above what a chain encodes.
pub const MAX_DEPTH: usize = 64;

/// A violation of canonical RLP and its position.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{problem} at byte {offset}")]
pub struct RlpError {
    /// The violation.
    pub problem: Problem,
    /// Start of the offending item.
    pub offset: usize,
}

/// A violation of canonical RLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// There is nothing to read.
    #[error("rlp ends before its item")]
    Empty,
    /// An item claims more bytes than there are.
    #[error("rlp item is longer than its input")]
    Truncated,
    /// A byte below 0x80 is its own encoding.
    #[error("rlp wraps a single byte that encodes itself")]
    WrappedByte,
    /// A length starts with a zero byte or fits the short form.
    #[error("rlp length is not minimal")]
    LongLength,
    /// Bytes follow the item.
    #[error("rlp has trailing bytes")]
    Trailing,
    /// Lists nest deeper than [`MAX_DEPTH`].
    #[error("rlp nests deeper than 64 lists")]
    TooDeep,
}

/// One item: a byte string, or a list to read on.
#[derive(Debug)]
pub enum Item<'a> {
    /// A byte string.
    Bytes(&'a [u8]),
    /// A list.
    List(Reader<'a>),
}

/// A sequence of items. It borrows its input, so it never allocates a length that it reads.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    data: &'a [u8],
    position: usize,
    end: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    /// Read items from the whole of `data`.
    pub fn new(data: &'a [u8]) -> Self {
        Self { data, position: 0, end: data.len(), depth: 0 }
    }

    /// Whether every item has been read.
    pub fn is_empty(&self) -> bool {
        self.position == self.end
    }

    /// Reject trailing bytes.
    pub fn finish(&self) -> Result<(), RlpError> {
        if self.is_empty() { Ok(()) } else { Err(self.error(Problem::Trailing)) }
    }

    /// Read one item.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Item<'a>, RlpError> {
        let Some(&prefix) = self.data[..self.end].get(self.position) else {
            return Err(self.error(Problem::Empty));
        };
        let (is_list, header, length) = match prefix {
            0x00..=0x7f => (false, 0, 1),
            0x80..=0xb7 => (false, 1, usize::from(prefix - 0x80)),
            0xb8..=0xbf => self.long(prefix - 0xb7).map(|(header, n)| (false, header, n))?,
            0xc0..=0xf7 => (true, 1, usize::from(prefix - 0xc0)),
            0xf8..=0xff => self.long(prefix - 0xf7).map(|(header, n)| (true, header, n))?,
        };
        let start = self.position + header;
        if length > self.end - start {
            return Err(self.error(Problem::Truncated));
        }
        let content = &self.data[start..start + length];
        if header == 1 && !is_list && length == 1 && content[0] < 0x80 {
            return Err(self.error(Problem::WrappedByte));
        }
        if is_list && self.depth == MAX_DEPTH {
            return Err(self.error(Problem::TooDeep));
        }
        self.position = start + length;
        if !is_list {
            return Ok(Item::Bytes(content));
        }
        let depth = self.depth + 1;
        Ok(Item::List(Reader { data: self.data, position: start, end: start + length, depth }))
    }

    /// Read a length of `width` bytes; return the size of the header and the length.
    fn long(&self, width: u8) -> Result<(usize, usize), RlpError> {
        let width = usize::from(width);
        let bytes = self.data[..self.end]
            .get(self.position + 1..self.position + 1 + width)
            .ok_or_else(|| self.error(Problem::Truncated))?;
        let length = bytes.iter().fold(0u64, |length, byte| length << 8 | u64::from(*byte));
        if bytes[0] == 0 || length < 56 {
            return Err(self.error(Problem::LongLength));
        }
        let length = usize::try_from(length).map_err(|_| self.error(Problem::Truncated))?;
        Ok((1 + width, length))
    }

    fn error(&self, problem: Problem) -> RlpError {
        RlpError { problem, offset: self.position }
    }
}

/// Append the encoding of a byte string.
pub fn encode_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    if bytes.len() != 1 || bytes[0] >= 0x80 {
        push_header(0x80, bytes.len(), out);
    }
    out.extend_from_slice(bytes);
}

/// Turn everything in `out` from `start` on, already encoded, into one list.
pub fn close_list(start: usize, out: &mut Vec<u8>) {
    let mut header = Vec::with_capacity(9);
    push_header(0xc0, out.len() - start, &mut header);
    out.splice(start..start, header);
}

fn push_header(base: u8, length: usize, out: &mut Vec<u8>) {
    if length < 56 {
        out.push(base + length as u8);
        return;
    }
    let bytes = length.to_be_bytes();
    let minimal = &bytes[length.leading_zeros() as usize / 8..];
    out.push(base + 55 + minimal.len() as u8);
    out.extend_from_slice(minimal);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decode all of `data` and encode it again.
    fn again(data: &[u8]) -> Result<Vec<u8>, RlpError> {
        fn copy(item: Item<'_>, out: &mut Vec<u8>) -> Result<(), RlpError> {
            match item {
                Item::Bytes(bytes) => encode_bytes(bytes, out),
                Item::List(mut items) => {
                    let start = out.len();
                    while !items.is_empty() {
                        copy(items.next()?, out)?;
                    }
                    close_list(start, out);
                }
            }
            Ok(())
        }
        let mut reader = Reader::new(data);
        let mut out = Vec::new();
        copy(reader.next()?, &mut out)?;
        reader.finish()?;
        Ok(out)
    }

    fn rejected(data: &[u8]) -> (Problem, usize) {
        let error = again(data).unwrap_err();
        (error.problem, error.offset)
    }

    #[test]
    fn canonical_items_survive_a_round_trip() {
        let mut long = vec![0xb9, 0x01, 0x00];
        long.extend([7; 256]);
        let mut list = vec![0xf8, 56];
        list.extend([0x80; 56]);
        let cases: [&[u8]; 8] = [
            b"\x00",
            b"\x7f",
            b"\x81\x80",
            b"\x80",
            b"\xc0",
            b"\xc7\xc0\xc1\xc0\xc3\xc0\xc1\xc0",
            &long,
            &list,
        ];
        for case in cases {
            assert_eq!(again(case).as_deref(), Ok(case));
        }
    }

    #[test]
    fn every_other_encoding_is_rejected_where_it_starts() {
        let cases: [(&[u8], Problem, usize); 12] = [
            (b"", Problem::Empty, 0),
            (b"\x81\x7f", Problem::WrappedByte, 0),
            (b"\xc2\x81\x00", Problem::WrappedByte, 1),
            (b"\x82\x01", Problem::Truncated, 0),
            (b"\xc2\x01\x82", Problem::Truncated, 2),
            (b"\xb8", Problem::Truncated, 0),
            (b"\xb8\x01\x80", Problem::LongLength, 0),
            (b"\xb9\x00\x38", Problem::LongLength, 0),
            (b"\xf8\x00", Problem::LongLength, 0),
            (b"\xbf\xff\xff\xff\xff\xff\xff\xff\xff", Problem::Truncated, 0),
            (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff", Problem::Truncated, 0),
            (b"\x80\x00", Problem::Trailing, 1),
        ];
        for (case, problem, offset) in cases {
            assert_eq!(rejected(case), (problem, offset), "{case:02x?}");
        }
    }

    #[test]
    fn nesting_has_a_limit() {
        let nested = |depth: usize| {
            let mut out = Vec::new();
            (0..depth).for_each(|_| close_list(0, &mut out));
            out
        };
        let deepest = nested(MAX_DEPTH);
        assert_eq!(again(&deepest), Ok(deepest));
        assert_eq!(rejected(&nested(MAX_DEPTH + 1)).0, Problem::TooDeep);
        assert_eq!(rejected(&nested(100_000)).0, Problem::TooDeep);
    }
}
