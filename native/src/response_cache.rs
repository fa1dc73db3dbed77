//! Cache of JSON-RPC results by method and parameters.
//!
//! Clients repeat the same requests, and parsing takes most of the time of a short response. So the
//! cache compares the bytes of method and parameters without interpreting them. A request in an
//! unusual spelling is a miss.

use std::cell::Cell;

use alloy_primitives::map::HashMap;

const OPEN: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":";
const RESULT: &[u8] = b",\"result\":";

/// A request whose result is cached.
#[derive(Debug)]
struct Hit<'a> {
    id: &'a [u8],
    result: &'a [u8],
}

impl Hit<'_> {
    fn len(&self) -> usize {
        OPEN.len() + self.id.len() + RESULT.len() + self.result.len() + 1
    }

    fn parts(&self) -> [&[u8]; 5] {
        [OPEN, self.id, RESULT, self.result, b"}"]
    }
}

/// The response to a request or a batch, still to be written.
#[derive(Debug)]
pub struct Response<'a> {
    hits: Vec<Hit<'a>>,
    is_batch: bool,
}

impl Response<'_> {
    /// Return the size in bytes.
    pub fn size(&self) -> usize {
        let separators = if self.is_batch { self.hits.len() + 1 } else { 0 };
        self.hits.iter().map(Hit::len).sum::<usize>() + separators
    }

    /// Write the response to `out`, which has exactly its size.
    pub fn write(&self, mut out: &mut [u8]) {
        let mut put = |part: &[u8]| {
            let (head, rest) = std::mem::take(&mut out).split_at_mut(part.len());
            head.copy_from_slice(part);
            out = rest;
        };
        for (index, hit) in self.hits.iter().enumerate() {
            if self.is_batch {
                put(if index == 0 { b"[" } else { b"," });
            }
            hit.parts().into_iter().for_each(&mut put);
        }
        if self.is_batch {
            put(b"]");
        }
    }
}

/// Cached results of one method, by parameters.
#[derive(Debug, Default)]
struct Method {
    hits: Cell<u64>,
    results: HashMap<Box<[u8]>, Box<[u8]>>,
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

    /// Return the number of hits of each method.
    pub fn hits(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.methods.iter().map(|(name, method)| (&**name, method.hits.get()))
    }

    /// Return the response to a request, or to a batch if all of its results are cached.
    pub fn response<'a>(&'a self, body: &'a [u8]) -> Option<Response<'a>> {
        let mut scanner = Scanner { rest: body };
        let is_batch = scanner.eat(b'[');
        let mut requests = Vec::with_capacity(if is_batch { 64 } else { 1 });
        requests.push(scanner.request()?);
        while is_batch && scanner.eat(b',') {
            if requests.len() == self.batch {
                return None;
            }
            requests.push(scanner.request()?);
        }
        if is_batch && !scanner.eat(b']') || !scanner.is_at_end() {
            return None;
        }
        self.find(&requests, is_batch)
    }

    fn find<'a>(&'a self, requests: &[Request<'a>], is_batch: bool) -> Option<Response<'a>> {
        let mut methods = Vec::with_capacity(requests.len());
        let mut hits = Vec::with_capacity(requests.len());
        for request in requests {
            let method = self.methods.get(request.method)?;
            hits.push(Hit { id: request.id, result: method.results.get(request.params)? });
            methods.push(method);
        }
        for method in methods {
            method.hits.set(method.hits.get() + 1);
        }
        Some(Response { hits, is_batch })
    }
}

struct Request<'a> {
    id: &'a [u8],
    method: &'a [u8],
    params: &'a [u8],
}

/// Reads the JSON of requests, token by token.
struct Scanner<'a> {
    rest: &'a [u8],
}

impl<'a> Scanner<'a> {
    /// Read a request object: its members once each, in any order.
    fn request(&mut self) -> Option<Request<'a>> {
        let (mut version, mut id, mut method, mut params) = (None, None, None, None);
        if !self.eat(b'{') {
            return None;
        }
        loop {
            let key = self.string()?;
            if !self.eat(b':') {
                return None;
            }
            let (slot, value) = match key {
                b"jsonrpc" => (&mut version, self.string()?),
                b"id" => (&mut id, self.id()?),
                b"method" => (&mut method, self.string()?),
                b"params" => (&mut params, self.list()?),
                _ => return None,
            };
            if slot.replace(value).is_some() {
                return None;
            }
            if self.eat(b'}') {
                break;
            }
            if !self.eat(b',') {
                return None;
            }
        }
        (version? == b"2.0").then_some(())?;
        Some(Request { id: id?, method: method?, params: params.unwrap_or_default() })
    }

    fn skip_spaces(&mut self) {
        while let [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    fn is_at_end(&mut self) -> bool {
        self.skip_spaces();
        self.rest.is_empty()
    }

    /// Read a character, if it is the next one.
    fn eat(&mut self, character: u8) -> bool {
        self.skip_spaces();
        match self.rest {
            [first, rest @ ..] if *first == character => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        taken
    }

    /// Read a string without escapes; return what is between its quotes.
    fn string(&mut self) -> Option<&'a [u8]> {
        if !self.eat(b'"') {
            return None;
        }
        let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && *byte != b'"' && *byte != b'\\';
        let length = self.rest.iter().position(|byte| !is_plain(byte))?;
        let text = self.take(length);
        self.eat(b'"').then_some(text)
    }

    /// Read an id, a whole number or a string, verbatim.
    fn id(&mut self) -> Option<&'a [u8]> {
        self.skip_spaces();
        let start = self.rest;
        if start.first() == Some(&b'"') {
            self.string()?;
            return Some(&start[..start.len() - self.rest.len()]);
        }
        let length = start.iter().position(|byte| !byte.is_ascii_digit())?;
        let is_number = length == 1 || length > 1 && start[0] != b'0';
        is_number.then(|| self.take(length))
    }

    /// Read an array up to its closing bracket. Its contents need no validation: a hit has the same
    /// bytes as a request that was parsed.
    fn list(&mut self) -> Option<&'a [u8]> {
        self.skip_spaces();
        if self.rest.first() != Some(&b'[') {
            return None;
        }
        let (mut depth, mut in_string) = (0_usize, false);
        for (index, byte) in self.rest.iter().enumerate() {
            match byte {
                b'\\' => return None,
                b'"' => in_string = !in_string,
                b'[' | b'{' if !in_string => depth += 1,
                b']' | b'}' if !in_string => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(self.take(index + 1));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache() -> ResponseCache {
        let mut cache = ResponseCache::new(10_000, 3);
        cache.insert(b"eth_chainId", b"[]", b"\"0x1\"");
        cache.insert(b"eth_chainId", b"", b"\"0x1\"");
        cache.insert(b"eth_getBlock", b"[\"0x5\",{\"a\":[1]}]", b"{}");
        cache
    }

    fn response(cache: &ResponseCache, body: &str) -> Option<String> {
        let response = cache.response(body.as_bytes())?;
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
            assert!(cache.bytes <= cache.capacity);
        }
        cache.insert(b"m", b"4", &[b'r'; 3 * ENTRY_BYTES]);
        let count = cache.methods.values().map(|method| method.results.len()).sum::<usize>();
        assert_eq!(count, 1);
    }
}
