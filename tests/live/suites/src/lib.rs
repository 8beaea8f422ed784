// SPDX-License-Identifier: MIT OR Apache-2.0
//! Only names the crates in Cargo.toml.
