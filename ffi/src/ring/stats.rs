//! Nodes and figures.

use std::mem::MaybeUninit;

use super::windlass_ring;
use crate::{
    boundary::{guard, room},
    handle::core,
    sized::{self, Plain},
    status::{WINDLASS_OK, windlass_status},
};

/// A node, and what it has. This struct does not grow.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct windlass_ring_node {
    /// Its id.
    pub id: u32,
    /// Its weight.
    pub weight: u32,
    /// The share of all keys that it owns, 0 to 1: of the circle, exactly.
    pub share: f64,
}

/// The nodes by their ids, the first room of them into nodes, which may be NULL if room is 0.
///
/// Returns how many nodes the ring has, or an error: WINDLASS_E_NULL (ring; nodes, and room is not 0),
/// WINDLASS_E_RANGE (room; nodes is not aligned).
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_ring_nodes(
    ring: *const windlass_ring,
    nodes: *mut windlass_ring_node,
    room: usize,
) -> i64 {
    guard(|| {
        // SAFETY: the caller's promise.
        let all = unsafe { core(ring) }?.placement().nodes();
        if nodes.is_null() && room > 0 {
            return Err(crate::status::WINDLASS_E_NULL);
        }
        // SAFETY: the caller's promise.
        let to = unsafe { self::room(nodes, room) }?;
        for (to, node) in to.iter_mut().zip(&all) {
            let node = windlass_ring_node { id: node.id, weight: node.weight, share: node.share };
            *to = MaybeUninit::new(node);
        }
        Ok::<_, windlass_status>(i64::try_from(all.len()).unwrap_or(i64::MAX))
    })
}

/// Plain figures about a windlass_ring.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct windlass_ring_stats {
    /// How many bytes of this struct the library knows; what lies beyond is 0.
    pub struct_size: u32,
    /// Points of a node for each unit of its weight.
    pub vnodes: u32,
    /// The seed of the hash.
    pub seed: u64,
    /// How many changes were made.
    pub version: u64,
    /// How many nodes there are.
    pub nodes: u64,
    /// Bytes of points and index.
    pub memory_bytes: u64,
}

// SAFETY: repr(C), integers only, no padding (asserted below), `struct_size` first.
unsafe impl Plain for windlass_ring_stats {
    const FIRST_SIZE: usize = 40;
    const DEFAULT: Self =
        windlass_ring_stats { struct_size: 40, vnodes: 0, seed: 0, version: 0, nodes: 0, memory_bytes: 0 };
}

const _: () = assert!(size_of::<windlass_ring_stats>() == 40);

/// Fills out with the present figures. struct_size is sizeof(windlass_ring_stats).
///
/// Errors: WINDLASS_E_NULL, WINDLASS_E_STRUCT_SIZE.
/// Threads: concurrent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn windlass_ring_get_stats(
    ring: *const windlass_ring,
    out: *mut windlass_ring_stats,
    struct_size: u32,
) -> windlass_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let placement = unsafe { core(ring) }?.placement();
        let figures = windlass_ring_stats {
            struct_size: struct_size.min(windlass_ring_stats::DEFAULT.struct_size),
            vnodes: placement.vnodes(),
            seed: placement.seed().0,
            version: placement.version(),
            nodes: placement.nodes().len() as u64,
            memory_bytes: placement.memory_bytes(),
        };
        // SAFETY: the caller's promise.
        unsafe { sized::write(out, &figures, struct_size) }.map(|()| WINDLASS_OK)
    })
}
