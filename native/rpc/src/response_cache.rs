//! Cache of JSON-RPC results by method and parameters.
//!
//! Clients repeat the same requests, and parsing takes most of the time of a short response. So the
//! cache finds method and parameters in a request and compares their bytes without interpreting them.
//! A request in an unusual spelling is a miss.

use std::cell::Cell;
use std::fmt;

use alloy_primitives::map::HashMap;
use serde::Deserializer;
use serde::de::{Error, SeqAccess, Visitor};

use super::request::{OPEN, RESULT, Request};

/// Cached results of one method, by parameters.
#[derive(Debug, Default)]
struct Method {
    hits: Cell<u64>,
    results: HashMap<Box<[u8]>, Box<[u8]>>,
}

/// A request whose result is cached.
#[derive(Debug)]
pub struct Hit<'a> {
    id: &'a [u8],
    method: &'a Method,
    result: &'a [u8],
}

impl Hit<'_> {
    fn size(&self) -> usize {
        OPEN.len() + self.id.len() + RESULT.len() + self.result.len() + 1
    }

    fn parts(&self) -> [&[u8]; 5] {
        [OPEN, self.id, RESULT, self.result, b"}"]
    }

    fn count(&self) {
        self.method.hits.set(self.method.hits.get() + 1);
    }
}

/// The response to a request or a batch, still to be written.
#[derive(Debug)]
pub enum Response<'a> {
    /// To a request.
    Single(Hit<'a>),
    /// To a batch.
    Batch(Vec<Hit<'a>>),
}

impl Response<'_> {
    /// Return the size in bytes.
    pub fn size(&self) -> usize {
        match self {
            Self::Single(hit) => hit.size(),
            Self::Batch(hits) => hits.iter().map(Hit::size).sum::<usize>() + hits.len() + 1,
        }
    }

    /// Write the response to `out`, which has exactly its size.
    pub fn write(&self, mut out: &mut [u8]) {
        let mut put = |part: &[u8]| {
            let (head, rest) = std::mem::take(&mut out).split_at_mut(part.len());
            head.copy_from_slice(part);
            out = rest;
        };
        match self {
            Self::Single(hit) => hit.parts().into_iter().for_each(put),
            Self::Batch(hits) => {
                for (index, hit) in hits.iter().enumerate() {
                    put(if index == 0 { b"[" } else { b"," });
                    hit.parts().into_iter().for_each(&mut put);
                }
                put(b"]");
            }
        }
    }

    fn count(&self) {
        match self {
            Self::Single(hit) => hit.count(),
            Self::Batch(hits) => hits.iter().for_each(Hit::count),
        }
    }
}

/// Results by method and parameters, up to a number of bytes.
#[derive(Debug)]
pub struct ResponseCache {
    methods: HashMap<Box<[u8]>, Method>,
    bytes: usize,
    capacity: usize,
    batch: usize,
}

/// Approximate overhead of an entry, beside parameters and result.
const ENTRY_BYTES: usize = 96;

impl ResponseCache {
    /// Hold at most `capacity` bytes, and recognise batches of at most `batch` requests.
    pub fn new(capacity: usize, batch: usize) -> Self {
        Self { methods: HashMap::default(), bytes: 0, capacity, batch }
    }

    /// Insert a result. If it does not fit, clear the cache first.
    pub fn insert(&mut self, method: &[u8], params: &[u8], result: &[u8]) {
        let size = params.len() + result.len() + ENTRY_BYTES;
        if size > self.capacity {
            return;
        }
        if let Some(known) = self.methods.get_mut(method)
            && let Some(old) = known.results.remove(params)
        {
            self.bytes -= params.len() + old.len() + ENTRY_BYTES;
        }
        if self.bytes + size > self.capacity {
            self.clear();
        }
        self.bytes += size;
        let known = self.methods.entry(method.into()).or_default();
        known.results.insert(params.into(), result.into());
    }

    /// Remove all results, but keep the counts of hits.
    pub fn clear(&mut self) {
        self.methods.values_mut().for_each(|method| method.results.clear());
        self.bytes = 0;
    }

    /// Return the size of what is cached, in bytes.
    pub fn size(&self) -> usize {
        self.bytes
    }

    /// Return the number of hits of each method.
    pub fn hits(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.methods.iter().map(|(name, method)| (&**name, method.hits.get()))
    }

    /// Return the response to a request, if its result is cached.
    pub fn single<'a>(&'a self, request: &Request<'a>) -> Option<Response<'a>> {
        let response = Response::Single(self.hit(request)?);
        response.count();
        Some(response)
    }

    /// Return the response to the text of a batch, if all of its results are cached.
    pub fn batch<'a>(&'a self, text: &'a str) -> Option<Response<'a>> {
        let mut json = serde_json::Deserializer::from_str(text);
        let response = Response::Batch(json.deserialize_seq(Batch { cache: self }).ok()?);
        json.end().ok()?;
        response.count();
        Some(response)
    }

    fn hit<'a>(&'a self, request: &Request<'a>) -> Option<Hit<'a>> {
        let method = self.methods.get(request.method.as_bytes())?;
        let result = method.results.get(request.params().as_bytes())?;
        request.is_plain().then(|| Hit { id: request.id(), method, result })
    }
}

/// Looks up the requests of a batch, up to the first miss.
struct Batch<'a> {
    cache: &'a ResponseCache,
}

impl<'a> Visitor<'a> for Batch<'a> {
    type Value = Vec<Hit<'a>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a batch of cached requests")
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut requests: A) -> Result<Self::Value, A::Error> {
        let miss = || A::Error::custom("not cached");
        let mut hits = Vec::with_capacity(64);
        while let Some(request) = requests.next_element::<Request<'a>>()? {
            if hits.len() == self.cache.batch {
                return Err(miss());
            }
            hits.push(self.cache.hit(&request).ok_or_else(miss)?);
        }
        if hits.is_empty() { Err(miss()) } else { Ok(hits) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::plain_text;

    fn cache() -> ResponseCache {
        let mut cache = ResponseCache::new(10_000, 3);
        cache.insert(b"eth_chainId", b"[]", b"\"0x1\"");
        cache.insert(b"eth_chainId", b"", b"\"0x1\"");
        cache.insert(b"eth_getBlock", b"[\"0x5\",{\"a\":[1]}]", b"{}");
        cache
    }

    fn response(cache: &ResponseCache, body: &str) -> Option<String> {
        let text = plain_text(body.as_bytes())?;
        let response = match text.starts_with('[') {
            true => cache.batch(text)?,
            false => cache.single(&Request::parse(text)?)?,
        };
        let mut out = vec![0; response.size()];
        response.write(&mut out);
        Some(String::from_utf8(out).expect("text"))
    }

    #[test]
    fn a_hit_carries_the_id_of_its_request() {
        for (id, params) in [("1", r#","params":[]"#), ("\"a-b\"", ""), ("0", r#", "params" : []"#)]
        {
            let body =
                format!(r#" {{"id": {id},"method":"eth_chainId","jsonrpc":"2.0"{params}}} "#);
            let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"0x1"}}"#);
            assert_eq!(response(&cache(), &body), Some(expected));
        }
    }

    #[test]
    fn an_unusual_spelling_or_an_unknown_request_is_a_miss() {
        for body in [
            "",
            "{}",
            "[]",
            "1",
            r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[1]}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"eth_other","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"eth_chain\u0049d","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":["#,
            r#"{"jsonrpc":"1.0","id":1,"method":"eth_chainId"}"#,
            r#"{"id":1,"method":"eth_chainId"}"#,
            r#"{"jsonrpc":"2.0","method":"eth_chainId"}"#,
            r#"{"jsonrpc":"2.0","id":01,"method":"eth_chainId"}"#,
            r#"{"jsonrpc":"2.0","id":-1,"method":"eth_chainId"}"#,
            r#"{"jsonrpc":"2.0","id":1.0,"method":"eth_chainId"}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"eth_chainId"}"#,
            r#"{"jsonrpc":"2.0","id":"é","method":"eth_chainId"}"#,
            "{\"jsonrpc\":\"2.0\",\"id\":\"a\n\",\"method\":\"eth_chainId\"}",
            "\u{c}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"eth_chainId\"}",
            r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":null}"#,
            r#"{"jsonrpc":"2.0","\u0069d":1,"method":"eth_chainId"}"#,
            r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"eth_chainId"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","more":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId"} 1"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","#,
            r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId",}"#,
        ] {
            assert_eq!(response(&cache(), body), None, "{body}");
        }
    }

    #[test]
    fn a_batch_is_a_hit_only_as_a_whole() {
        let chain = r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}"#;
        let block =
            r#"{"jsonrpc":"2.0","id":2,"method":"eth_getBlock","params":["0x5",{"a":[1]}]}"#;
        let body = format!("[{chain} , {block}]");
        let expected =
            r#"[{"jsonrpc":"2.0","id":1,"result":"0x1"},{"jsonrpc":"2.0","id":2,"result":{}}]"#;
        assert_eq!(response(&cache(), &body), Some(expected.into()));
        for body in [
            format!("[{chain},{}]", block.replace('5', "6")),
            format!("[{chain},{chain},{chain},{chain}]"),
            format!("[{chain},]"),
            format!("[{chain}"),
            format!("[[{chain}]]"),
            r#"[["2.0",1,"eth_chainId",[]]]"#.into(),
        ] {
            assert_eq!(response(&cache(), &body), None, "{body}");
        }
    }

    #[test]
    fn clearing_the_cache_keeps_the_counts_of_hits() {
        let mut cache = cache();
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}"#;
        assert!(response(&cache, body).is_some());
        cache.clear();
        assert_eq!(response(&cache, body), None);
        let hits: Vec<_> = cache.hits().filter(|(_, count)| *count > 0).collect();
        assert_eq!(hits, [(&b"eth_chainId"[..], 1)]);
    }

    #[test]
    fn the_cache_stays_within_its_capacity() {
        let mut cache = ResponseCache::new(3 * ENTRY_BYTES, 1);
        for params in [b"1", b"2", b"2", b"3"] {
            cache.insert(b"m", params, b"r");
            assert!(cache.size() <= cache.capacity);
        }
        cache.insert(b"m", b"4", &[b'r'; 3 * ENTRY_BYTES]);
        let count = cache.methods.values().map(|method| method.results.len()).sum::<usize>();
        assert_eq!(count, 1);
    }
}
