//! What holds for the whole crate.

mod hash_vectors;
mod layers;
