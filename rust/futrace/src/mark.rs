// SPDX-License-Identifier: MIT OR Apache-2.0
//! Marks and spans: what the macros expand to.
use crate::id::{self, Id};
use crate::probes::{self, Field, Mark};

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

/// The value of a field: made of numbers, `bool`, text and [`UniqueId`](crate::UniqueId) by `Into`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
	/// A number, `true` or `false`, an id
	Unsigned(u64),
	/// A number that may be below 0
	Signed(i64),
	/// A fraction
	Float(f64),
	/// Text; what goes beyond [`MAX_TEXT`] is cut
	Text(&'a str),
}

macro_rules! values {
    ($($kind:ident $as:ty: $($t:ty)*;)*) => {$($(
        impl From<$t> for Value<'_> {
            fn from(n: $t) -> Self {
                Value::$kind(n as $as)
            }
        }

        impl From<&$t> for Value<'_> {
            fn from(n: &$t) -> Self {
                Value::from(*n)
            }
        }
    )*)*};
}
values! {
    Unsigned u64: u8 u16 u32 u64 usize bool;
    Signed i64: i8 i16 i32 i64 isize;
    Float f64: f32 f64;
}

impl<'a> From<&'a str> for Value<'a> {
	fn from(text: &'a str) -> Self {
		Value::Text(text)
	}
}

impl<'a> From<&&'a str> for Value<'a> {
	fn from(text: &&'a str) -> Self {
		Value::Text(text)
	}
}

impl<'a> From<&'a std::borrow::Cow<'_, str>> for Value<'a> {
	fn from(text: &'a std::borrow::Cow<'_, str>) -> Self {
		Value::Text(text)
	}
}

impl<'a> From<&'a String> for Value<'a> {
	fn from(text: &'a String) -> Self {
		Value::Text(text)
	}
}

impl From<&crate::UniqueId> for Value<'_> {
	fn from(id: &crate::UniqueId) -> Self {
		Value::Unsigned(id.as_u64())
	}
}

/// Texts with a zero behind each, as probes need them, on the stack.
struct Texts {
	bytes: [u8; MAX_TEXT + MAX_FIELDS],
	used: usize,
	left: usize,
}

impl Texts {
	/// Its address, and how many bytes of it there was room for: whole characters.
	fn add(&mut self, text: &str) -> (u64, u32) {
		let mut len = text.len().min(self.left);
		while !text.is_char_boundary(len) {
			len -= 1;
		}
		let at = self.used;
		self.bytes[at..at + len].copy_from_slice(&text.as_bytes()[..len]);
		self.bytes[at + len] = 0;
		self.used += len + 1;
		self.left -= len;
		(self.bytes[at..].as_ptr() as u64, len as u32)
	}
}

#[cold]
fn fire(kind: u16, name: Name, id: u64, fields: &[(Name, Value<'_>)]) {
	let mut texts = Texts {
		bytes: [0; MAX_TEXT + MAX_FIELDS],
		used: 0,
		left: MAX_TEXT,
	};
	let mut list = [Field {
		name: 0,
		value: 0,
		name_len: 0,
		len: 0,
		kind: 0,
		pad: 0,
	}; MAX_FIELDS];
	for (to, (name, value)) in list.iter_mut().zip(fields) {
		let (kind, value, len) = match *value {
			Value::Unsigned(n) => (0, n, 0),
			Value::Signed(n) => (1, n as u64, 0),
			Value::Float(n) => (2, n.to_bits(), 0),
			Value::Text(text) => {
				let (addr, len) = texts.add(text);
				(3, addr, len)
			}
		};
		*to = Field {
			name: name.addr(),
			value,
			name_len: name.len(),
			len,
			kind,
			pad: 0,
		};
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
pub fn mark<const N: usize>(name: Name, id: impl Id, fields: [(Name, Value<'_>); N]) {
	const { assert!(N <= MAX_FIELDS, "a mark has at most four fields") };
	fire(probes::MARK, name, id.id(), &fields);
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
/// It may be held across `.await`, go to other threads and tasks, and end on any of them. A span whose beginning nobody
/// wanted to know of has no end either.
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
	pub fn id(&self) -> Option<u64> {
		self.0.map(|(_, id)| id)
	}

	/// Ends it now.
	#[inline]
	pub fn end(self) {}
}

impl std::fmt::Debug for Name {
	fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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

/// Says that something happened here: `mark!("name")`, `mark!("name", id)`, `mark!("name", id, key = value, …)`.
///
/// The name is a literal, without a zero in it. The [id](crate::Id) tells to what it belongs; without one it is 0. Up to four fields have a name and a
/// number, text or `bool` each (whatever is `Into<`[`Value`](crate::Value)`>`). It is
///
/// - the USDT probe `futrace:mark`: arg0 the name, arg1 the id, arg2 to arg5 the values, texts as C strings;
/// - an event of the recording that `futrace record` makes, on the task that it happened in.
///
/// When neither is wanted it costs a load and a branch, and id and values are not even computed.
///
/// ```
/// # let (request, bytes) = (7u64, 4096usize);
/// futrace::mark!("cache-miss", request, bytes = bytes, tier = "disk");
/// ```
#[macro_export]
macro_rules! mark {
    ($name:literal $(, $key:ident = $value:expr)* $(,)?) => {
        $crate::mark!($name, 0u64 $(, $key = $value)*)
    };
    ($name:literal, $id:expr $(, $key:ident = $value:expr)* $(,)?) => {
        if $crate::__private::is_on() {
            $crate::__private::mark(const { $crate::__private::Name::new(::core::concat!($name, "\0")) }, $id, $crate::__fields!($($key = $value)*));
        }
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
#[macro_export]
macro_rules! span {
    ($name:literal $(, $key:ident = $value:expr)* $(,)?) => {
        $crate::__span!($name, ::core::option::Option::None $(, $key = $value)*)
    };
    ($name:literal, $id:expr $(, $key:ident = $value:expr)* $(,)?) => {
        $crate::__span!($name, ::core::option::Option::Some($crate::Id::id($id)) $(, $key = $value)*)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __span {
    ($name:literal, $id:expr $(, $key:ident = $value:expr)*) => {
        if $crate::__private::is_on() {
            $crate::__private::start(const { $crate::__private::Name::new(::core::concat!($name, "\0")) }, $id, $crate::__fields!($($key = $value)*))
        } else {
            $crate::Span::none()
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __fields {
    ($($key:ident = $value:expr)*) => {
        [$((const { $crate::__private::Name::of_field(::core::concat!(::core::stringify!($key), "\0")) }, $crate::Value::from($value))),*]
    };
}
