// SPDX-License-Identifier: MIT OR Apache-2.0
//! Marks and spans: what the macros expand to.
use crate::id;
use crate::probes::{self, Field, Mark};
use crate::value::Value;
use std::fmt::{self, Write};

/// Fields of a mark, at most.
pub const MAX_FIELDS: usize = 4;
/// Bytes of text that a mark can have in all its fields together.
pub const MAX_TEXT: usize = 128;

/// A name as the macros make it: it ends with a zero, which probes need and its length leaves out.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Name(&'static str);

impl Name {
	#[doc(hidden)]
	pub const fn new(with_zero: &'static str) -> Self {
		let bytes = with_zero.as_bytes();
		let mut i = 0;
		while i + 1 < bytes.len() {
			assert!(bytes[i] != 0, "a name with a zero in it would end there");
			i += 1;
		}
		Name(with_zero)
	}

	/// Of a field: one that is also a word of the language, `r#type`, is called `type`.
	#[doc(hidden)]
	pub const fn of_field(with_zero: &'static str) -> Self {
		match with_zero.as_bytes() {
			// SAFETY: it begins behind two characters of one byte each.
			[b'r', b'#', rest @ ..] => {
				Name(unsafe { std::str::from_utf8_unchecked(rest) })
			}
			_ => Name(with_zero),
		}
	}

	fn addr(self) -> u64 {
		self.0.as_ptr() as u64
	}

	fn len(self) -> u32 {
		(self.0.len() - 1) as u32
	}
}

/// Texts with a zero behind each, as probes need them, on the stack.
struct Texts {
	bytes: [u8; MAX_TEXT + MAX_FIELDS],
	used: usize,
	left: usize,
}

impl Texts {
	/// The address of a text, and how many bytes of it there was room for.
	fn add(&mut self, text: fmt::Arguments<'_>) -> (u64, u32) {
		let at = self.used;
		let mut one = Text {
			all: self,
			is_cut: false,
		};
		// It fails only where the value itself does: what it has said until then is all there is.
		let _ = one.write_fmt(text);
		let len = self.used - at;
		self.used += 1;
		(self.bytes[at..].as_ptr() as u64, len as u32)
	}
}

/// One of them while it is written, piece by piece.
struct Text<'a> {
	all: &'a mut Texts,
	is_cut: bool,
}

impl Write for Text<'_> {
	/// Takes whole characters, and none behind one that it had no room for. That is no error to whom it asks: a program's
	/// `Display` may not expect any.
	fn write_str(&mut self, text: &str) -> fmt::Result {
		let all = &mut *self.all;
		let mut len = if self.is_cut {
			0
		} else {
			text.len().min(all.left)
		};
		while !text.is_char_boundary(len) {
			len -= 1;
		}
		all.bytes[all.used..all.used + len].copy_from_slice(&text.as_bytes()[..len]);
		all.used += len;
		all.left -= len;
		self.is_cut |= len < text.len();
		Ok(())
	}
}

fn field(name: Name, value: &Value<'_>, texts: &mut Texts) -> Field {
	let mut text = |it: fmt::Arguments<'_>| {
		let (addr, len) = texts.add(it);
		(probes::TEXT, addr, len)
	};
	let (kind, value, len) = match *value {
		Value::None => (probes::NONE, 0, 0),
		Value::Unsigned(n) => (probes::UNSIGNED, n, 0),
		Value::Signed(n) => (probes::SIGNED, n as u64, 0),
		Value::Float(n) => (probes::FLOAT, n.to_bits(), 0),
		Value::Text(it) => text(format_args!("{it}")),
		Value::Path(it) => text(format_args!("{}", it.display())),
		Value::Display(it) => text(format_args!("{it}")),
		Value::Debug(it) => text(format_args!("{it:?}")),
	};
	Field {
		name: name.addr(),
		value,
		name_len: name.len(),
		len,
		kind,
		pad: 0,
	}
}

#[cold]
fn fire(kind: u16, name: Name, id: u64, fields: &[(Name, Value<'_>)]) {
	let mut texts = Texts {
		bytes: [0; MAX_TEXT + MAX_FIELDS],
		used: 0,
		left: MAX_TEXT,
	};
	let mut list = [Field::default(); MAX_FIELDS];
	for (to, (name, value)) in list.iter_mut().zip(fields) {
		*to = field(*name, value, &mut texts);
	}
	probes::fire(&Mark {
		name: name.addr(),
		id,
		fields: list.as_ptr() as u64,
		name_len: name.len(),
		kind,
		nr_fields: fields.len().min(MAX_FIELDS) as u16,
	});
}

#[doc(hidden)]
#[cold]
pub fn mark<const N: usize>(name: Name, id: u64, fields: [(Name, Value<'_>); N]) {
	const { assert!(N <= MAX_FIELDS, "a mark has at most four fields") };
	fire(probes::MARK, name, id, &fields);
}

#[doc(hidden)]
#[cold]
pub fn start<const N: usize>(name: Name, id: Option<u64>, fields: [(Name, Value<'_>); N]) -> Span {
	const { assert!(N <= MAX_FIELDS, "a span has at most four fields") };
	let id = id.unwrap_or_else(id::next);
	fire(probes::SPAN_START, name, id, &fields);
	Span(Some((name, id)))
}

/// Something that lasts: made by [`span!`](crate::span!), over when it is dropped.
///
/// It may be held across `.await`, go to other threads and tasks, and end on any of them: see [`span!`](crate::span!#across-await). A span
/// whose beginning nobody wanted to know of has no end either.
///
/// ```
/// fn begin() -> futrace::Span {
///     futrace::span!("transaction")
/// }
/// let transaction = begin();
/// println!("traced as {:?}", transaction.id());
/// transaction.end();
/// ```
#[must_use = "a span ends when it is dropped: give it a name, `let _span = …`"]
#[derive(Debug)]
pub struct Span(Option<(Name, u64)>);

impl Span {
	#[doc(hidden)]
	#[inline(always)]
	pub const fn none() -> Self {
		Span(None)
	}

	/// Its id, if somebody traces it.
	#[must_use]
	pub fn id(&self) -> Option<u64> {
		self.0.map(|(_, id)| id)
	}

	/// Ends it now.
	#[inline]
	pub fn end(self) {}
}

impl fmt::Debug for Name {
	fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
		self.0.trim_end_matches('\0').fmt(f)
	}
}

impl Drop for Span {
	#[inline]
	fn drop(&mut self) {
		if let Some((name, id)) = self.0 {
			if probes::is_on() {
				fire(probes::SPAN_END, name, id, &[]);
			}
		}
	}
}

/// Says that something happened here: `mark!("name")`, `mark!("name", id)`, `mark!("name", id, key = value, …)`,
/// `mark!("name", key = value, …)`.
///
/// The name is a literal, without a zero in it. The [id](crate::Id) tells to what it belongs; without one it is 0. Up to four
/// fields have a name and a value each:
///
/// - `key = value`: a number, `bool`, `char`, text, a `Duration`, an id, an `Option` of one, whatever is [`ToValue`](crate::ToValue);
/// - `key = %value`: the text of its `Display`;
/// - `key = ?value`: the text of its `Debug`.
///
/// As in `println!`, id and values are only looked at, not moved. A mark is
///
/// - the USDT probe `futrace:mark`: arg0 the name, arg1 the id, arg2 to arg5 the values, texts as C strings;
/// - an event of the recording that `futrace record` makes, on the task that it happened in.
///
/// When neither is wanted it costs a load and a branch, and id and values are *not even computed*: so they must not do anything
/// that the program needs. When one is, nothing is allocated.
///
/// ```
/// # let (request, bytes, peer) = (7u64, 4096usize, std::net::Ipv4Addr::LOCALHOST);
/// futrace::mark!("cache-miss", request, bytes = bytes, tier = "disk", peer = %peer);
/// ```
///
/// What has no value as it is does not compile, and is told what to write instead:
///
/// ```compile_fail,E0277
/// # let peer = std::net::Ipv4Addr::LOCALHOST;
/// futrace::mark!("connected", peer = peer);
/// ```
#[macro_export]
macro_rules! mark {
    ($name:literal $(,)?) => {
        $crate::__mark!($name, 0,)
    };
    ($name:literal, $key:ident = $($fields:tt)+) => {
        $crate::__mark!($name, 0, $key = $($fields)+)
    };
    ($name:literal, $id:expr $(, $($fields:tt)*)?) => {
        $crate::__mark!($name, $crate::Id::id(&$id), $($($fields)*)?)
    };
}

/// Begins something that lasts until the [`Span`](crate::Span) that it gives is dropped. Takes what [`mark!`] takes; without an
/// id, the span gets one that no other has.
///
/// It is the USDT probes `futrace:span-start`, with the arguments of `futrace:mark`, and `futrace:span-end`, with name and
/// id. In recordings it is a span on the task in which it began. Of spans that have the same name and id and are open at once, the
/// one that ends is taken for the one that began last.
///
/// ```
/// async fn handle(request: u64) {
///     let _span = futrace::span!("handle", request);
///     // … .await …
/// }
/// ```
///
/// # Across `.await`
///
/// A span is a length of time, from `span!` to the drop, and nothing else: unlike those of `tracing` it is not entered and left
/// when its task is polled, and makes no context for what happens meanwhile. So it may be held across `.await`; the time
/// in which the task waits, or could run and does not, is in it. It belongs to the task in which it *began*, whichever threads that
/// task runs on, and wherever the span ends: in another task, on a thread of no runtime, or when the future that holds it is
/// dropped. One that begins outside of all tasks belongs to the thread it began on. Spans of branches of one `join!` overlap
/// without one being in the other. What is to be told apart needs an id.
#[macro_export]
macro_rules! span {
    ($name:literal $(,)?) => {
        $crate::__span!($name, ::core::option::Option::None,)
    };
    ($name:literal, $key:ident = $($fields:tt)+) => {
        $crate::__span!($name, ::core::option::Option::None, $key = $($fields)+)
    };
    ($name:literal, $id:expr $(, $($fields:tt)*)?) => {
        $crate::__span!($name, ::core::option::Option::Some($crate::Id::id(&$id)), $($($fields)*)?)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __mark {
    ($name:literal, $id:expr, $($fields:tt)*) => {
        if $crate::__private::is_on() {
            $crate::__private::mark($crate::__name!(new $name), $id, $crate::__fields!([] $($fields)*));
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __span {
    ($name:literal, $id:expr, $($fields:tt)*) => {
        if $crate::__private::is_on() {
            $crate::__private::start($crate::__name!(new $name), $id, $crate::__fields!([] $($fields)*))
        } else {
            $crate::Span::none()
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __name {
	($kind:ident $text:expr) => {
		const { $crate::__private::Name::$kind(::core::concat!($text, "\0")) }
	};
}

/// Takes one field after the other, and puts what it makes of it into the brackets.
#[doc(hidden)]
#[macro_export]
macro_rules! __fields {
    ([$($made:tt)*]) => {
        [$($made)*]
    };
    ([$($made:tt)*] $key:ident = % $value:expr $(, $($rest:tt)*)?) => {
        $crate::__fields!([$($made)* ($crate::__name!(of_field ::core::stringify!($key)), $crate::Value::Display(&&$value)),] $($($rest)*)?)
    };
    ([$($made:tt)*] $key:ident = ? $value:expr $(, $($rest:tt)*)?) => {
        $crate::__fields!([$($made)* ($crate::__name!(of_field ::core::stringify!($key)), $crate::Value::Debug(&&$value)),] $($($rest)*)?)
    };
    ([$($made:tt)*] $key:ident = $value:expr $(, $($rest:tt)*)?) => {
        $crate::__fields!([$($made)* ($crate::__name!(of_field ::core::stringify!($key)), $crate::ToValue::to_value(&$value)),] $($($rest)*)?)
    };
    ([$($made:tt)*] $($other:tt)*) => {
        ::core::compile_error!("a field is `key = value`, `key = %value` or `key = ?value`, with a comma behind it if it is not the last")
    };
}
