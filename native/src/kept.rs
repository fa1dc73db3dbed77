//! Answers that are kept with the question, and given again with another id.
//!
//! Clients ask the same again and again, and most of the time that a short answer takes goes into
//! reading the question. So a question is recognised here, by the bytes of its method and its
//! parameters, and not understood: whatever is not written as clients usually do, or was not
//! answered before, is left to the caller.

use std::cell::Cell;

use alloy_primitives::map::HashMap;

const OPEN: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":";
const RESULT: &[u8] = b",\"result\":";

/// A question whose answer is known.
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

/// The answer to a request or a batch, in pieces that are still to be put together.
#[derive(Debug)]
pub struct Answer<'a> {
    hits: Vec<Hit<'a>>,
    is_batch: bool,
}

impl Answer<'_> {
    /// How many bytes it has.
    pub fn size(&self) -> usize {
        let around = if self.is_batch { self.hits.len() + 1 } else { 0 };
        self.hits.iter().map(Hit::len).sum::<usize>() + around
    }

    /// Write it to `out`, which has just its size.
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

/// What was answered to one method.
#[derive(Debug, Default)]
struct Method {
    given: Cell<u64>,
    answers: HashMap<Box<[u8]>, Box<[u8]>>,
}

/// Answers by method and parameters, up to a number of bytes.
#[derive(Debug)]
pub struct Kept {
    methods: HashMap<Box<[u8]>, Method>,
    bytes: usize,
    capacity: usize,
    batch: usize,
}

/// What an answer takes besides its own bytes and its question's, roughly.
const ENTRY_BYTES: usize = 96;

impl Kept {
    /// Keep at most `capacity` bytes, and answer batches of at most `batch` requests.
    pub fn new(capacity: usize, batch: usize) -> Self {
        Self { methods: HashMap::default(), bytes: 0, capacity, batch }
    }

    /// Keep an answer. If there is no room, all others are forgotten first.
    pub fn keep(&mut self, method: &[u8], params: &[u8], result: &[u8]) {
        let size = params.len() + result.len() + ENTRY_BYTES;
        if size > self.capacity {
            return;
        }
        if let Some(known) = self.methods.get_mut(method)
            && let Some(old) = known.answers.remove(params)
        {
            self.bytes -= params.len() + old.len() + ENTRY_BYTES;
        }
        if self.bytes + size > self.capacity {
            self.forget();
        }
        self.bytes += size;
        let known = self.methods.entry(method.into()).or_default();
        known.answers.insert(params.into(), result.into());
    }

    /// Forget all answers, but not how often some were given.
    pub fn forget(&mut self) {
        self.methods.values_mut().for_each(|method| method.answers.clear());
        self.bytes = 0;
    }

    /// How often answers to each method were given.
    pub fn given(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.methods.iter().map(|(name, method)| (&**name, method.given.get()))
    }

    /// Return the answer to a request, or to a batch of them, if there is one to all of it.
    pub fn answer<'a>(&'a self, body: &'a [u8]) -> Option<Answer<'a>> {
        let mut words = Words { rest: body };
        let is_batch = words.eat(b'[');
        let mut questions = Vec::with_capacity(if is_batch { 64 } else { 1 });
        questions.push(words.question()?);
        while is_batch && words.eat(b',') {
            if questions.len() == self.batch {
                return None;
            }
            questions.push(words.question()?);
        }
        if is_batch && !words.eat(b']') || !words.is_at_end() {
            return None;
        }
        self.find(&questions, is_batch)
    }

    fn find<'a>(&'a self, questions: &[Question<'a>], is_batch: bool) -> Option<Answer<'a>> {
        let mut asked = Vec::with_capacity(questions.len());
        let mut hits = Vec::with_capacity(questions.len());
        for question in questions {
            let method = self.methods.get(question.method)?;
            hits.push(Hit { id: question.id, result: method.answers.get(question.params)? });
            asked.push(method);
        }
        for method in asked {
            method.given.set(method.given.get() + 1);
        }
        Some(Answer { hits, is_batch })
    }
}

struct Question<'a> {
    id: &'a [u8],
    method: &'a [u8],
    params: &'a [u8],
}

/// The rest of a text, of which one word after the other is taken.
struct Words<'a> {
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    /// Take an object with the members of a request, each once and in any order.
    fn question(&mut self) -> Option<Question<'a>> {
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
        Some(Question { id: id?, method: method?, params: params.unwrap_or_default() })
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

    /// Take a character, if it is the next one.
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

    /// Take a string of plain characters; return what is between its quotes.
    fn string(&mut self) -> Option<&'a [u8]> {
        if !self.eat(b'"') {
            return None;
        }
        let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && *byte != b'"' && *byte != b'\\';
        let length = self.rest.iter().position(|byte| !is_plain(byte))?;
        let text = self.take(length);
        self.eat(b'"').then_some(text)
    }

    /// Take a whole number or a string, as it is written.
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

    /// Take an array, up to the bracket that closes it. What is inside only has to be the same as in
    /// a question that was understood.
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

    fn kept() -> Kept {
        let mut kept = Kept::new(10_000, 3);
        kept.keep(b"eth_chainId", b"[]", b"\"0x1\"");
        kept.keep(b"eth_chainId", b"", b"\"0x1\"");
        kept.keep(b"eth_getBlock", b"[\"0x5\",{\"a\":[1]}]", b"{}");
        kept
    }

    fn answer(kept: &Kept, body: &str) -> Option<String> {
        let answer = kept.answer(body.as_bytes())?;
        let mut out = vec![0; answer.size()];
        answer.write(&mut out);
        Some(String::from_utf8(out).expect("text"))
    }

    #[test]
    fn a_question_that_was_answered_is_answered_with_its_own_id() {
        for (id, params) in [("1", r#","params":[]"#), ("\"a-b\"", ""), ("0", r#", "params" : []"#)]
        {
            let body =
                format!(r#" {{"id": {id},"method":"eth_chainId","jsonrpc":"2.0"{params}}} "#);
            let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"0x1"}}"#);
            assert_eq!(answer(&kept(), &body), Some(expected));
        }
    }

    #[test]
    fn what_is_written_otherwise_or_was_not_asked_is_left_to_others() {
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
            assert_eq!(answer(&kept(), body), None, "{body}");
        }
    }

    #[test]
    fn a_batch_is_answered_whole_or_not_at_all() {
        let chain = r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}"#;
        let block =
            r#"{"jsonrpc":"2.0","id":2,"method":"eth_getBlock","params":["0x5",{"a":[1]}]}"#;
        let body = format!("[{chain} , {block}]");
        let expected =
            r#"[{"jsonrpc":"2.0","id":1,"result":"0x1"},{"jsonrpc":"2.0","id":2,"result":{}}]"#;
        assert_eq!(answer(&kept(), &body), Some(expected.into()));
        for body in [
            format!("[{chain},{}]", block.replace('5', "6")),
            format!("[{chain},{chain},{chain},{chain}]"),
            format!("[{chain},]"),
            format!("[{chain}"),
            format!("[[{chain}]]"),
        ] {
            assert_eq!(answer(&kept(), &body), None, "{body}");
        }
    }

    #[test]
    fn what_was_given_is_counted_also_when_all_is_forgotten() {
        let mut kept = kept();
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}"#;
        assert!(answer(&kept, body).is_some());
        kept.forget();
        assert_eq!(answer(&kept, body), None);
        let given: Vec<_> = kept.given().filter(|(_, count)| *count > 0).collect();
        assert_eq!(given, [(&b"eth_chainId"[..], 1)]);
    }

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        let mut kept = Kept::new(3 * ENTRY_BYTES, 1);
        for params in [b"1", b"2", b"2", b"3"] {
            kept.keep(b"m", params, b"r");
            assert!(kept.bytes <= kept.capacity);
        }
        kept.keep(b"m", b"4", &[b'r'; 3 * ENTRY_BYTES]);
        let count = kept.methods.values().map(|method| method.answers.len()).sum::<usize>();
        assert_eq!(count, 1);
    }
}
