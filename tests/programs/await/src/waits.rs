// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program knows about where its own tasks wait.
//!
//! A place is a chain of lines that goes down with the calls: every function that awaits is given the place it is called
//! from, and adds its own line with [`here!`], or with [`within!`] where a macro writes the `.await`. Just before the last
//! await of a chain, `let _w = here!(at, 1).sleep(..)` says what the next line waits for, and takes it back when that is over.
//! [`print`] writes one JSON object for each task that waits.

pub mod nested;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Condvar, Mutex};

/// A line, and those that led to it.
#[derive(Clone, Copy)]
pub struct At(&'static Step);

struct Step {
	task: &'static str,
	up: Option<At>,
	file: &'static str,
	line: u32,
	in_macro: bool,
}

/// The line that it stands on awaits what is called here; or a line so many further down.
#[macro_export]
macro_rules! here {
	($at:expr) => {
		$at.step(file!(), line!(), false)
	};
	($at:expr, $below:literal) => {
		$at.step(file!(), line!() + $below, false)
	};
}

/// The same where a macro writes the `.await`: it is somewhere around that line.
#[macro_export]
macro_rules! within {
	($at:expr) => {
		$at.step(file!(), line!(), true)
	};
	($at:expr, $below:literal) => {
		$at.step(file!(), line!() + $below, true)
	};
}

/// Where a task begins. Its name is the truth's name for it.
pub fn task(name: &'static str) -> At {
	At(Box::leak(Box::new(Step {
		task: name,
		up: None,
		file: "",
		line: 0,
		in_macro: false,
	})))
}

impl At {
	pub fn step(self, file: &'static str, line: u32, in_macro: bool) -> At {
		At(Box::leak(Box::new(Step {
			task: self.0.task,
			up: Some(self),
			file,
			line,
			in_macro,
		})))
	}

	fn path(self, out: &mut String) {
		let Some(up) = self.0.up else { return };
		up.path(out);
		let comma = if out.is_empty() { "" } else { "," };
		let (file, line, in_macro) = (self.0.file, self.0.line, self.0.in_macro);
		let file = file.rsplit("src/").next().unwrap_or(file);
		write!(
			out,
			r#"{comma}{{"file":"{file}","line":{line},"in_macro":{in_macro}}}"#
		)
		.expect("a string");
	}

	/// Waits for something of this kind; `facts` is more of the JSON object, such as `"fd":7`.
	pub fn waits(self, kind: &'static str, facts: impl AsRef<str>) -> Wait {
		let mut path = String::new();
		self.path(&mut path);
		let facts = facts.as_ref();
		let comma = if facts.is_empty() { "" } else { "," };
		let text =
			format!(r#"{{"path":[{path}],"leaf":{{"kind":"{kind}"{comma}{facts}}}}}"#);
		let mut all = ALL.lock().unwrap();
		all.nr += 1;
		let nr = all.nr;
		all.waits.insert(nr, (self.0.task, who(), text));
		CHANGED.notify_all();
		Wait(nr)
	}

	pub fn sleep(self, deadline: std::time::Instant) -> Wait {
		self.waits(
			"sleep",
			format!(r#""deadline_ns":{}"#, deadline_ns(deadline)),
		)
	}

	/// Of a timer that is not set by us, but from now on.
	pub fn sleep_about(self, deadline: std::time::Instant) -> Wait {
		let ns = deadline_ns(deadline);
		self.waits(
			"sleep",
			format!(r#""deadline_ns":{ns},"slack_ns":500000000"#),
		)
	}

	/// Something that lies in memory, and of which the tool may name any part.
	pub fn object<T: ?Sized>(self, kind: &'static str, object: &T, facts: &str) -> Wait {
		let comma = if facts.is_empty() { "" } else { "," };
		self.waits(
			kind,
			format!(
				r#""addr":{},"size":{}{comma}{facts}"#,
				object as *const T as *const u8 as usize,
				std::mem::size_of_val(object).max(1)
			),
		)
	}

	/// Something whose first word is the Arc of what both ends share.
	pub fn shared<T>(self, kind: &'static str, end: &T, facts: &str) -> Wait {
		let comma = if facts.is_empty() { "" } else { "," };
		// SAFETY: only read as a number; the word is initialised, as an Arc is never null.
		let addr = unsafe { *(end as *const T as *const usize) };
		self.waits(kind, format!(r#""addr":{addr},"size":1024{comma}{facts}"#))
	}
}

/// A wait that is not over.
pub struct Wait(u64);

impl Drop for Wait {
	fn drop(&mut self) {
		ALL.lock().unwrap().waits.remove(&self.0);
		CHANGED.notify_all();
	}
}

/// Its name, the runtime's id of the task, and the wait as JSON.
type Known = (&'static str, Option<u64>, String);

struct All {
	nr: u64,
	waits: BTreeMap<u64, Known>,
	wanted: usize,
}

static ALL: Mutex<All> = Mutex::new(All {
	nr: 0,
	waits: BTreeMap::new(),
	wanted: 0,
});
static CHANGED: Condvar = Condvar::new();

fn who() -> Option<u64> {
	let id = tokio::task::try_id()?.to_string();
	Some(id.parse().expect("Tokio's id is a number"))
}

/// So many more waits belong to the whole.
pub fn expect(nr: usize) {
	ALL.lock().unwrap().wanted += nr;
}

pub fn nr_now() -> usize {
	ALL.lock().unwrap().waits.len()
}

/// Nanoseconds of the monotonic clock.
pub fn deadline_ns(t: std::time::Instant) -> u64 {
	let text = format!("{t:?}");
	let mut parts = text
		.split(|c: char| !c.is_ascii_digit())
		.filter(|s| !s.is_empty());
	let mut next = || parts.next().expect("a number").parse::<u64>().expect("one");
	next() * 1_000_000_000 + next()
}

/// Writes the truth of every task, and that it is complete.
pub fn print() {
	let all = ALL.lock().unwrap();
	let mut tasks: BTreeMap<(&str, Option<u64>), Vec<&str>> = BTreeMap::new();
	for (name, id, text) in all.waits.values() {
		tasks.entry((name, *id)).or_default().push(text);
	}
	let mut out = std::io::stdout().lock();
	for ((name, id), waits) in tasks {
		let id = id.map_or("null".to_string(), |id| id.to_string());
		let waits = waits.join(",");
		writeln!(
			out,
			r#"{{"truth":"task","name":"{name}","id":{id},"waits":[{waits}]}}"#
		)
		.expect("stdout");
	}
	writeln!(out, "ready").expect("stdout");
	out.flush().expect("stdout");
}

/// A thread that waits until all is there, says so, and ends the process when stdin ends.
pub fn tell_when_ready() {
	std::thread::spawn(|| {
		let mut all = ALL.lock().unwrap();
		while all.waits.len() != all.wanted {
			all = CHANGED.wait(all).unwrap();
		}
		drop(all);
		print();
		let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
		std::process::exit(0);
	});
}
