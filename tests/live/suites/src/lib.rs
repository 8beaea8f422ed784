//! Only names the crates in Cargo.toml.
