//! What holds for the whole crate.

mod allocations;
mod hash_vectors;
mod layers;
mod links;
mod verification;
