//! What a command has of the server: words, keys, answers, replication.

#![allow(unsafe_code)] // the server's functions

use crate::{
    raw::{self, Api},
    reply::{Failure, Reply},
    types::{self, Value},
};
use std::{
    ffi::{CStr, CString, c_char, c_int, c_long, c_longlong},
    marker::PhantomData,
    time::{Duration, SystemTime},
};

/// The server, for as long as it waits for a command.
#[derive(Clone, Copy)]
pub(crate) struct Server<'a> {
    api: &'static Api,
    ctx: *mut raw::Ctx,
    _call: PhantomData<&'a ()>,
}

/// A word of a command.
#[derive(Clone, Copy)]
pub(crate) struct Word<'a> {
    text: *mut raw::Text,
    bytes: &'a [u8],
}

impl<'a> Word<'a> {
    pub(crate) fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// A whole number without sign.
    pub(crate) fn number(self) -> Option<u64> {
        let digits = self.bytes.first().is_some_and(u8::is_ascii_digit);
        std::str::from_utf8(self.bytes).ok().filter(|_| digits)?.parse().ok()
    }

    /// Whether it is this word, in capitals or not.
    pub(crate) fn is(self, word: &str) -> bool {
        self.bytes.eq_ignore_ascii_case(word.as_bytes())
    }
}

/// A word in what is sent to replicas.
pub(crate) enum Sent<'a> {
    Word(Word<'a>),
    Number(u64),
    Text(&'static str),
    Bytes(&'a [u8]),
}

impl<'a> Server<'a> {
    /// # Safety
    /// `ctx` is the server's, and lives as long as `'a`.
    pub(crate) unsafe fn new(ctx: *mut raw::Ctx) -> Option<Server<'a>> {
        Some(Server { api: raw::api()?, ctx, _call: PhantomData })
    }

    /// # Safety
    /// `texts` are `count` strings of the server's that live as long as `'a`: one at least, the command's name, which is left out.
    pub(crate) unsafe fn words(self, texts: *mut *mut raw::Text, count: c_int) -> Vec<Word<'a>> {
        let count = usize::try_from(count).unwrap_or(0);
        // SAFETY: the caller's promise.
        let texts = unsafe { std::slice::from_raw_parts(texts, count) };
        texts
            .iter()
            .skip(1)
            .map(|&text| {
                let mut len = 0;
                // SAFETY: a string, and room for its length.
                let at = unsafe { (self.api.string_ptr_len)(text, &raw mut len) };
                // SAFETY: so many bytes, which nobody changes during the call.
                Word { text, bytes: unsafe { std::slice::from_raw_parts(at.cast(), len) } }
            })
            .collect()
    }

    /// Microseconds since 1970, by the system's clock.
    pub(crate) fn micros(self) -> u64 {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    }

    /// Opens a key, to be read alone or changed as well.
    pub(crate) fn open(self, name: Word<'a>, writes: bool) -> Key<'a> {
        let mode = if writes { raw::READ | raw::WRITE } else { raw::READ };
        // SAFETY: a context and a string of this call.
        let key = unsafe { (self.api.open_key)(self.ctx, name.text, mode) };
        Key { server: self, name, key }
    }

    /// Sends `WL.AT` to the replicas and the append-only file: this command, at this time, with these words.
    pub(crate) fn replicate_at<'w>(self, micros: u64, verb: &CStr, words: impl Iterator<Item = Sent<'w>>) {
        let micros = c_longlong::try_from(micros).unwrap_or(c_longlong::MAX);
        self.with_texts(words, |texts| {
            let (command, format) = (c"WL.AT".as_ptr(), c"lcv".as_ptr());
            // SAFETY: what the format says: a number, a string that ends with 0, and strings with how many there are.
            unsafe {
                (self.api.replicate)(
                    self.ctx,
                    command,
                    format,
                    micros,
                    verb.as_ptr(),
                    texts.as_ptr(),
                    texts.len(),
                );
            }
        });
    }

    /// Sends `WL.LOAD`.
    pub(crate) fn replicate_load<'w>(self, words: impl Iterator<Item = Sent<'w>>) {
        self.with_texts(words, |texts| {
            let (command, format) = (c"WL.LOAD".as_ptr(), c"v".as_ptr());
            // SAFETY: what the format says: strings with how many there are.
            unsafe { (self.api.replicate)(self.ctx, command, format, texts.as_ptr(), texts.len()) };
        });
    }

    /// Words as strings of the server's: those that are not yet are made, for so long.
    fn with_texts<'w>(self, words: impl Iterator<Item = Sent<'w>>, send: impl FnOnce(&[*mut raw::Text])) {
        let mut made = Vec::new();
        let texts: Vec<*mut raw::Text> = words
            .map(|word| {
                let text = match word {
                    Sent::Word(word) => return word.text,
                    Sent::Number(number) => self.text(number.to_string().as_bytes()),
                    Sent::Text(text) => self.text(text.as_bytes()),
                    Sent::Bytes(bytes) => self.text(bytes),
                };
                made.push(text);
                text
            })
            .collect();
        send(&texts);
        for text in made {
            // SAFETY: made above; the server keeps what it needs.
            unsafe { (self.api.free_string)(self.ctx, text) };
        }
    }

    fn text(self, bytes: &[u8]) -> *mut raw::Text {
        // SAFETY: so many bytes.
        unsafe { (self.api.create_string)(self.ctx, bytes.as_ptr().cast(), bytes.len()) }
    }

    /// Tells whoever watches the key, or waits for notifications, that it was changed.
    pub(crate) fn changed(self, name: Word<'_>) {
        // SAFETY: a context and a string of this call.
        unsafe { (self.api.signal_modified)(self.ctx, name.text) };
    }

    pub(crate) fn notify(self, event: &CStr, name: Word<'_>) {
        // SAFETY: a context and strings of this call.
        unsafe { (self.api.notify)(self.ctx, raw::NOTIFY_MODULE, event.as_ptr(), name.text) };
    }

    pub(crate) fn log(self, level: &CStr, what: &str) {
        let Ok(what) = CString::new(what) else { return };
        // SAFETY: strings, and a format with one of them.
        unsafe { (self.api.log)(self.ctx, level.as_ptr(), c"%s".as_ptr(), what.as_ptr()) };
    }

    /// Sends an answer.
    pub(crate) fn reply(self, answer: &Result<Reply, Failure>) -> c_int {
        match answer {
            Ok(reply) => self.send(reply),
            // SAFETY: a context of this call.
            Err(Failure::Arity) => unsafe { (self.api.wrong_arity)(self.ctx) },
            Err(failure) => self.fail(failure),
        }
    }

    fn fail(self, failure: &Failure) -> c_int {
        let text = CString::new(failure.text()).unwrap_or_default();
        // SAFETY: a string that ends with 0.
        unsafe { (self.api.reply_error)(self.ctx, text.as_ptr()) }
    }

    fn send(self, reply: &Reply) -> c_int {
        let signed = |number: u64| c_longlong::try_from(number).unwrap_or(c_longlong::MAX);
        // SAFETY (of all): a context of this call; bytes with their number, or strings that end with 0.
        match reply {
            // SAFETY: see above.
            Reply::Number(number) => unsafe { (self.api.reply_long_long)(self.ctx, signed(*number)) },
            // SAFETY: see above.
            Reply::Signed(number) => unsafe { (self.api.reply_long_long)(self.ctx, *number) },
            Reply::Numbers(numbers) => {
                self.begin_list(numbers.len());
                for &number in numbers {
                    // SAFETY: see above.
                    unsafe { (self.api.reply_long_long)(self.ctx, signed(number)) };
                }
                raw::OK
            }
            Reply::Bytes(bytes) => self.send_bytes(bytes),
            Reply::Word(word) => {
                let word = CString::new(*word).unwrap_or_default();
                // SAFETY: see above.
                unsafe { (self.api.reply_simple_string)(self.ctx, word.as_ptr()) }
            }
            // SAFETY: see above.
            Reply::Null => unsafe { (self.api.reply_null)(self.ctx) },
            Reply::List(items) => {
                self.begin_list(items.len());
                for item in items {
                    self.send(item);
                }
                raw::OK
            }
            Reply::Map(fields) => {
                let len = c_long::try_from(fields.len()).unwrap_or(0);
                // SAFETY: see above.
                unsafe { (self.api.reply_map)(self.ctx, len) };
                for (name, value) in fields {
                    self.send_bytes(name.as_bytes());
                    self.send(value);
                }
                raw::OK
            }
            Reply::Failed(failure) => self.fail(failure),
        }
    }

    fn begin_list(self, len: usize) {
        let len = c_long::try_from(len).unwrap_or(0);
        // SAFETY: a context of this call.
        unsafe { (self.api.reply_array)(self.ctx, len) };
    }

    fn send_bytes(self, bytes: &[u8]) -> c_int {
        let at: *const c_char = bytes.as_ptr().cast();
        // SAFETY: so many bytes.
        unsafe { (self.api.reply_string_buffer)(self.ctx, at, bytes.len()) }
    }
}

/// A key that is open.
pub(crate) struct Key<'a> {
    server: Server<'a>,
    name: Word<'a>,
    /// NULL: there is none, and it is not to be written.
    key: *mut raw::Key,
}

impl Drop for Key<'_> {
    fn drop(&mut self) {
        if !self.key.is_null() {
            // SAFETY: opened, and not used afterwards.
            unsafe { (self.server.api.close_key)(self.key) };
        }
    }
}

impl Key<'_> {
    /// Whether there is nothing.
    pub(crate) fn is_empty(&self) -> bool {
        // SAFETY: an open key.
        self.key.is_null() || unsafe { (self.server.api.key_type)(self.key) } == raw::KEY_EMPTY
    }

    /// Its value, if it has one.
    pub(crate) fn value<T: Value>(&mut self) -> Result<Option<&mut T>, Failure> {
        if self.is_empty() {
            return Ok(None);
        }
        // SAFETY: an open key.
        let kind = unsafe { (self.server.api.key_type)(self.key) };
        // SAFETY: the same.
        let own = kind == raw::KEY_MODULE && types::is::<T>(unsafe { (self.server.api.type_of)(self.key) });
        if !own {
            return Err(Failure::WrongType);
        }
        // SAFETY: the same; of a type of the module's.
        let value = unsafe { (self.server.api.value_of)(self.key) };
        // SAFETY: values of this type are boxes that `types` made; commands run one at a time, and the borrow ends with the key's.
        Ok(unsafe { value.cast::<T>().as_mut() })
    }

    /// Its value; or, if it has none, one that is made, which replicas are sent, and `true`.
    pub(crate) fn value_or_new<T: Value>(
        &mut self,
        make: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<(&mut T, bool), Failure> {
        let new = self.is_empty();
        if new {
            let value = make()?;
            let seed = value.seed();
            self.set(value)?;
            if let Some(seed) = seed {
                let settings = [Sent::Text("NEW"), Sent::Bytes(&seed)];
                let words = [Sent::Word(self.name), Sent::Text(types::name::<T>())];
                self.server.replicate_load(words.into_iter().chain(settings));
            }
            self.server.notify(c"wl.created", self.name);
        }
        match self.value()? {
            Some(value) => Ok((value, new)),
            None => Err(Failure::new("the key could not be written")),
        }
    }

    /// Gives it this value, whatever it had.
    pub(crate) fn set<T: Value>(&mut self, value: T) -> Result<(), Failure> {
        let refused = || Failure::new("the key could not be written");
        let kind = types::handle::<T>().ok_or_else(refused)?;
        let value = Box::into_raw(Box::new(value));
        // SAFETY: a key that is open for writing (the server checks that), and a value of that type.
        let status = unsafe { (self.server.api.set_value)(self.key, kind, value.cast()) };
        if status == raw::OK {
            return Ok(());
        }
        // SAFETY: nobody has taken it.
        drop(unsafe { Box::from_raw(value) });
        Err(refused())
    }

    /// Lets it end at a time, in milliseconds since 1970.
    pub(crate) fn expire_at(&mut self, millis: u64) {
        let millis = c_longlong::try_from(millis).unwrap_or(c_longlong::MAX);
        // SAFETY: a key that is open for writing.
        unsafe { (self.server.api.set_abs_expire)(self.key, millis) };
    }
}
