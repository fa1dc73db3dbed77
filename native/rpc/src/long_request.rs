//! Long requests: where their parts are, and the data of one that has nothing else.

use std::fmt;
use std::ops::Range;

use alloy_primitives::hex;
use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A request in a body: where id and parameters are, both empty if there are none.
#[derive(Debug, PartialEq)]
pub struct LongRequest {
    /// The method.
    pub method: String,
    /// The id.
    pub id: Range<usize>,
    /// The parameters.
    pub params: Range<usize>,
    /// The only parameter, if it is data.
    pub data: Option<Vec<u8>>,
}

/// Read the requests of a body, and whether they are a batch; None if one of them is something else.
pub fn read_long(body: &[u8]) -> Option<(bool, Vec<LongRequest>)> {
    let text = str::from_utf8(body).ok()?;
    let is_batch = text.trim_start_matches([' ', '\t', '\r', '\n']).starts_with('[');
    let mut json = serde_json::Deserializer::from_str(text);
    let parts = if is_batch {
        Vec::<Parts<'_>>::deserialize(&mut json).ok()?
    } else {
        vec![Parts::deserialize(&mut json).ok()?]
    };
    json.end().ok()?;
    Some((is_batch, parts.into_iter().map(|it| it.placed(text)).collect()))
}

/// Return the bytes of parameters that are one string of hex digits.
fn only_data(params: &str) -> Option<Vec<u8>> {
    let item = params.strip_prefix('[')?.strip_suffix(']')?.trim();
    data(item.strip_prefix('"')?.strip_suffix('"')?)
}

/// Return the bytes of `0x` and hex digits.
pub fn data(text: &str) -> Option<Vec<u8>> {
    // The library would accept two prefixes.
    let digits = text.strip_prefix("0x").filter(|digits| !digits.starts_with("0x"))?;
    hex::decode(digits).ok()
}

/// The members of a request, as they were sent. Of a repeated one the last counts, as in Python.
struct Parts<'a> {
    method: String,
    id: &'a str,
    params: &'a str,
}

impl Parts<'_> {
    fn placed(&self, text: &str) -> LongRequest {
        let place = |part: &str| {
            let start =
                if part.is_empty() { 0 } else { part.as_ptr() as usize - text.as_ptr() as usize };
            start..start + part.len()
        };
        LongRequest {
            method: self.method.clone(),
            id: place(self.id),
            params: place(self.params),
            data: only_data(self.params),
        }
    }
}

impl<'a> Deserialize<'a> for Parts<'a> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PartsVisitor)
    }
}

struct PartsVisitor;

impl<'a> Visitor<'a> for PartsVisitor {
    type Value = Parts<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a request")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut members: A) -> Result<Parts<'a>, A::Error> {
        let (mut version, mut method) = (None::<String>, None);
        let (mut id, mut params) = ("", "");
        while let Some(key) = members.next_key::<String>()? {
            match key.as_str() {
                "jsonrpc" => version = Some(members.next_value()?),
                "id" => id = members.next_value::<&RawValue>()?.get(),
                "method" => method = Some(members.next_value()?),
                "params" => params = members.next_value::<&RawValue>()?.get(),
                _ => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        match (version.as_deref(), method) {
            (Some("2.0"), Some(method)) => Ok(Parts { method, id, params }),
            _ => Err(A::Error::custom("a missing member")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(body: &[u8], place: &Range<usize>) -> String {
        String::from_utf8(body[place.clone()].to_vec()).unwrap()
    }

    #[test]
    fn a_request_has_its_parts_and_its_data() {
        let body =
            br#" {"other":[1],"jsonrpc":"2.0","id": "a","params":[ "0x0aFF" ],"method":"eth_x"}"#;
        let (is_batch, found) = read_long(body).unwrap();
        assert!(!is_batch);
        assert_eq!(found[0].method, "eth_x");
        assert_eq!(part(body, &found[0].id), "\"a\"");
        assert_eq!(part(body, &found[0].params), "[ \"0x0aFF\" ]");
        assert_eq!(found[0].data, Some(vec![0x0a, 0xff]));
    }

    #[test]
    fn other_parameters_have_no_data() {
        for params in [
            r#"["0x1"]"#,
            r#"["0xzz"]"#,
            r#"["0x11",1]"#,
            r#"["0x11","0x22"]"#,
            r#"["0x0x11"]"#,
            "[]",
            "{}",
            "1",
        ] {
            let body = format!(r#"{{"jsonrpc":"2.0","method":"a","params":{params}}}"#);
            let (_, found) = read_long(body.as_bytes()).unwrap();
            assert_eq!(found[0].data, None, "{params}");
            assert_eq!(found[0].id, 0..0);
        }
    }

    #[test]
    fn a_batch_has_several() {
        let one = r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#;
        let (is_batch, found) = read_long(format!("[{one},{one}]").as_bytes()).unwrap();
        assert!(is_batch);
        assert_eq!(found.len(), 2);
        assert_eq!(found[1].params, 0..0);
    }

    #[test]
    fn what_is_no_request_is_left_to_others() {
        for body in [
            "",
            "1",
            "{}",
            "[1]",
            r#"{"jsonrpc":"1.0","method":"a"}"#,
            r#"{"jsonrpc":"2.0","method":"a"} x"#,
        ] {
            assert_eq!(read_long(body.as_bytes()), None, "{body}");
        }
        assert_eq!(read_long(b"{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}"), None);
    }
}
