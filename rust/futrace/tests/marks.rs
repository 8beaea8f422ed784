// SPDX-License-Identifier: MIT OR Apache-2.0
//! What marks and spans hand to a recorder: the test is one. In one function, as there is one slot for all threads.
use futrace::{mark, span};

#[cfg(not(futrace_probes))]
#[test]
fn without_probes_nothing_is_computed() {
	fn never() -> u64 {
		panic!("computed although nobody wants to know")
	}
	mark!("off", never(), a = never());
	let s = span!("off", never());
	assert_eq!(s.id(), None);
}

/// The macros mean the standard library's names, whatever the program calls so.
#[allow(unused_imports, unused_macros)]
mod names_of_its_own {
	enum Own {
		#[allow(dead_code)]
		None,
		Some(u8),
	}
	use Own::*;

	macro_rules! concat {
		($($t:tt)*) => {
			compile_error!("not this one")
		};
	}
	macro_rules! stringify {
		($($t:tt)*) => {
			compile_error!("not this one")
		};
	}

	#[test]
	fn compile() {
		let _a = futrace::span!("a");
		let _b = futrace::span!("b", 1u64, key = 2u64);
		futrace::mark!("c", 1u64, key = 2u64);
		assert!(matches!(Some(1), Own::Some(1)));
	}
}

#[cfg(futrace_probes)]
mod recorder {
	use super::*;
	use futrace::UniqueId;
	use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
	use std::sync::Mutex;

	#[repr(C)]
	struct Slot {
		magic: u64,
		record: AtomicU64,
		probes: [u16; 3],
		recorder: AtomicU16,
	}

	#[repr(C)]
	struct Field {
		name: *const u8,
		value: u64,
		name_len: u32,
		len: u32,
		kind: u32,
		pad: u32,
	}

	#[repr(C)]
	struct Mark {
		name: *const u8,
		id: u64,
		fields: *const Field,
		name_len: u32,
		kind: u16,
		nr_fields: u16,
	}

	extern "C" {
		#[link_name = concat!("futrace_marks_", env!("CARGO_PKG_VERSION_MAJOR"), "_", env!("CARGO_PKG_VERSION_MINOR"),
                              "_", env!("CARGO_PKG_VERSION_PATCH"))]
		static SLOT: Slot;
	}

	static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());

	unsafe fn text(at: *const u8, len: u32) -> String {
		assert_eq!(*at.add(len as usize), 0, "texts end with a zero");
		String::from_utf8(std::slice::from_raw_parts(at, len as usize).to_vec()).unwrap()
	}

	unsafe extern "C" fn record(m: *const Mark) {
		let m = &*m;
		let mut line = format!(
			"{} {} {}",
			["mark", "start", "end"][m.kind as usize],
			text(m.name, m.name_len),
			m.id
		);
		for i in 0..m.nr_fields as usize {
			let f = &*m.fields.add(i);
			let value = match f.kind {
				0 => f.value.to_string(),
				1 => (f.value as i64).to_string(),
				2 => f64::from_bits(f.value).to_string(),
				_ => format!("{:?}", text(f.value as *const u8, f.len)),
			};
			line += &format!(" {}={value}", text(f.name, f.name_len));
		}
		SEEN.lock().unwrap().push(line);
	}

	fn seen() -> Vec<String> {
		std::mem::take(&mut *SEEN.lock().unwrap())
	}

	/// As the recorder does it: its function first, then the word that everybody looks at.
	fn switch(on: bool) {
		let record = record as unsafe extern "C" fn(*const Mark) as usize as u64;
		unsafe {
			assert_eq!(&SLOT.magic.to_le_bytes(), b"FUTMARK1");
			assert_eq!(SLOT.probes, [0; 3], "nobody traces this test");
			SLOT.record.store(record, Ordering::Relaxed);
			SLOT.recorder.store(on as u16, Ordering::Release);
		}
	}

	#[test]
	fn gets_what_was_said() {
		let mut computed = 0;
		mark!("off", {
			computed += 1;
			1u64
		});
		let before = span!("begun-before", 1u64);
		assert_eq!((computed, before.id()), (0, None));

		switch(true);
		drop(before);
		assert_eq!(seen(), [""; 0], "what began unseen has no end");

		mark!("bare");
		mark!("with-id", 7u32);
		let word = String::from("grün");
		mark!(
			"fields",
			8u64,
			small = 3u8,
			below = -4i32,
			part = 0.5,
			word = &word
		);
		mark!("no-id", yes = true,);
		assert_eq!(
			seen(),
			[
				"mark bare 0",
				"mark with-id 7",
				"mark fields 8 small=3 below=-4 part=0.5 word=\"grün\"",
				"mark no-id 0 yes=1"
			]
		);

		mark!("number", 5);
		mark!("below", &-1i64);
		let shared = std::sync::Arc::new(UniqueId::new());
		mark!("shared", &shared);
		mark!(
			"word",
			r#type = &3u64,
			cow = &std::borrow::Cow::from("c"),
			twice = &"t"
		);
		assert_eq!(
			seen(),
			[
				"mark number 5".to_string(),
				format!("mark below {}", u64::MAX),
				format!("mark shared {}", shared.as_u64()),
				"mark word 0 type=3 cow=\"c\" twice=\"t\"".to_string()
			]
		);

		let long = "ü".repeat(100);
		mark!(
			"long",
			9usize,
			a = "x",
			b = long.as_str(),
			c = "cut",
			d = 1u16
		);
		assert_eq!(
			seen(),
			[format!(
				"mark long 9 a=\"x\" b={:?} c=\"c\" d=1",
				"ü".repeat(63)
			)]
		);

		spans();
		switch(false);
		mark!("off again");
		assert_eq!(seen(), [""; 0]);
	}

	fn spans() {
		let id = UniqueId::new();
		let outer = span!("outer", &id, bytes = 5u64);
		assert_eq!(outer.id(), Some(id.as_u64()));
		let (a, b) = (span!("inner"), span!("inner"));
		let (a_id, b_id) = (a.id().unwrap(), b.id().unwrap());
		assert_ne!(a_id, b_id);
		std::thread::spawn(move || a.end()).join().unwrap();
		let caught = std::panic::catch_unwind(move || {
			let _held = b;
			std::panic::resume_unwind(Box::new(()));
		});
		assert!(caught.is_err());
		drop(outer);
		let id = id.as_u64();
		let want = [
			format!("start outer {id} bytes=5"),
			format!("start inner {a_id}"),
			format!("start inner {b_id}"),
			format!("end inner {a_id}"),
			format!("end inner {b_id}"),
			format!("end outer {id}"),
		];
		assert_eq!(seen(), want);
	}
}
