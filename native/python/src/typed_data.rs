//! Digests of typed data (EIP-712) for Python, which decodes documents from JSON.

use std::collections::HashMap;
use std::fmt;

use alloy_dyn_abi::DynSolType;
use alloy_primitives::{B256, hex, keccak256};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyInt, PyList, PyString};

use entresol_core::abi::Number;
use entresol_core::typed_data::{Kind, Stem, StructTypes, parse_number, signing_hash};

use super::abi::number;
use super::convert::PyHash;
use super::errors::{MalformedValue, malformed_value};

const DOMAIN: &str = "EIP712Domain";

// Hashing more would block the event loop; the depth also bounds the stack.
const MAX_DEPTH: usize = 64;
const MAX_VALUES: usize = 20_000;

/// Return the digest that is signed for a document of well-formed types, which have `primary`.
#[pyfunction]
#[pyo3(signature = (types, primary, domain, message, /))]
pub fn typed_data_hash(
    types: HashMap<String, Vec<(String, String)>>,
    primary: &str,
    domain: &Bound<'_, PyAny>,
    message: &Bound<'_, PyAny>,
) -> PyResult<PyHash> {
    if let Some(unknown) = [DOMAIN, primary].iter().find(|name| !types.contains_key(**name)) {
        let problem = format!("there is no type {unknown}");
        return Err(malformed_value(message.py(), problem, Some("types".into())));
    }
    let mut document = Document { types: &StructTypes::new(&types), values: 0 };
    let domain = document.hash(DOMAIN, domain, &Location::Root("domain"), 0)?;
    let message = match primary {
        DOMAIN => None,
        _ => Some(document.hash(primary, message, &Location::Root("message"), 0)?),
    };
    Ok(PyHash(signing_hash(domain, message)))
}

/// The types of a document, and how many of its values were hashed.
struct Document<'a> {
    types: &'a StructTypes,
    values: usize,
}

impl Document<'_> {
    fn hash(
        &mut self,
        name: &str,
        value: &Bound<'_, PyAny>,
        location: &Location<'_>,
        depth: usize,
    ) -> PyResult<B256> {
        let py = value.py();
        let content = value.cast::<PyDict>().map_err(|_| location.rejected(py, "is an object"))?;
        let types = self.types;
        let type_hash = types.hash(name).map_err(|unknown| {
            let known: String = unknown.name.chars().take(70).collect();
            let field = format!("types.{}.{}", unknown.of, unknown.member);
            malformed_value(py, format!("there is no type {known}"), Some(field))
        })?;
        let members = types.members(name);
        let mut words = Vec::with_capacity(32 * (1 + members.len()));
        words.extend(type_hash);
        for (member, kind) in members {
            let value = content.get_item(member)?.unwrap_or_else(|| py.None().into_bound(py));
            let location = Location::Member(location, member);
            words.extend(self.word(kind, &kind.lengths, &value, &location, depth + 1)?);
        }
        Ok(keccak256(words))
    }

    /// Return the 32 bytes of a member in the encoding of its struct.
    fn word(
        &mut self,
        kind: &Kind,
        lengths: &[String],
        value: &Bound<'_, PyAny>,
        location: &Location<'_>,
        depth: usize,
    ) -> PyResult<B256> {
        let py = value.py();
        if depth > MAX_DEPTH {
            let problem = format!("is nested deeper than {MAX_DEPTH} levels");
            return Err(location.rejected(py, problem));
        }
        self.values += 1;
        if self.values > MAX_VALUES {
            let problem = format!("has more than {MAX_VALUES} values");
            return Err(Location::Root("message").rejected(py, problem));
        }
        if let Some((length, inner)) = lengths.split_last() {
            let items = array(value, length, location)?;
            let mut words = Vec::with_capacity(32 * items.len());
            for (index, item) in items.iter().enumerate() {
                let location = Location::Item(location, index);
                words.extend(self.word(kind, inner, &item, &location, depth + 1)?);
            }
            return Ok(keccak256(words));
        }
        match &kind.stem {
            Stem::Struct if value.is_none() => Ok(B256::ZERO),
            Stem::Struct => self.hash(&kind.text, value, location, depth),
            Stem::Atom(DynSolType::String | DynSolType::Bytes) if value.is_none() => Ok(B256::ZERO),
            Stem::Atom(_) if value.is_none() => Err(location.rejected(py, "is missing")),
            Stem::Atom(atom) => encode_atom(atom, &kind.text, value, location),
            Stem::WrongSize | Stem::Unknown => {
                Err(location.rejected(py, format!("there is no type {}", kind.text)))
            }
        }
    }
}

/// The path to a value in its document.
enum Location<'a> {
    Root(&'a str),
    Member(&'a Location<'a>, &'a str),
    Item(&'a Location<'a>, usize),
}

impl fmt::Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root(name) => f.write_str(name),
            Self::Member(of, name) => write!(f, "{of}.{name}"),
            Self::Item(of, index) => write!(f, "{of}[{index}]"),
        }
    }
}

impl Location<'_> {
    fn rejected(&self, py: Python<'_>, problem: impl Into<String>) -> PyErr {
        malformed_value(py, problem.into(), Some(self.to_string()))
    }
}

fn array<'a, 'py>(
    value: &'a Bound<'py, PyAny>,
    length: &str,
    location: &Location<'_>,
) -> PyResult<&'a Bound<'py, PyList>> {
    let py = value.py();
    let items = value.cast::<PyList>().map_err(|_| location.rejected(py, "is an array"))?;
    if !length.is_empty() && length.parse() != Ok(items.len()) {
        let problem = format!("has {length} items, got {}", items.len());
        return Err(location.rejected(py, problem));
    }
    Ok(items)
}

fn encode_atom(
    kind: &DynSolType,
    text: &str,
    value: &Bound<'_, PyAny>,
    location: &Location<'_>,
) -> PyResult<B256> {
    let py = value.py();
    match kind {
        DynSolType::String => {
            let text =
                value.cast::<PyString>().map_err(|_| location.rejected(py, "is a string"))?;
            hash_of_text(text)
        }
        DynSolType::Bytes => Ok(keccak256(parsed("Data", value, location)?)),
        DynSolType::Address => Ok(B256::left_padding_from(&parsed("Address", value, location)?)),
        DynSolType::FixedBytes(size) => {
            let bytes = parsed("Data", value, location)?;
            if bytes.len() > *size {
                let problem = format!("is at most {size} bytes, got {}", bytes.len());
                return Err(location.rejected(py, problem));
            }
            Ok(B256::right_padding_from(&bytes))
        }
        DynSolType::Bool => match value.cast::<PyBool>() {
            Ok(value) => Ok(B256::with_last_byte(value.is_true().into())),
            Err(_) => Err(location.rejected(py, "is true or false")),
        },
        _ => {
            let number =
                whole_number(value)?.ok_or_else(|| location.rejected(py, "is a whole number"))?;
            if !number.fits(kind) {
                return Err(location.rejected(py, format!("does not fit {text}")));
            }
            Ok(number.word.into())
        }
    }
}

fn hash_of_text(text: &Bound<'_, PyString>) -> PyResult<B256> {
    if let Ok(text) = text.to_str() {
        return Ok(keccak256(text));
    }
    // A lone surrogate, which JSON can write.
    let bytes = text.call_method1("encode", ("utf-8", "surrogatepass"))?;
    Ok(keccak256(bytes.cast::<PyBytes>()?.as_bytes()))
}

/// Return the bytes that Python's `class` reads from a text, and say what is wrong as it does.
fn parsed(class: &str, value: &Bound<'_, PyAny>, location: &Location<'_>) -> PyResult<Vec<u8>> {
    let py = value.py();
    let text = value.cast::<PyString>().ok().and_then(|text| text.to_str().ok());
    let digits = text.and_then(|text| text.strip_prefix("0x"));
    if let Some(bytes) =
        digits.filter(|it| !it.starts_with("0x")).and_then(|it| hex::decode(it).ok())
        && (class == "Data" || bytes.len() == 20)
    {
        return Ok(bytes);
    }
    let class = py.import(intern!(py, "entresol.primitives.values"))?.getattr(class)?;
    match class.call_method1(intern!(py, "parse"), (value,)) {
        Ok(bytes) => Ok(bytes.cast::<PyBytes>()?.as_bytes().to_vec()),
        Err(error) if error.is_instance_of::<MalformedValue>(py) => {
            Err(location.rejected(py, error.value(py).getattr("problem")?.extract::<String>()?))
        }
        Err(error) => Err(error),
    }
}

/// Return a number, which may be a JSON number or a text of decimal or hex digits.
fn whole_number(value: &Bound<'_, PyAny>) -> PyResult<Option<Number>> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(text.to_str().ok().and_then(parse_number));
    }
    match value.cast::<PyInt>() {
        Ok(value) if !value.is_instance_of::<PyBool>() => number(value).map(Some),
        _ => Ok(None),
    }
}
