//! Typed data (EIP-712): the struct types of a document and their hashes.
//!
//! Types are alloy's, but not its `TypedData`: that rejects recursive types and null members, which
//! wallets sign, takes the domain's type for granted, and expands types into trees of any size.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use alloy_dyn_abi::{DynSolType, PropertyDef, TypeDef};
use alloy_primitives::{B256, U256, keccak256};
use alloy_sol_types::{Eip712Domain, SolStruct, sol};
use parking_lot::Mutex;

use crate::abi::Number;

sol! {
    /// What the sender of a transaction of type 0x71 signs; addresses are numbers.
    #[derive(Default)]
    struct Transaction {
        uint256 txType;
        uint256 from;
        uint256 to;
        uint256 gasLimit;
        uint256 gasPerPubdataByteLimit;
        uint256 maxFeePerGas;
        uint256 maxPriorityFeePerGas;
        uint256 paymaster;
        uint256 nonce;
        uint256 value;
        bytes data;
        bytes32[] factoryDeps;
        bytes paymasterInput;
    }
}

impl Transaction {
    /// The number of the type.
    pub const TYPE: u8 = 0x71;

    /// Return the digest that is signed on a chain.
    pub fn signing_hash(&self, chain_id: U256) -> B256 {
        static TYPE_HASH: LazyLock<B256> =
            LazyLock::new(|| Transaction::default().eip712_type_hash());
        // Which never change, and take as long as the rest.
        let mut content = TYPE_HASH.to_vec();
        content.extend(self.eip712_encode_data());
        signing_hash(zk_domain_separator(chain_id), Some(keccak256(content)))
    }
}

/// Return the hash of a transaction of type 0x71, which covers the signature that counts.
pub fn transaction_hash(digest: B256, signature: &[u8]) -> B256 {
    keccak256([digest.0, keccak256(signature).0].concat())
}

/// Return the domain of transactions of type 0x71; that of the last chain is cached.
fn zk_domain_separator(chain_id: U256) -> B256 {
    static LAST: Mutex<Option<(U256, B256)>> = Mutex::new(None);
    let mut last = LAST.lock();
    match *last {
        Some((known, separator)) if known == chain_id => separator,
        _ => {
            let (name, version) = (Some("zkSync".into()), Some("2".into()));
            let domain = Eip712Domain::new(name, version, Some(chain_id), None, None);
            last.insert((chain_id, domain.separator())).1
        }
    }
}

/// The struct types of a document, by name.
pub struct StructTypes(HashMap<String, StructType>);

/// A struct type: its members, and its hash once it is needed.
pub struct StructType {
    definition: TypeDef,
    kinds: Vec<Kind>,
    hash: OnceCell<B256>,
}

/// The type of a member: a struct or an atomic type, or an array of it.
pub struct Kind {
    /// The type without its arrays.
    pub stem: Stem,
    /// The text of that type.
    pub text: String,
    /// The lengths of the arrays as they are written, that of the outermost array last.
    pub lengths: Vec<String>,
}

/// A type that is not an array.
pub enum Stem {
    /// A struct of the document.
    Struct,
    /// A type of Solidity.
    Atom(DynSolType),
    /// A type of Solidity but for its size, such as `uint7`.
    WrongSize,
    /// Neither.
    Unknown,
}

/// A member whose type is not there.
#[derive(Debug, PartialEq, Eq)]
pub struct UnknownType {
    /// The struct that has the member.
    pub of: String,
    /// The member.
    pub member: String,
    /// The type.
    pub name: String,
}

impl StructTypes {
    /// Take the types of a document: of each struct, the names and types of its members.
    pub fn new(types: &HashMap<String, Vec<(String, String)>>) -> Self {
        let structs = types.iter().map(|(name, members)| {
            let properties =
                members.iter().map(|(name, kind)| PropertyDef::new_unchecked(kind, name));
            let definition = TypeDef::new_unchecked(name.clone(), properties.collect());
            let kinds = members.iter().map(|(_, kind)| Kind::parse(kind, types)).collect();
            (name.clone(), StructType { definition, kinds, hash: OnceCell::new() })
        });
        Self(structs.collect())
    }

    /// The members of a struct: the name and the type of each.
    pub fn members(&self, name: &str) -> impl ExactSizeIterator<Item = (&str, &Kind)> {
        let found = &self.0[name];
        found.definition.props().iter().map(PropertyDef::name).zip(&found.kinds)
    }

    /// Return the hash of a struct type, `typeHash` of the standard.
    pub fn hash(&self, name: &str) -> Result<B256, UnknownType> {
        let cached = &self.0[name].hash;
        if let Some(hash) = cached.get() {
            return Ok(*hash);
        }
        let hash = keccak256(self.text(name)?);
        Ok(*cached.get_or_init(|| hash))
    }

    /// Return how a struct type is written: itself, then all it refers to in alphabetical order.
    fn text(&self, name: &str) -> Result<String, UnknownType> {
        let mut found = HashSet::from([name]);
        let mut pending = vec![name];
        while let Some(current) = pending.pop() {
            for (member, kind) in self.members(current) {
                match kind.stem {
                    Stem::Struct if found.insert(&kind.text) => pending.push(&kind.text),
                    Stem::Unknown => return Err(UnknownType::new(current, member, kind)),
                    _ => {}
                }
            }
        }
        found.remove(name);
        let mut others: Vec<_> = found.into_iter().collect();
        others.sort_unstable();
        let texts = [name].into_iter().chain(others);
        Ok(texts.map(|name| self.0[name].definition.eip712_encode_type()).collect())
    }
}

impl Kind {
    fn parse(text: &str, types: &HashMap<String, Vec<(String, String)>>) -> Self {
        let (core, arrays) = text.find('[').map_or((text, ""), |at| text.split_at(at));
        let stem = if types.contains_key(core) {
            Stem::Struct
        } else if !is_atomic(core) {
            Stem::Unknown
        } else {
            DynSolType::parse(core).map_or(Stem::WrongSize, Stem::Atom)
        };
        let lengths = arrays.split_terminator(']').map(|length| length.replace('[', ""));
        Self { stem, text: core.to_owned(), lengths: lengths.collect() }
    }
}

impl UnknownType {
    fn new(of: &str, member: &str, kind: &Kind) -> Self {
        Self { of: of.to_owned(), member: member.to_owned(), name: kind.text.clone() }
    }
}

/// Return the digest that is signed: of a domain, and of a message unless the domain is all.
pub fn signing_hash(domain: B256, message: Option<B256>) -> B256 {
    let mut content = vec![0x19, 0x01];
    content.extend(domain);
    content.extend(message.iter().flatten());
    keccak256(content)
}

/// Read a whole number in decimal or hex digits; None for any other text.
pub fn parse_number(text: &str) -> Option<Number> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let (digits, radix, most) = hex.map_or((digits, 10, 78), |digits| (digits, 16, 64));
    let is_number = (1..=most).contains(&digits.len())
        && digits.bytes().all(|digit| char::from(digit).is_digit(radix));
    is_number.then(|| {
        U256::from_str_radix(digits, radix.into())
            .map_or(Number::TOO_LARGE, |number| Number::new(number, text.starts_with('-')))
    })
}

/// Whether a text looks like an atomic type of Solidity.
fn is_atomic(text: &str) -> bool {
    let sized = |prefix, sizes: std::ops::RangeInclusive<usize>| {
        text.strip_prefix(prefix).is_some_and(|size: &str| {
            sizes.contains(&size.len()) && size.bytes().all(|digit| digit.is_ascii_digit())
        })
    };
    matches!(text, "bool" | "address" | "string")
        || sized("bytes", 0..=2)
        || sized("uint", 0..=3)
        || sized("int", 0..=3)
}

#[cfg(test)]
mod tests {
    use alloy_primitives::hex;

    use super::*;

    fn types(structs: &[(&str, &[(&str, &str)])]) -> StructTypes {
        let owned = |(name, members): &(&str, &[(&str, &str)])| {
            let members = members.iter().map(|(name, kind)| (name.to_string(), kind.to_string()));
            (name.to_string(), members.collect())
        };
        StructTypes::new(&structs.iter().map(owned).collect())
    }

    #[test]
    fn writes_the_types_that_a_struct_refers_to_in_alphabetical_order() {
        let mail = [("from", "Person"), ("to", "Person[]"), ("about", "Asset[2][]")];
        let all = types(&[
            ("Person", &[("name", "string"), ("friend", "Person")]),
            ("Mail", &mail),
            ("Asset", &[("mail", "Mail"), ("amount", "uint256")]),
            ("Other", &[("it", "Nothing")]),
        ]);
        let expected = "Mail(Person from,Person[] to,Asset[2][] about)\
                        Asset(Mail mail,uint256 amount)Person(string name,Person friend)";
        assert_eq!(all.text("Mail").unwrap(), expected);
        assert_eq!(all.hash("Mail").unwrap(), keccak256(expected));
        let unknown = all.hash("Other").unwrap_err();
        assert_eq!((&*unknown.of, &*unknown.member, &*unknown.name), ("Other", "it", "Nothing"));
    }

    #[test]
    fn has_the_published_hashes_of_zk_transactions() {
        let type_hash = hex!("848e1bfa1ac4e3576b728bda6721b215c70a7799a5b4866282a71bab954baac8");
        let transaction = Transaction::default();
        assert_eq!(transaction.eip712_type_hash(), type_hash);
        for (chain_id, separator) in [
            (270, hex!("90c05efb083b1455ff9cfdbd3792b42bea87908b3a05f46c28244311c105b5a6")),
            (300, hex!("2542d09dcd1d2c7fb4e011e51e425eb19fc16ec350d406b8d8cc26402dc0c9f2")),
            (324, hex!("38d6914dece859729eb1096cb0287992db769d1cfb35027c07a15c58c30ee62e")),
        ] {
            assert_eq!(zk_domain_separator(U256::from(chain_id)), separator);
        }
    }

    #[test]
    fn tells_types_apart() {
        let all = types(&[("T", &[("a", "T[][2]"), ("b", "uint7"), ("c", "bytes4"), ("d", "no")])]);
        let stems: Vec<_> = all.members("T").map(|(_, kind)| (&kind.stem, &kind.lengths)).collect();
        assert!(matches!(stems[0], (Stem::Struct, lengths) if *lengths == ["", "2"]));
        assert!(matches!(stems[1], (Stem::WrongSize, lengths) if lengths.is_empty()));
        assert!(matches!(stems[2], (Stem::Atom(DynSolType::FixedBytes(4)), _)));
        assert!(matches!(stems[3], (Stem::Unknown, _)));
    }

    #[test]
    fn reads_numbers() {
        let word = |text| parse_number(text).unwrap().word;
        assert_eq!(word("12"), U256::from(12));
        assert_eq!(word("0Xff"), U256::from(255));
        assert_eq!(word("-0x1"), U256::MAX);
        let huge = "9".repeat(78);
        assert!(!parse_number(&huge).unwrap().fits(&DynSolType::Uint(256)));
        assert!(!parse_number("-1").unwrap().fits(&DynSolType::Uint(256)));
        assert!(parse_number("-0").unwrap().fits(&DynSolType::Uint(256)));
        for text in ["", "-", "0x", "--1", "1 ", "+1", "1_0", "0xg", "1e3", &"0".repeat(79)] {
            assert!(parse_number(text).is_none(), "{text}");
        }
    }
}
