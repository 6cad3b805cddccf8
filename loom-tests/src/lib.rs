//! The models live in `tests/`; see ARCHITECTURE.md.
