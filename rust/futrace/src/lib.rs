// SPDX-License-Identifier: MIT OR Apache-2.0
#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod id;
mod mark;
mod probes;
mod value;

#[cfg(feature = "tokio")]
pub mod hooks;

#[cfg(feature = "tokio")]
pub use hooks::{register_hooks, RegistrationError};
pub use id::{Id, UniqueId};
pub use mark::{Span, MAX_FIELDS, MAX_TEXT};
pub use value::{ToValue, Value};

/// For the macros alone.
#[doc(hidden)]
pub mod __private {
	pub use crate::mark::{mark, start, Name};
	pub use crate::probes::is_on;
}
