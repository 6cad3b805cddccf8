//! Nodes come, go and change. Readers go by the ring as it was, or as it is, as a whole.

use windlass::{Change, ConfigError, HashRing, Node};

use super::windlass_ring;
use crate::{
    boundary::{Failure, slice},
    handle::core,
    status::{WINDLASS_E_ARG, WINDLASS_OK, explained, windlass_error, windlass_status},
};

/// Adds a node: id is what routes return, name (UTF-8, name_len bytes, at least 1) is what its points
/// are made from, weight how many times the keys of a node of weight 1 it should have. Costs a
/// sort of all points.
///
/// moved may be NULL; it becomes the share of all keys, 0 to 1, that have another owner now. error
/// may be NULL.
/// Errors: WINDLASS_E_NULL (ring; name), WINDLASS_E_RANGE (name_len), WINDLASS_E_ARG (a weight of 0, an
/// id or a name that is there, too many points; error says which). Then nothing was changed.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_ring_add(
    ring: *mut windlass_ring,
    id: u32,
    name: *const u8,
    name_len: usize,
    weight: u32,
    moved: *mut f64,
    error: *mut windlass_error,
) -> windlass_status {
    let add = |ring: &HashRing| {
        // SAFETY: the caller's promise.
        let name = unsafe { slice(name, name_len) }?;
        let name = std::str::from_utf8(name).map_err(|wrong| Failure {
            status: WINDLASS_E_ARG,
            detail: Some(format!("name: not UTF-8 at byte {}", wrong.valid_up_to())),
        })?;
        Ok(ring.add(Node::new(id, name).weight(weight)))
    };
    // SAFETY: the caller's promise.
    unsafe { change(ring, add, moved, error) }
}

/// Removes the node with this id. Others keep their keys, and share those that it had.
///
/// moved and error as in windlass_ring_add.
/// Errors: WINDLASS_E_NULL (ring), WINDLASS_E_ARG (there is no such node). Then nothing was changed.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_ring_remove(
    ring: *mut windlass_ring,
    id: u32,
    moved: *mut f64,
    error: *mut windlass_error,
) -> windlass_status {
    // SAFETY: the caller's promise.
    unsafe { change(ring, |ring| Ok(ring.remove(id)), moved, error) }
}

/// Gives the node with this id another weight.
///
/// moved and error as in windlass_ring_add.
/// Errors: WINDLASS_E_NULL (ring), WINDLASS_E_ARG (there is no such node, a weight of 0, too many
/// points). Then nothing was changed.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_ring_set_weight(
    ring: *mut windlass_ring,
    id: u32,
    weight: u32,
    moved: *mut f64,
    error: *mut windlass_error,
) -> windlass_status {
    // SAFETY: the caller's promise.
    unsafe { change(ring, |ring| Ok(ring.set_weight(id, weight)), moved, error) }
}

/// # Safety
/// As `core` and `explained`; `moved` is NULL or may be written to.
unsafe fn change(
    ring: *mut windlass_ring,
    make: impl FnOnce(&HashRing) -> Result<Result<Change, ConfigError>, Failure>,
    moved: *mut f64,
    error: *mut windlass_error,
) -> windlass_status {
    let body = || {
        // SAFETY: the caller's promise.
        let change = make(unsafe { core(ring) }?)??;
        if !moved.is_null() {
            // SAFETY: the caller's promise.
            unsafe { moved.write(change.moved) };
        }
        Ok(WINDLASS_OK)
    };
    // SAFETY: the caller's promise.
    unsafe { explained(error, body) }
}
