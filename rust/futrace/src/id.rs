// SPDX-License-Identifier: MIT OR Apache-2.0
use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZero;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// An id that no other has, in this process: for what an event belongs to, where neither the thread nor the task tells.
///
/// A task runs now on one thread and now on another, and can be in several places at once (`join!`), so a script that
/// keeps what it knows by thread mixes things up, and one that keeps it by task does, too. Give each request, each
/// transaction or whatever you follow an id of its own, and hand it to [`mark!`](crate::mark!) and [`span!`](crate::span!):
///
/// ```
/// let id = futrace::UniqueId::new();
/// futrace::mark!("request-begins", &id);
/// let theirs = id.clone(); // the same id
/// std::thread::spawn(move || futrace::mark!("request-on-a-thread", &theirs)).join().unwrap();
/// ```
///
/// It is lazy: a new one is nothing but a zero, and gets its number when somebody wants to know it, which without a tracer
/// nobody does, or when it is cloned, for a clone has the same. Numbers are never given twice in a process, whichever
/// thread or signal handler asks, also not by another copy of this crate in it (a library that was loaded). The id is not 0.
pub struct UniqueId(AtomicU64);

impl UniqueId {
	/// Costs nothing, and may be a `static`.
	///
	/// ```
	/// static STARTUP: futrace::UniqueId = futrace::UniqueId::new();
	/// futrace::mark!("configuration read", STARTUP);
	/// ```
	#[must_use]
	pub const fn new() -> Self {
		UniqueId(AtomicU64::new(0))
	}

	/// The id, as probes have it: always the same of this one and its clones.
	///
	/// ```
	/// let id = futrace::UniqueId::new();
	/// assert_eq!(id.as_u64(), id.clone().as_u64());
	/// assert_ne!(id.as_u64(), futrace::UniqueId::new().as_u64());
	/// ```
	#[must_use]
	pub fn as_u64(&self) -> u64 {
		match self.0.load(Ordering::Relaxed) {
			0 => self.number(),
			id => id,
		}
	}

	#[cold]
	fn number(&self) -> u64 {
		let id = next();
		// Whoever is first has numbered it.
		match self
			.0
			.compare_exchange(0, id, Ordering::Relaxed, Ordering::Relaxed)
		{
			Ok(_) => id,
			Err(theirs) => theirs,
		}
	}
}

impl Default for UniqueId {
	fn default() -> Self {
		UniqueId::new()
	}
}

impl Clone for UniqueId {
	fn clone(&self) -> Self {
		UniqueId(AtomicU64::new(self.as_u64()))
	}
}

/// Who compares wants to know the numbers: both get one.
impl PartialEq for UniqueId {
	fn eq(&self, other: &Self) -> bool {
		self.as_u64() == other.as_u64()
	}
}

impl Eq for UniqueId {}

impl Hash for UniqueId {
	fn hash<H: Hasher>(&self, state: &mut H) {
		self.as_u64().hash(state);
	}
}

impl fmt::Debug for UniqueId {
	fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
		match self.0.load(Ordering::Relaxed) {
			0 => f.write_str("UniqueId(not numbered)"),
			id => write!(f, "UniqueId({id})"),
		}
	}
}

/// Threads take so many at once, so that they seldom meet.
const BLOCK: u64 = 256;
/// The lower bits tell copies of this crate in one process apart.
const COPY_BITS: u32 = 10;

static NEXT_BLOCK: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// The next number of this thread; at the end of a block: none. Atomic for the sake of its own signal handlers.
    static MINE: AtomicU64 = const { AtomicU64::new(0) };
}

/// Which copy of this crate it is: a number that the others in the process do not have. 0: not asked yet.
static COPY: AtomicU64 = AtomicU64::new(0);

#[cold]
fn copy() -> u64 {
	// More copies than there are numbers for share the last one: nobody loads so many.
	let number = u64::from(crate::probes::copy()).min((1 << COPY_BITS) - 2) + 1;
	match COPY.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed) {
		Ok(_) => number,
		Err(theirs) => theirs,
	}
}

fn new_block() -> u64 {
	NEXT_BLOCK.fetch_add(1, Ordering::Relaxed) * BLOCK
}

fn take(mine: &AtomicU64) -> u64 {
	loop {
		let next = mine.load(Ordering::Relaxed);
		let count = if next % BLOCK == 0 { new_block() } else { next };
		// It fails if a signal handler took some meanwhile.
		let taken = mine.compare_exchange(
			next,
			count + 1,
			Ordering::Relaxed,
			Ordering::Relaxed,
		);
		if taken.is_ok() {
			return count;
		}
	}
}

pub(crate) fn next() -> u64 {
	let copy = match COPY.load(Ordering::Relaxed) {
		0 => copy(),
		number => number,
	};
	let count = MINE.try_with(take).unwrap_or_else(|_| new_block());
	count << COPY_BITS | (copy - 1)
}

/// What can be the id of a mark or span: a whole number (one below 0 is that of its bits), a [`UniqueId`], a
/// `tokio::task::Id`, references and smart pointers to one.
///
/// Types of your own can have it, too:
///
/// ```
/// struct Request { number: u32 }
///
/// impl futrace::Id for Request {
///     fn id(&self) -> u64 {
///         self.number.into()
///     }
/// }
/// futrace::mark!("begins", Request { number: 7 });
/// ```
#[diagnostic::on_unimplemented(
	message = "`{Self}` cannot be the id of a mark or span",
	label = "not a whole number, `UniqueId` or `tokio::task::Id`",
	note = "without an id, and with fields: `mark!(\"name\", key = value)`"
)]
pub trait Id {
	/// As probes have it.
	fn id(&self) -> u64;
}

macro_rules! numbers {
    ($($t:ty)*) => {$(
        impl Id for $t {
            #[inline]
            fn id(&self) -> u64 {
                *self as u64
            }
        }

        impl Id for NonZero<$t> {
            #[inline]
            fn id(&self) -> u64 {
                self.get() as u64
            }
        }
    )*};
}
numbers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize);

impl Id for UniqueId {
	#[inline]
	fn id(&self) -> u64 {
		self.as_u64()
	}
}

#[cfg(feature = "tokio")]
impl Id for tokio::task::Id {
	#[inline]
	fn id(&self) -> u64 {
		crate::hooks::number_of(*self)
	}
}

macro_rules! pointers {
    ($($t:ty)*) => {$(
        impl<T: Id + ?Sized> Id for $t {
            #[inline]
            fn id(&self) -> u64 {
                (**self).id()
            }
        }
    )*};
}
pointers!(&T &mut T Box<T> Rc<T> Arc<T>);
