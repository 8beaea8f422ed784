// SPDX-License-Identifier: MIT OR Apache-2.0
//! The C part, c/*.c, or what stands for it where there are no probes.
#![cfg_attr(not(futrace_probes), allow(dead_code, missing_docs))]

/// `enum wire_mark_kind` of c/mark.h.
pub const MARK: u16 = 0;
pub const SPAN_START: u16 = 1;
pub const SPAN_END: u16 = 2;

/// `enum wire_field_kind` of c/mark.h.
pub const UNSIGNED: u32 = 0;
pub const SIGNED: u32 = 1;
pub const FLOAT: u32 = 2;
pub const TEXT: u32 = 3;
pub const NONE: u32 = 4;

/// `struct wire_field` of c/mark.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Field {
	pub name: u64,
	pub value: u64,
	pub name_len: u32,
	pub len: u32,
	pub kind: u32,
	pub pad: u32,
}

/// `struct wire_mark` of c/mark.h.
#[repr(C)]
pub struct Mark {
	pub name: u64,
	pub id: u64,
	pub fields: u64,
	pub name_len: u32,
	pub kind: u16,
	pub nr_fields: u16,
}

#[cfg(futrace_probes)]
mod c {
	use super::Mark;
	use std::arch::asm;
	use std::mem::offset_of;

	/// `struct wire_mark_slot` of c/mark.h: tracers of three probes and the recorder, as one word.
	#[repr(C)]
	pub struct Slot {
		magic: u64,
		record: u64,
		on: u64,
	}

	extern "C" {
		#[link_name = concat!("futrace_marks", env!("FUTRACE_SUFFIX"))]
		static SLOT: Slot;
		#[link_name = concat!("futrace_fire", env!("FUTRACE_SUFFIX"))]
		fn futrace_fire(mark: *const Mark);
		#[link_name = concat!("futrace_copy", env!("FUTRACE_SUFFIX"))]
		fn futrace_copy() -> u32;
	}

	/// Does a tracer or a recorder want to know of marks and spans? The compiler cannot know that the symbol is in the same
	/// file, and would load its address first: so it is told how.
	#[inline(always)]
	pub fn is_on() -> bool {
		let on: u64;
		// SAFETY: loads `on` of the slot, which is there as long as this code is.
		unsafe {
			#[cfg(target_arch = "x86_64")]
			asm!("mov {on}, qword ptr [rip + {slot} + {off}]", on = out(reg) on, slot = sym SLOT,
                 off = const offset_of!(Slot, on), options(readonly, nostack, preserves_flags));
			#[cfg(target_arch = "aarch64")]
			asm!("adrp {on}, {slot}", "ldr {on}, [{on}, :lo12:{slot} + {off}]", on = out(reg) on, slot = sym SLOT,
                 off = const offset_of!(Slot, on), options(readonly, nostack, preserves_flags));
		}
		on != 0
	}

	pub fn fire(mark: &Mark) {
		// SAFETY: what it points to is good during the call, and nobody keeps it but names, which are static.
		unsafe { futrace_fire(mark) }
	}

	pub fn copy() -> u32 {
		// SAFETY: takes nothing.
		unsafe { futrace_copy() }
	}
}

#[cfg(not(futrace_probes))]
mod c {
	use super::Mark;

	#[inline(always)]
	pub fn is_on() -> bool {
		false
	}

	pub fn fire(_: &Mark) {}

	pub fn copy() -> u32 {
		0
	}
}

pub use c::*;
