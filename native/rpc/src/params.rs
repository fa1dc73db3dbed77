//! The parameters of getters, as common clients spell them.

use std::fmt;

use alloy_primitives::{Address, B256, U256};
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::block::{Block, parse_block};
use super::hex::{parse_address, parse_hash, quantity};

/// What a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 32 bytes.
    Hash,
    /// 20 bytes.
    Address,
    /// A number of at most so many hex digits.
    Quantity(usize),
    /// A number of at most 64 bits, in hex digits or as a JSON integer.
    Number,
    /// True or false.
    Boolean,
    /// A block, by number or the latest.
    Block,
    /// Something that is not plain if it is given.
    Other,
}

/// A parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param {
    /// A hash.
    Hash(B256),
    /// An address.
    Address(Address),
    /// A number.
    Quantity(U256),
    /// True or false.
    Boolean(bool),
    /// A block.
    Block(Block),
}

/// Parse an array of parameters, the first `required` of which have to be there; None if it is not plain.
pub fn parse(kinds: &[Kind], required: usize, params: &str) -> Option<Vec<Param>> {
    if params.is_empty() {
        return (required == 0).then(Vec::new);
    }
    let Values(values) = serde_json::from_str(params).ok()?;
    if !(required..=kinds.len()).contains(&values.len()) {
        return None;
    }
    kinds.iter().zip(values).map(|(kind, value)| value.parse(*kind)).collect()
}

/// A string, a natural number or a boolean; other values are not plain.
enum Value<'a> {
    Text(&'a str),
    Number(u64),
    Boolean(bool),
}

impl Value<'_> {
    fn parse(self, kind: Kind) -> Option<Param> {
        match (kind, self) {
            (Kind::Boolean, Self::Boolean(value)) => Some(Param::Boolean(value)),
            (Kind::Hash, Self::Text(text)) => parse_hash(text).map(Param::Hash),
            (Kind::Address, Self::Text(text)) => parse_address(text).map(Param::Address),
            (Kind::Quantity(digits), Self::Text(text)) => {
                quantity(text, digits).map(Param::Quantity)
            }
            (Kind::Number, Self::Text(text)) => quantity(text, 16).map(Param::Quantity),
            (Kind::Number, Self::Number(number)) => Some(Param::Quantity(U256::from(number))),
            (Kind::Block, Self::Text(text)) => parse_block(Some(text)).map(Param::Block),
            _ => None,
        }
    }
}

impl<'a> Deserialize<'a> for Value<'a> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'a> Visitor<'a> for ValueVisitor {
    type Value = Value<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, a number or a boolean")
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Value::Number(number))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Value::Boolean(value))
    }

    fn visit_borrowed_str<E>(self, text: &'a str) -> Result<Self::Value, E> {
        Ok(Value::Text(text))
    }
}

struct Values<'a>(Vec<Value<'a>>);

impl<'a> Deserialize<'a> for Values<'a> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ValuesVisitor)
    }
}

struct ValuesVisitor;

impl<'a> Visitor<'a> for ValuesVisitor {
    type Value = Values<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a few parameters")
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::with_capacity(2);
        while let Some(value) = items.next_element()? {
            values.push(value);
        }
        Ok(Values(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [Kind; 2] = [Kind::Quantity(16), Kind::Block];

    #[test]
    fn optional_parameters_may_be_missing() {
        let number = Param::Quantity(U256::from(5));
        assert_eq!(parse(&KINDS, 1, r#"["0x5"]"#), Some(vec![number]));
        let latest = Param::Block(Block::Latest);
        assert_eq!(parse(&KINDS, 1, r#"[ "0x5", "latest" ]"#), Some(vec![number, latest]));
        assert_eq!(parse(&KINDS, 0, ""), Some(vec![]));
    }

    #[test]
    fn a_number_may_be_an_integer() {
        let kinds = [Kind::Number, Kind::Other];
        let number = Some(vec![Param::Quantity(U256::from(5))]);
        assert_eq!(parse(&kinds, 1, "[5]"), number);
        assert_eq!(parse(&kinds, 1, r#"["0x5"]"#), number);
        for params in ["[-1]", "[1.0]", "[1e3]", r#"["5"]"#, "[5,5]", r#"[5,"x"]"#, "[5,null]"] {
            assert_eq!(parse(&kinds, 1, params), None, "{params}");
        }
    }

    #[test]
    fn what_is_not_plain_is_left_alone() {
        for params in [
            "",
            "[]",
            "{}",
            "[5]",
            "[null]",
            "[[]]",
            r#"["0x5",null]"#,
            r#"["0x5","pending"]"#,
            r#"["0x5","latest",1]"#,
            r#"["0x5",true]"#,
            r#"["0x5"#,
        ] {
            assert_eq!(parse(&KINDS, 1, params), None, "{params}");
        }
    }
}
