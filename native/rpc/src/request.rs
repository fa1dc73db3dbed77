//! A JSON-RPC request, with id and parameters as they were sent.

use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// What precedes the id of a response.
pub const OPEN: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":";
/// What precedes its result.
pub const RESULT: &[u8] = b",\"result\":";
/// What precedes its error.
const ERROR: &[u8] = b",\"error\":";

/// A request, with id and parameters as they were sent.
pub struct Request<'a> {
    id: &'a str,
    /// The method.
    pub method: &'a str,
    params: &'a str,
}

impl<'a> Request<'a> {
    /// Read a request from the text of a body; None if it has an unusual spelling.
    pub fn parse(text: &'a str) -> Option<Self> {
        let mut json = serde_json::Deserializer::from_str(text);
        let request = Self::deserialize(&mut json).ok()?;
        json.end().ok()?;
        Some(request)
    }

    /// Return the request whose parts were read from a batch; None if they have an unusual spelling.
    pub fn of_parts(id: &'a [u8], method: &'a str, params: &'a [u8]) -> Option<Self> {
        let is_plain = !id.is_empty();
        is_plain.then_some(Self { id: plain_text(id)?, method, params: plain_text(params)? })
    }

    /// The id.
    pub fn id(&self) -> &'a [u8] {
        self.id.as_bytes()
    }

    /// The parameters; empty if there are none.
    pub fn params(&self) -> &'a str {
        self.params
    }

    /// Whether the id can be copied, and the parameters are a list.
    pub fn is_plain(&self) -> bool {
        (self.params.is_empty() || self.params.starts_with('[')) && is_plain_id(self.id())
    }

    /// Return the parts of the response with this result.
    pub fn response<'b>(&'b self, result: &'b [u8]) -> [&'b [u8]; 5] {
        [OPEN, self.id(), RESULT, result, b"}"]
    }

    /// Return the parts of the response with this error.
    pub fn error_response<'b>(&'b self, error: &'b [u8]) -> [&'b [u8]; 5] {
        [OPEN, self.id(), ERROR, error, b"}"]
    }
}

/// Return the text of a body without white space in front; None if a string may have several spellings.
pub fn plain_text(body: &[u8]) -> Option<&str> {
    if body.contains(&b'\\') {
        return None;
    }
    Some(str::from_utf8(body).ok()?.trim_start_matches([' ', '\t', '\r', '\n']))
}

impl<'a> Deserialize<'a> for Request<'a> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RequestVisitor)
    }
}

/// Reads a request. Deriving it would accept an array too, since serde reads a struct from either.
struct RequestVisitor;

impl<'a> Visitor<'a> for RequestVisitor {
    type Value = Request<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a request")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut members: A) -> Result<Request<'a>, A::Error> {
        let (mut version, mut method) = (None, None);
        let (mut id, mut params) = (None::<&RawValue>, None::<&RawValue>);
        while let Some(key) = members.next_key::<&str>()? {
            let is_new = match key {
                "jsonrpc" => version.replace(members.next_value()?).is_none(),
                "id" => id.replace(members.next_value()?).is_none(),
                "method" => method.replace(members.next_value()?).is_none(),
                "params" => params.replace(members.next_value()?).is_none(),
                _ => false,
            };
            if !is_new {
                return Err(A::Error::custom("an unknown or repeated member"));
            }
        }
        match (version, id, method) {
            (Some("2.0"), Some(id), Some(method)) => {
                Ok(Request { id: id.get(), method, params: params.map_or("", RawValue::get) })
            }
            _ => Err(A::Error::custom("a missing member")),
        }
    }
}

/// Whether an id is a whole number or a string of ASCII characters.
fn is_plain_id(id: &[u8]) -> bool {
    match id {
        [b'"', text @ .., b'"'] => text.iter().all(|byte| matches!(byte, b' '..=b'~')),
        number => number.iter().all(u8::is_ascii_digit),
    }
}
