//! What the server calls to load the module.

#![allow(unsafe_code)] // called by the server

use crate::{
    bloom::BloomKey,
    boundary::guarded,
    count::CountKey,
    dedup::DedupKey,
    fifo::FifoKey,
    limit::LimitKey,
    memory,
    raw::{self, Api},
    server::Server,
    topk::TopKey,
    types::{self, Parts},
    verbs,
};
use std::ffi::{CStr, c_int};

/// As the server lists it.
const NAME: &CStr = c"windlass";

/// Tells the server of something.
type Register = unsafe fn(&'static Api, *mut raw::Ctx) -> Result<(), String>;

/// The data types.
const TYPES: [Register; 7] = [
    register::<Parts>,
    register::<DedupKey>,
    register::<LimitKey>,
    register::<BloomKey>,
    register::<CountKey>,
    register::<TopKey>,
    register::<FifoKey>,
];

/// `MODULE LOAD`, `loadmodule`.
///
/// # Safety
/// For the server alone: `ctx` is its context, and `words` are `count` of its strings.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn RedisModule_OnLoad(
    ctx: *mut raw::Ctx,
    _words: *mut *mut raw::Text,
    count: c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    let Some(get) = (unsafe { raw::get_api(ctx) }) else { return raw::ERR };
    // Before anything is allocated.
    // SAFETY: the same.
    let (memory, found) = (unsafe { memory::begin(get) }, unsafe { raw::begin(get) });
    let (Ok(()), Ok(api)) = (memory, found) else {
        let missing = memory.err().or(found.err()).unwrap_or_default();
        // SAFETY: the same.
        unsafe { complain(get, ctx, missing) };
        return raw::ERR;
    };
    // So that `maxmemory` counts tables as well.
    windlass::take_all_from_the_allocator();
    guarded(raw::ERR, || {
        // SAFETY: the caller's promise; as long as this call.
        let Some(server) = (unsafe { Server::new(ctx) }) else { return raw::ERR };
        // SAFETY: the same.
        match unsafe { begin(api, ctx, count) } {
            Ok(()) => {
                server.log(c"notice", concat!("windlass ", env!("CARGO_PKG_VERSION"), " is loaded"));
                raw::OK
            }
            Err(why) => {
                server.log(c"warning", &format!("windlass is not loaded: {why}"));
                raw::ERR
            }
        }
    })
}

/// Says which function of the server is missing, if it can.
///
/// # Safety
/// As [`raw::found`], of a context of the server's.
unsafe fn complain(get: raw::GetApi, ctx: *mut raw::Ctx, missing: &CStr) {
    type Log = unsafe extern "C" fn(*mut raw::Ctx, *const std::ffi::c_char, *const std::ffi::c_char, ...);
    // SAFETY: the header's type.
    if let Some(log) = unsafe { raw::found::<Log>(get, c"RedisModule_Log") } {
        let text = c"windlass is not loaded: the server has no %s. It needs Redis 7.0 or newer, or Valkey";
        // SAFETY: strings, and a format with one of them.
        unsafe { log(ctx, c"warning".as_ptr(), text.as_ptr(), missing.as_ptr()) };
    }
}

/// # Safety
/// `ctx` is that of the call that loads the module.
unsafe fn begin(api: &'static Api, ctx: *mut raw::Ctx, arguments: c_int) -> Result<(), String> {
    if arguments > 0 {
        return Err("it takes no arguments".into());
    }
    // SAFETY: a string.
    if unsafe { (api.is_module_name_busy)(NAME.as_ptr()) } != 0 {
        return Err("a module of that name is loaded already".into());
    }
    // SAFETY: a context and a string.
    unsafe { (api.set_module_attribs)(ctx, NAME.as_ptr(), version(), raw::API_VERSION) };
    let options = raw::HANDLE_IO_ERRORS
        | raw::NO_IMPLICIT_SIGNAL_MODIFIED
        | raw::HANDLE_REPL_ASYNC_LOAD
        | raw::HANDLE_ATOMIC_SLOT_MIGRATION;
    // SAFETY: a context.
    unsafe { (api.set_module_options)(ctx, options) };
    for register in TYPES {
        // SAFETY: the caller's promise.
        unsafe { register(api, ctx) }?;
    }
    // SAFETY: the caller's promise.
    unsafe { verbs::register(api, ctx) }
}

/// # Safety
/// As [`begin`].
unsafe fn register<T: types::Value>(api: &'static Api, ctx: *mut raw::Ctx) -> Result<(), String> {
    // SAFETY: the caller's promise.
    let registered = unsafe { types::register::<T>(api, ctx) };
    registered.ok_or_else(|| format!("another module has the data type {}", types::name::<T>()))
}

/// As one number, as servers list it: 1.2.3 is 10203.
pub(crate) fn version() -> c_int {
    let part = |text: &str| text.parse::<c_int>().unwrap_or(0);
    let (major, minor) = (part(env!("CARGO_PKG_VERSION_MAJOR")), part(env!("CARGO_PKG_VERSION_MINOR")));
    major * 10_000 + minor * 100 + part(env!("CARGO_PKG_VERSION_PATCH"))
}
