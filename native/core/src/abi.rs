//! The ABI of contract calls, over alloy's types, decoder and encoder.
//!
//! Decoding checks every length and offset before it allocates, and bounds the whole: contents may
//! overlap, so a short input could otherwise stand for one that is as long as its square.

use std::borrow::Cow;
use std::iter::repeat_n;

use alloy_dyn_abi::{Decoder, DynSolType, DynSolValue, DynToken};
use alloy_primitives::U256;
use alloy_sol_types::Error as SolError;
use thiserror::Error;

/// Levels of tuples and arrays in a type, because its parser and the codec recurse.
const MAX_NESTING: usize = 16;

/// How many times the size of an input its decoded contents may have.
const MAX_EXPANSION: usize = 16;

const WORD: usize = 32;

/// Why a type is none, or a value has no encoding, or bytes are no encoding.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{problem}")]
pub struct AbiError {
    /// The position of the value, innermost index first.
    pub path: Vec<usize>,
    /// What is wrong with it.
    pub problem: String,
}

impl AbiError {
    /// Say what is wrong with a value.
    pub fn new(problem: impl Into<String>) -> Self {
        Self { path: Vec::new(), problem: problem.into() }
    }

    /// Say that the value is at `index` of a sequence.
    pub fn at(mut self, index: usize) -> Self {
        self.path.push(index);
        self
    }
}

impl From<SolError> for AbiError {
    fn from(error: SolError) -> Self {
        match error {
            // The other is an offset or a length beyond any memory.
            SolError::Overrun | SolError::TypeCheckFail { .. } => {
                Self::new("the encoding ends too early")
            }
            other => Self::new(other.to_string()),
        }
    }
}

/// A tuple of types, such as the parameters of a function.
#[derive(Debug)]
pub struct AbiTuple(Vec<DynSolType>);

impl AbiTuple {
    /// Parse a tuple of types, such as `(address,uint256[])`.
    pub fn parse(text: &str) -> Result<Self, AbiError> {
        if nesting(text) > MAX_NESTING {
            let problem = format!("an ABI type has at most {MAX_NESTING} levels");
            return Err(AbiError::new(problem));
        }
        match DynSolType::parse(text) {
            Ok(DynSolType::Tuple(types)) if types.iter().any(is_empty) => {
                Err(AbiError::new(format!("{text} has a part without any value")))
            }
            Ok(DynSolType::Tuple(types)) => Ok(Self(types)),
            Ok(_) => Err(AbiError::new(format!("a tuple of ABI types is expected, got {text}"))),
            Err(error) => Err(AbiError::new(format!("{text} is not an ABI type: {error}"))),
        }
    }

    /// The types, in order.
    pub fn types(&self) -> &[DynSolType] {
        &self.0
    }

    /// Read values of the types; their words and bytes are not interpreted.
    pub fn decode<'a>(&self, data: &'a [u8]) -> Result<Vec<DynToken<'a>>, AbiError> {
        let mut budget = Budget(data.len().saturating_mul(MAX_EXPANSION));
        read_all(self.0.iter(), &mut Decoder::new(data), &mut budget)
    }
}

/// Encode values as the parameters of a function.
pub fn encode(values: Vec<DynSolValue>) -> Vec<u8> {
    DynSolValue::Tuple(values).abi_encode_params()
}

/// A whole number as its two's complement: the low 256 bits, and the sign above them.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    /// The low 256 bits.
    pub word: U256,
    /// Whether all bits above them are set.
    pub negative: bool,
}

impl Number {
    /// A number that no type has.
    pub const TOO_LARGE: Self = Self { word: U256::ZERO, negative: true };

    /// Return a number by its magnitude and its sign.
    pub fn new(magnitude: U256, negative: bool) -> Self {
        let word = if negative { magnitude.wrapping_neg() } else { magnitude };
        Self { word, negative: negative && !magnitude.is_zero() }
    }

    /// Whether the number is one of a `uint` or `int` type.
    pub fn fits(&self, kind: &DynSolType) -> bool {
        match kind {
            DynSolType::Uint(bits) => !self.negative && self.word.bit_len() <= *bits,
            DynSolType::Int(bits) => {
                let magnitude = if self.negative { !self.word } else { self.word };
                magnitude.bit_len() < *bits
            }
            _ => false,
        }
    }
}

/// The bytes that decoded contents may still have.
struct Budget(usize);

impl Budget {
    fn spend(&mut self, items: usize, size: usize) -> Result<(), AbiError> {
        let rest = items.checked_mul(size).and_then(|bytes| self.0.checked_sub(bytes));
        self.0 = rest.ok_or_else(|| AbiError::new("the contents overlap too often"))?;
        Ok(())
    }
}

fn read<'a>(
    kind: &DynSolType,
    decoder: &mut Decoder<'a, '_>,
    budget: &mut Budget,
) -> Result<DynToken<'a>, AbiError> {
    match kind {
        DynSolType::Bytes | DynSolType::String => {
            let mut tail = decoder.take_indirection()?;
            let size = tail.take_offset()?;
            let content = tail.take_slice(size)?;
            budget.spend(1, size)?;
            Ok(DynToken::PackedSeq(content))
        }
        DynSolType::Array(item) => {
            let mut tail = decoder.take_indirection()?;
            let count = tail.take_offset()?;
            let mut items = tail.raw_child()?;
            // Before anything is made that is as long as the bytes claim.
            if count.saturating_mul(head_words(item)) > items.remaining_words() {
                return Err(SolError::Overrun.into());
            }
            let contents = read_all(repeat_n(&**item, count), &mut items, budget)?;
            Ok(DynToken::DynSeq { contents: Cow::Owned(contents), template: None })
        }
        DynSolType::FixedArray(item, count) => {
            read_fixed(kind, repeat_n(&**item, *count), decoder, budget)
        }
        DynSolType::Tuple(items) | DynSolType::CustomStruct { tuple: items, .. } => {
            read_fixed(kind, items.iter(), decoder, budget)
        }
        _ => Ok(DynToken::Word(*decoder.take_word()?)),
    }
}

fn read_fixed<'a, 't>(
    kind: &DynSolType,
    items: impl ExactSizeIterator<Item = &'t DynSolType>,
    decoder: &mut Decoder<'a, '_>,
    budget: &mut Budget,
) -> Result<DynToken<'a>, AbiError> {
    if decoder.remaining_words() < head_words(kind) {
        return Err(SolError::Overrun.into());
    }
    let count = items.len();
    let contents = if kind.is_dynamic() {
        read_all(items, &mut decoder.take_indirection()?, budget)?
    } else {
        read_all(items, decoder, budget)?
    };
    Ok(DynToken::FixedSeq(Cow::Owned(contents), count))
}

fn read_all<'a, 't>(
    items: impl ExactSizeIterator<Item = &'t DynSolType>,
    decoder: &mut Decoder<'a, '_>,
    budget: &mut Budget,
) -> Result<Vec<DynToken<'a>>, AbiError> {
    let count = items.len();
    if count > decoder.remaining_words() {
        return Err(SolError::Overrun.into());
    }
    budget.spend(count, WORD)?;
    let mut values = Vec::with_capacity(count);
    for (index, item) in items.enumerate() {
        values.push(read(item, decoder, budget).map_err(|error| error.at(index))?);
    }
    Ok(values)
}

/// How many words of its sequence's head a value takes.
fn head_words(kind: &DynSolType) -> usize {
    if kind.is_dynamic() { 1 } else { kind.minimum_words() }
}

/// Whether values have a part without any word, of which bytes could claim any number.
fn is_empty(kind: &DynSolType) -> bool {
    match kind {
        DynSolType::Array(item) | DynSolType::FixedArray(item, _) => is_empty(item),
        DynSolType::Tuple(items) => items.is_empty() || items.iter().any(is_empty),
        _ => false,
    }
}

fn nesting(text: &str) -> usize {
    let (mut tuples, mut arrays, mut deepest) = (0usize, 0, 0);
    for byte in text.bytes() {
        match byte {
            b'(' => (tuples, arrays) = (tuples + 1, 0),
            b')' => (tuples, arrays) = (tuples.saturating_sub(1), 0),
            b',' => arrays = 0,
            b'[' => arrays += 1,
            _ => {}
        }
        deepest = deepest.max(tuples + arrays);
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(numbers: &[u64]) -> Vec<u8> {
        numbers.iter().flat_map(|number| U256::from(*number).to_be_bytes::<32>()).collect()
    }

    fn decoded(types: &str, data: &[u8]) -> Result<DynSolValue, AbiError> {
        let tuple = AbiTuple::parse(types)?;
        let tokens = tuple.decode(data)?;
        let values = tuple.types().iter().zip(tokens);
        Ok(DynSolValue::Tuple(
            values.map(|(kind, token)| kind.detokenize(token).unwrap()).collect(),
        ))
    }

    #[test]
    fn reads_what_alloy_reads() {
        let kinds = "(uint8,(bytes,uint64[2])[],string[2],(bool,address)[1],bytes4)";
        let data = {
            let number = |value: u64, bits| DynSolValue::Uint(U256::from(value), bits);
            let pair = DynSolValue::FixedArray(vec![number(1, 64), number(2, 64)]);
            let item = DynSolValue::Tuple(vec![DynSolValue::Bytes(vec![7; 40]), pair]);
            let text = DynSolValue::String("text".into());
            let last = vec![DynSolValue::Bool(true), DynSolValue::Address([5; 20].into())];
            encode(vec![
                number(9, 8),
                DynSolValue::Array(vec![item.clone(), item]),
                DynSolValue::FixedArray(vec![text.clone(), text]),
                DynSolValue::FixedArray(vec![DynSolValue::Tuple(last)]),
                DynSolValue::FixedBytes([3; 32].into(), 4),
            ])
        };
        let expected = DynSolType::parse(kinds).unwrap().abi_decode_sequence(&data).unwrap();
        assert_eq!(decoded(kinds, &data).unwrap(), expected);
        for end in 0..data.len() {
            assert!(decoded(kinds, &data[..end]).is_err() || end + 32 > data.len());
        }
    }

    #[test]
    fn rejects_lengths_and_offsets_that_the_input_does_not_have() {
        for data in [words(&[64]), words(&[32, 2, 0]), words(&[32, u64::MAX]), words(&[u64::MAX])] {
            let error = decoded("(uint256[])", &data).unwrap_err();
            assert_eq!(error.path, [0]);
            assert_eq!(error.problem, "the encoding ends too early");
        }
        assert_eq!(decoded("(bytes)", &[0xff; 64]).unwrap_err().path, [0]);
        assert!(decoded("(uint256[1000000000000])", &words(&[1, 2])).is_err());
    }

    #[test]
    fn rejects_contents_that_overlap_too_often() {
        // An array whose items are all one and the same array.
        let overlapping = |items: usize| {
            let mut numbers = vec![32, items as u64];
            numbers.extend(repeat_n(32 * items as u64, items));
            numbers.push(items as u64);
            numbers.extend(repeat_n(7, items));
            decoded("(uint256[][])", &words(&numbers))
        };
        assert!(overlapping(16).is_ok());
        let error = overlapping(1_000).unwrap_err();
        assert_eq!(error.problem, "the contents overlap too often");
    }

    #[test]
    fn knows_the_ranges_of_numbers() {
        for bits in [8, 64, 248, 256] {
            let (uint, int) = (DynSolType::Uint(bits), DynSolType::Int(bits));
            let half = U256::from(1) << (bits - 1);
            assert!(Number::new(U256::MAX >> (256 - bits), false).fits(&uint));
            assert!(bits == 256 || !Number::new(half << 1, false).fits(&uint));
            assert!(!Number::new(U256::from(1), true).fits(&uint));
            assert!(Number::new(half - U256::from(1), false).fits(&int));
            assert!(!Number::new(half, false).fits(&int));
            assert!(Number::new(half, true).fits(&int));
            assert!(!Number::new(half + U256::from(1), true).fits(&int));
            assert!(!Number::TOO_LARGE.fits(&uint) && !Number::TOO_LARGE.fits(&int));
        }
    }

    #[test]
    fn names_what_is_no_type() {
        for text in
            ["(float)", "uint256", "(uint8", "(uint7)", "(bytes33)", "(()[])", "(uint8[0])", ""]
        {
            assert!(AbiTuple::parse(text).is_err(), "{text}");
        }
        for deep in ["(".repeat(100_000), format!("(uint8{})", "[1]".repeat(100_000))] {
            let problem = AbiTuple::parse(&deep).unwrap_err().problem;
            assert_eq!(problem, "an ABI type has at most 16 levels");
        }
    }
}
