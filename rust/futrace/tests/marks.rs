// SPDX-License-Identifier: MIT OR Apache-2.0
//! What marks and spans hand to a recorder: the test is one. In one function, as there is one slot for all threads.
use futrace::{mark, span};

#[cfg(not(futrace_probes))]
#[test]
fn without_probes_nothing_is_computed() {
	names_of_its_own::compile();
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

	pub fn compile() {
		let _a = futrace::span!("a");
		let _b = futrace::span!("b", 1u64, key = 2u64);
		futrace::mark!("c", 1u64, key = 2u64);
		assert!(matches!(Some(1), Own::Some(1)));
	}
}

#[cfg(futrace_probes)]
mod slot;

#[cfg(futrace_probes)]
mod recorder {
	use super::*;
	use futrace::UniqueId;
	use std::borrow::Cow;
	use std::ffi::OsStr;
	use std::fmt;
	use std::num::{NonZeroI8, NonZeroU128, NonZeroU64};
	use std::os::unix::ffi::OsStrExt;
	use std::path::{Path, PathBuf};
	use std::rc::Rc;
	use std::sync::{Arc, Mutex};
	use std::time::Duration;

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
				3 => format!("{:?}", text(f.value as *const u8, f.len)),
				4 => {
					assert_eq!(f.value, 0, "as probes show it");
					"none".to_string()
				}
				kind => panic!("of kind {kind}"),
			};
			line += &format!(" {}={value}", text(f.name, f.name_len));
		}
		SEEN.lock().unwrap().push(line);
	}

	fn seen() -> Vec<String> {
		std::mem::take(&mut *SEEN.lock().unwrap())
	}

	fn switch(on: bool) {
		let record = record as unsafe extern "C" fn(*const Mark);
		slot::switch(record as usize as u64, on);
	}

	#[test]
	fn gets_what_was_said() {
		names_of_its_own::compile();
		let mut computed = 0;
		let mut compute = || {
			computed += 1;
			1u64
		};
		mark!("off", compute(), a = compute(), b = %compute(), c = ?compute());
		let before = span!("begun-before", compute(), a = compute(), b = %compute(), c = ?compute());
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

		values();
		texts();
		ids();
		spans();
		switch(false);
		mark!("off again");
		assert_eq!(seen(), [""; 0]);
	}

	fn values() {
		let word = String::from("moved");
		let nothing: Option<&str> = None;
		mark!(
			"a",
			owned = word,
			of = String::from("a call"),
			c = 'ü',
			none = nothing
		);
		mark!(
			"b",
			some = Some(3u8),
			of_ref = &Some(&word),
			flag = &false,
			bits = f32::MAX
		);
		mark!(
			"c",
			wide = u128::MAX,
			below = i128::MIN,
			in_range = -3i128,
			size = usize::MAX
		);
		mark!(
			"d",
			i = NonZeroI8::MIN,
			u = NonZeroU64::MAX,
			wide = NonZeroU128::MAX,
			in_range = 7u128
		);
		mark!(
			"e",
			time = Duration::from_micros(3),
			ever = Duration::MAX,
			min = i64::MIN,
			max = u64::MAX
		);
		mark!(
			"f",
			a = Box::new(1),
			b = Rc::<str>::from("rc"),
			c = Arc::new(&word),
			d = Cow::Borrowed("cow")
		);
		let mut number = 5;
		mark!(
			"g",
			number = &mut number,
			id = UniqueId::default() == UniqueId::default()
		);
		assert_eq!((word.as_str(), number), ("moved", 5), "is still there");
		assert_eq!(
			seen(),
			[
				"mark a 0 owned=\"moved\" of=\"a call\" c=\"ü\" none=none",
				"mark b 0 some=3 of_ref=\"moved\" flag=0 bits=340282346638528860000000000000000000000",
				"mark c 0 wide=18446744073709551615 below=-9223372036854775808 in_range=-3 size=18446744073709551615",
				"mark d 0 i=-128 u=18446744073709551615 wide=18446744073709551615 in_range=7",
				"mark e 0 time=3000 ever=18446744073709551615 min=-9223372036854775808 max=18446744073709551615",
				"mark f 0 a=1 b=\"rc\" c=\"moved\" d=\"cow\"",
				"mark g 0 number=5 id=0",
			]
		);
	}

	/// Writes itself in pieces, and takes no for a bug, as many do.
	struct Pieces(usize);

	impl fmt::Display for Pieces {
		fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
			for _ in 0..self.0 {
				f.write_str("ä").unwrap();
				f.write_str("b").unwrap();
			}
			Ok(())
		}
	}

	struct Fails;

	impl fmt::Display for Fails {
		fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
			f.write_str("until here")?;
			Err(fmt::Error)
		}
	}

	fn texts() {
		let slice = [Some(1), None];
		mark!("a", 1, debug = ?slice[..], display = %'x', of_str = ?*"s", args = format_args!("{}-{}", 1, 2));
		mark!(
			"b",
			path = Path::new("/a"),
			buf = PathBuf::from("b"),
			os = OsStr::from_bytes(b"c\xff")
		);
		mark!("c", fails = %Fails, behind = %(1 + 1));
		// 84 pieces and the letter before them make 127 bytes: an ä has no room, and a b behind it would be at a wrong place
		mark!("d", a = "x", b = %Pieces(50), c = "cut", d = %Pieces(1));
		assert_eq!(
			seen(),
			[
				"mark a 1 debug=\"[Some(1), None]\" display=\"x\" of_str=\"\\\"s\\\"\" args=\"1-2\"".to_string(),
				"mark b 0 path=\"/a\" buf=\"b\" os=\"c\u{fffd}\"".to_string(),
				"mark c 0 fails=\"until here\" behind=\"2\"".to_string(),
				format!("mark d 0 a=\"x\" b=\"{}\" c=\"c\" d=\"\"", "äb".repeat(42)),
			]
		);
		let caught = std::panic::catch_unwind(|| mark!("panics", a = 1, b = %panics()));
		assert!(caught.is_err());
		mark!("after it");
		assert_eq!(seen(), ["mark after it 0"]);
	}

	fn panics() -> impl fmt::Display {
		struct Panics;
		impl fmt::Display for Panics {
			fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
				std::panic::resume_unwind(Box::new(()))
			}
		}
		Panics
	}

	fn ids() {
		let (id, shared) = (UniqueId::new(), Rc::new(UniqueId::new()));
		mark!("own", id);
		mark!("shared", shared, id = id, again = Some(&shared));
		mark!("zero", NonZeroU64::MIN);
		mark!("boxed", Box::new(&-1i8));
		assert_eq!(
			seen(),
			[
				format!("mark own {}", id.as_u64()),
				format!(
					"mark shared {} id={} again={0}",
					shared.as_u64(),
					id.as_u64()
				),
				"mark zero 1".to_string(),
				format!("mark boxed {}", u64::MAX),
			]
		);
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
