// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of fields. They are made where the mark is: a number of which the address went elsewhere would have to be in
//! memory before, also while nobody wants to know it.
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The value of a field, as [`ToValue`] gives it. What is to be written as text is written into the mark itself: nothing is
/// allocated.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Value<'a> {
	/// There is none: the field is missing in recordings, and is 0 in probes
	None,
	/// A number, `true` or `false`, an id
	Unsigned(u64),
	/// A number that may be below 0
	Signed(i64),
	/// A fraction
	Float(f64),
	/// Text; what goes beyond [`MAX_TEXT`](crate::MAX_TEXT) is cut
	Text(&'a str),
	/// As text: what is not UTF-8 becomes `�`
	Path(&'a Path),
	/// As the text that it is shown by, `key = %value`
	Display(&'a dyn fmt::Display),
	/// As the text that it is debugged by, `key = ?value`
	Debug(&'a dyn fmt::Debug),
}

impl fmt::Debug for Value<'_> {
	fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
		match self {
			Value::None => f.write_str("None"),
			Value::Unsigned(n) => n.fmt(f),
			Value::Signed(n) => n.fmt(f),
			Value::Float(n) => n.fmt(f),
			Value::Text(text) => text.fmt(f),
			Value::Path(path) => path.fmt(f),
			Value::Display(it) => it.fmt(f),
			Value::Debug(it) => it.fmt(f),
		}
	}
}

/// What can be the value of a field as it is: numbers, `bool`, `char`, text of all kinds, [`Duration`] (in nanoseconds),
/// [`UniqueId`](crate::UniqueId), `tokio::task::Id`; an [`Option`] of these, references and smart pointers to them. Numbers that have more
/// than 64 bits are taken for the nearest that has not. All else is text by `%` or `?`.
///
/// Types of your own can have it, too:
///
/// ```
/// struct Pages(u32);
///
/// impl futrace::ToValue for Pages {
///     fn to_value(&self) -> futrace::Value<'_> {
///         futrace::Value::Unsigned(u64::from(self.0) * 4096)
///     }
/// }
/// futrace::mark!("mapped", size = Pages(3));
/// ```
#[diagnostic::on_unimplemented(
	message = "`{Self}` cannot be the value of a field as it is",
	label = "not a number, `bool`, `char`, text, `Duration` or id, nor an `Option` of one",
	note = "`key = %value` is the text of its `Display`, `key = ?value` that of its `Debug`"
)]
pub trait ToValue {
	/// Borrows what is text.
	fn to_value(&self) -> Value<'_>;
}

macro_rules! numbers {
    ($($kind:ident $as:ty: $($t:ty)*;)*) => {$($(
        impl ToValue for $t {
            #[inline]
            fn to_value(&self) -> Value<'_> {
                let nearest = if *self > 0 { <$as>::MAX } else { <$as>::MIN };
                Value::$kind(<$as>::try_from(*self).unwrap_or(nearest))
            }
        }

        impl ToValue for NonZero<$t> {
            #[inline]
            fn to_value(&self) -> Value<'_> {
                let nearest = if self.get() > 0 { <$as>::MAX } else { <$as>::MIN };
                Value::$kind(<$as>::try_from(self.get()).unwrap_or(nearest))
            }
        }
    )*)*};
}
numbers! {
    Unsigned u64: u8 u16 u32 u64 u128 usize;
    Signed i64: i8 i16 i32 i64 i128 isize;
}

/// What has a value by something that is made of it: `type: it => value;`
macro_rules! values {
    ($($t:ty: $it:ident => $value:expr;)*) => {$(
        impl ToValue for $t {
            #[inline]
            fn to_value(&self) -> Value<'_> {
                let $it = self;
                $value
            }
        }
    )*};
}
values! {
    bool: it => Value::Unsigned(u64::from(*it));
    f32: it => Value::Float(f64::from(*it));
    f64: it => Value::Float(*it);
    char: it => Value::Display(it);
    fmt::Arguments<'_>: it => Value::Display(it);
    str: it => Value::Text(it);
    String: it => Value::Text(it);
    Path: it => Value::Path(it);
    PathBuf: it => Value::Path(it);
    OsStr: it => Value::Path(Path::new(it));
    OsString: it => Value::Path(Path::new(it));
    Duration: it => Value::Unsigned(u64::try_from(it.as_nanos()).unwrap_or(u64::MAX));
    crate::UniqueId: it => Value::Unsigned(it.as_u64());
}

#[cfg(feature = "tokio")]
values! {
    tokio::task::Id: it => Value::Unsigned(crate::Id::id(it));
}

impl<T: ToValue> ToValue for Option<T> {
	#[inline]
	fn to_value(&self) -> Value<'_> {
		self.as_ref().map_or(Value::None, T::to_value)
	}
}

impl<T: ToValue + ToOwned + ?Sized> ToValue for Cow<'_, T> {
	#[inline]
	fn to_value(&self) -> Value<'_> {
		(**self).to_value()
	}
}

macro_rules! pointers {
    ($($t:ty)*) => {$(
        impl<T: ToValue + ?Sized> ToValue for $t {
            #[inline]
            fn to_value(&self) -> Value<'_> {
                (**self).to_value()
            }
        }
    )*};
}
pointers!(&T &mut T Box<T> Rc<T> Arc<T>);
