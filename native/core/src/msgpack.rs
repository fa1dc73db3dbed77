//! MessagePack, as far as stored records consist of it.

/// MessagePack that is read from the start.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|it| it[0])
    }

    /// Read a big-endian number of `size` bytes.
    fn number(&mut self, size: usize) -> Option<u64> {
        Some(self.take(size)?.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    fn length(&mut self, size: usize) -> Option<usize> {
        self.number(size)?.try_into().ok()
    }

    /// Read the length of an array.
    pub fn array(&mut self) -> Option<usize> {
        match self.byte()? {
            short @ 0x90..=0x9f => Some(usize::from(short & 0x0f)),
            0xdc => self.length(2),
            0xdd => self.length(4),
            _ => None,
        }
    }

    /// Read an array, each item by `read`.
    pub fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.array()?;
        // An item takes a byte at least, so no length allocates more than there is.
        let mut items = Vec::with_capacity(count.min(self.0.len()));
        for _ in 0..count {
            items.push(read(self)?);
        }
        Some(items)
    }

    /// Read a byte string.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let size = match self.byte()? {
            0xc4 => 1,
            0xc5 => 2,
            0xc6 => 4,
            _ => return None,
        };
        let length = self.length(size)?;
        self.take(length)
    }

    /// Read a boolean.
    pub fn boolean(&mut self) -> Option<bool> {
        match self.byte()? {
            0xc2 => Some(false),
            0xc3 => Some(true),
            _ => None,
        }
    }

    /// Read a number that is not negative.
    pub fn uint(&mut self) -> Option<u64> {
        match self.byte()? {
            small @ ..0x80 => Some(small.into()),
            0xcc => self.number(1),
            0xcd => self.number(2),
            0xce => self.number(4),
            0xcf => self.number(8),
            _ => None,
        }
    }

    /// Skip an item of any form that records have.
    pub fn skip(&mut self) -> Option<()> {
        // No recursion: the bytes may nest deeper than the stack.
        let mut items = 1usize;
        while items > 0 {
            items -= 1;
            match *self.0.first()? {
                0x90..=0x9f | 0xdc | 0xdd => items = items.checked_add(self.array()?)?,
                0xc0 | 0xc2 | 0xc3 => drop(self.byte()?),
                0xc4..=0xc6 => drop(self.bytes()?),
                _ => drop(self.uint()?),
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_of_any_form_is_skipped() {
        let items: [&[u8]; 7] = [
            &[0xc0],
            &[0xc3],
            &[0x7f],
            &[0xcd, 1, 2],
            &[0xc4, 2, 9, 9],
            &[0x90],
            &[0x92, 0x91, 0x05, 0xc4, 0],
        ];
        for item in items {
            let longer = [item, &[0x2a]].concat();
            let mut reader = Reader(&longer);
            reader.skip().expect("an item");
            assert_eq!(reader.uint(), Some(0x2a), "{item:?}");
        }
        for broken in
            [&[][..], &[0xc4, 2, 9], &[0x92, 1], &[0xdd, 255, 255, 255, 255], &[0xa1, 0x61]]
        {
            assert_eq!(Reader(broken).skip(), None, "{broken:?}");
        }
    }
}
