//! The server's functions, by the names and types of its public header (`redismodule.h` of Redis 7.0; Valkey has them under the same names).
//! Looked up once, when the module is loaded.

#![allow(unsafe_code)] // they are C's

use std::{
    ffi::{CStr, c_char, c_int, c_long, c_longlong, c_void},
    ptr::null_mut,
    sync::OnceLock,
};

/// What the server alone knows the inside of.
macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident),*) => {$(
        $(#[$doc])*
        #[repr(C)]
        pub(crate) struct $name {
            _inside: [u8; 0],
        }
    )*};
}

opaque!(
    /// `RedisModuleCtx`
    Ctx,
    /// `RedisModuleString`
    Text,
    /// `RedisModuleKey`
    Key,
    /// `RedisModuleType`
    Type,
    /// `RedisModuleIO`
    Io,
    /// `RedisModuleDigest`
    Digest,
    /// `RedisModuleCommand`
    Command
);

pub(crate) const OK: c_int = 0;
pub(crate) const ERR: c_int = 1;
/// Of this interface as a whole.
pub(crate) const API_VERSION: c_int = 1;
/// Of [`TypeMethods`]: that of Redis 7.0.
pub(crate) const METHODS_VERSION: u64 = 4;

pub(crate) const READ: c_int = 1 << 0;
pub(crate) const WRITE: c_int = 1 << 1;

pub(crate) const KEY_EMPTY: c_int = 0;
pub(crate) const KEY_MODULE: c_int = 6;

/// Keyspace notifications of modules (`d`).
pub(crate) const NOTIFY_MODULE: c_int = 1 << 13;

/// Input that ends early is told to the module, and is not the end of the server.
pub(crate) const HANDLE_IO_ERRORS: c_int = 1 << 0;
/// The module says itself when it has changed a key.
pub(crate) const NO_IMPLICIT_SIGNAL_MODIFIED: c_int = 1 << 1;
/// Nothing but keys holds data: a replica may go on answering while it reads others.
pub(crate) const HANDLE_REPL_ASYNC_LOAD: c_int = 1 << 2;
/// Valkey 9: keys may be moved as they would be written to an append-only file. (Others take no notice.)
pub(crate) const HANDLE_ATOMIC_SLOT_MIGRATION: c_int = 1 << 5;

pub(crate) type CommandFn = unsafe extern "C" fn(*mut Ctx, *mut *mut Text, c_int) -> c_int;

/// `RedisModuleTypeMethods`, up to what version 4 has.
#[repr(C)]
pub(crate) struct TypeMethods {
    pub(crate) version: u64,
    pub(crate) rdb_load: unsafe extern "C" fn(*mut Io, c_int) -> *mut c_void,
    pub(crate) rdb_save: unsafe extern "C" fn(*mut Io, *mut c_void),
    pub(crate) aof_rewrite: unsafe extern "C" fn(*mut Io, *mut Text, *mut c_void),
    pub(crate) mem_usage: unsafe extern "C" fn(*const c_void) -> usize,
    pub(crate) digest: unsafe extern "C" fn(*mut Digest, *mut c_void),
    pub(crate) free: unsafe extern "C" fn(*mut c_void),
    pub(crate) aux_load: Option<unsafe extern "C" fn()>,
    pub(crate) aux_save: Option<unsafe extern "C" fn()>,
    pub(crate) aux_save_triggers: c_int,
    pub(crate) free_effort: unsafe extern "C" fn(*mut Text, *const c_void) -> usize,
    pub(crate) unlink: Option<unsafe extern "C" fn()>,
    pub(crate) copy: unsafe extern "C" fn(*mut Text, *mut Text, *const c_void) -> *mut c_void,
    pub(crate) defrag: Option<unsafe extern "C" fn()>,
    pub(crate) mem_usage2: Option<unsafe extern "C" fn()>,
    pub(crate) free_effort2: Option<unsafe extern "C" fn()>,
    pub(crate) unlink2: Option<unsafe extern "C" fn()>,
    pub(crate) copy2: Option<unsafe extern "C" fn()>,
}

/// `RedisModule_GetApi`
pub(crate) type GetApi = unsafe extern "C" fn(*const c_char, *mut *mut c_void) -> c_int;

macro_rules! functions {
    (
        needed { $($field:ident = $name:literal: $type:ty;)* }
        if_there { $($other:ident = $other_name:literal: $other_type:ty;)* }
    ) => {
        /// What the server can do.
        pub(crate) struct Api {
            $(pub(crate) $field: $type,)*
            $(pub(crate) $other: Option<$other_type>,)*
        }

        impl Api {
            /// Or the name of the first one that is missing.
            ///
            /// # Safety
            /// As [`found`].
            unsafe fn find(get: GetApi) -> Result<Api, &'static CStr> {
                Ok(Api {
                    // SAFETY: the types are the header's.
                    $($field: unsafe { found::<$type>(get, $name) }.ok_or($name)?,)*
                    // SAFETY: the same.
                    $($other: unsafe { found::<$other_type>(get, $other_name) },)*
                })
            }
        }
    };
}

functions! {
    needed {
        set_module_attribs = c"RedisModule_SetModuleAttribs": unsafe extern "C" fn(*mut Ctx, *const c_char, c_int, c_int);
        is_module_name_busy = c"RedisModule_IsModuleNameBusy": unsafe extern "C" fn(*const c_char) -> c_int;
        set_module_options = c"RedisModule_SetModuleOptions": unsafe extern "C" fn(*mut Ctx, c_int);
        create_command = c"RedisModule_CreateCommand": unsafe extern "C" fn(*mut Ctx, *const c_char, CommandFn, *const c_char, c_int, c_int, c_int) -> c_int;
        create_data_type = c"RedisModule_CreateDataType": unsafe extern "C" fn(*mut Ctx, *const c_char, c_int, *mut TypeMethods) -> *mut Type;
        log = c"RedisModule_Log": unsafe extern "C" fn(*mut Ctx, *const c_char, *const c_char, ...);
        wrong_arity = c"RedisModule_WrongArity": unsafe extern "C" fn(*mut Ctx) -> c_int;
        string_ptr_len = c"RedisModule_StringPtrLen": unsafe extern "C" fn(*const Text, *mut usize) -> *const c_char;
        create_string = c"RedisModule_CreateString": unsafe extern "C" fn(*mut Ctx, *const c_char, usize) -> *mut Text;
        free_string = c"RedisModule_FreeString": unsafe extern "C" fn(*mut Ctx, *mut Text);
        reply_long_long = c"RedisModule_ReplyWithLongLong": unsafe extern "C" fn(*mut Ctx, c_longlong) -> c_int;
        reply_array = c"RedisModule_ReplyWithArray": unsafe extern "C" fn(*mut Ctx, c_long) -> c_int;
        reply_map = c"RedisModule_ReplyWithMap": unsafe extern "C" fn(*mut Ctx, c_long) -> c_int;
        reply_string_buffer = c"RedisModule_ReplyWithStringBuffer": unsafe extern "C" fn(*mut Ctx, *const c_char, usize) -> c_int;
        reply_simple_string = c"RedisModule_ReplyWithSimpleString": unsafe extern "C" fn(*mut Ctx, *const c_char) -> c_int;
        reply_error = c"RedisModule_ReplyWithError": unsafe extern "C" fn(*mut Ctx, *const c_char) -> c_int;
        reply_null = c"RedisModule_ReplyWithNull": unsafe extern "C" fn(*mut Ctx) -> c_int;
        open_key = c"RedisModule_OpenKey": unsafe extern "C" fn(*mut Ctx, *mut Text, c_int) -> *mut Key;
        close_key = c"RedisModule_CloseKey": unsafe extern "C" fn(*mut Key);
        key_type = c"RedisModule_KeyType": unsafe extern "C" fn(*mut Key) -> c_int;
        type_of = c"RedisModule_ModuleTypeGetType": unsafe extern "C" fn(*mut Key) -> *mut Type;
        value_of = c"RedisModule_ModuleTypeGetValue": unsafe extern "C" fn(*mut Key) -> *mut c_void;
        set_value = c"RedisModule_ModuleTypeSetValue": unsafe extern "C" fn(*mut Key, *mut Type, *mut c_void) -> c_int;
        set_abs_expire = c"RedisModule_SetAbsExpire": unsafe extern "C" fn(*mut Key, c_longlong) -> c_int;
        signal_modified = c"RedisModule_SignalModifiedKey": unsafe extern "C" fn(*mut Ctx, *mut Text) -> c_int;
        notify = c"RedisModule_NotifyKeyspaceEvent": unsafe extern "C" fn(*mut Ctx, c_int, *const c_char, *mut Text) -> c_int;
        replicate = c"RedisModule_Replicate": unsafe extern "C" fn(*mut Ctx, *const c_char, *const c_char, ...) -> c_int;
        emit_aof = c"RedisModule_EmitAOF": unsafe extern "C" fn(*mut Io, *const c_char, *const c_char, ...);
        save_string_buffer = c"RedisModule_SaveStringBuffer": unsafe extern "C" fn(*mut Io, *const c_char, usize);
        load_string_buffer = c"RedisModule_LoadStringBuffer": unsafe extern "C" fn(*mut Io, *mut usize) -> *mut c_char;
        is_io_error = c"RedisModule_IsIOError": unsafe extern "C" fn(*mut Io) -> c_int;
        log_io_error = c"RedisModule_LogIOError": unsafe extern "C" fn(*mut Io, *const c_char, *const c_char, ...);
        digest_add = c"RedisModule_DigestAddStringBuffer": unsafe extern "C" fn(*mut Digest, *const c_char, usize);
        digest_end = c"RedisModule_DigestEndSequence": unsafe extern "C" fn(*mut Digest);
        free = c"RedisModule_Free": unsafe extern "C" fn(*mut c_void);
    }
    if_there {
        get_command = c"RedisModule_GetCommand": unsafe extern "C" fn(*mut Ctx, *const c_char) -> *mut Command;
        set_acl_categories = c"RedisModule_SetCommandACLCategories": unsafe extern "C" fn(*mut Command, *const c_char) -> c_int;
    }
}

/// A function of the server, if it has it.
///
/// # Safety
/// `F` is the type of the function of this name: a function pointer.
pub(crate) unsafe fn found<F: Copy>(get: GetApi, name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    let mut at: *mut c_void = null_mut();
    // SAFETY: a name that ends with 0, and room for a pointer.
    let status = unsafe { get(name.as_ptr(), &raw mut at) };
    // SAFETY: not NULL; as large, and of that type by the caller's promise.
    (status == OK && !at.is_null()).then(|| unsafe { std::mem::transmute_copy(&at) })
}

/// How the server is asked for its functions: it puts that at the beginning of the context.
///
/// # Safety
/// `ctx` is what the server called `RedisModule_OnLoad` with.
pub(crate) unsafe fn get_api(ctx: *mut Ctx) -> Option<GetApi> {
    // SAFETY: the header's own way; an optional function pointer is as large as one that may be NULL.
    unsafe { *ctx.cast::<Option<GetApi>>() }
}

static API: OnceLock<Api> = OnceLock::new();

/// Looks all functions up. The name of one that is missing otherwise.
///
/// # Safety
/// `get` is what [`get_api`] gave.
pub(crate) unsafe fn begin(get: GetApi) -> Result<&'static Api, &'static CStr> {
    // SAFETY: the caller's promise.
    let api = unsafe { Api::find(get) }?;
    Ok(API.get_or_init(|| api))
}

/// There is none only before the module is loaded.
pub(crate) fn api() -> Option<&'static Api> {
    API.get()
}
