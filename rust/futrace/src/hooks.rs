// SPDX-License-Identifier: MIT OR Apache-2.0
//! What [`register_hooks`] gives to Tokio, each to be called by hooks of your own: Tokio takes one
//! function for each event, and the last one wins.
//!
//! ```no_run
//! let mut builder = tokio::runtime::Builder::new_multi_thread();
//! futrace::register_hooks(&mut builder).unwrap();
//! builder.on_thread_park(|| {
//!     futrace::hooks::on_thread_park();
//!     // … what you want to do there
//! });
//! #[cfg(tokio_unstable)]
//! builder.on_task_spawn(|task| {
//!     futrace::hooks::on_task_spawn(task);
//!     // … what you want to do there
//! });
//! ```
//!
//! Without `--cfg tokio_unstable` there are those of threads only.
use std::fmt::Write;

/// The id of a task, which Tokio only shows as text.
pub(crate) fn number_of(id: tokio::task::Id) -> u64 {
	struct Digits(u64);
	impl Write for Digits {
		fn write_str(&mut self, s: &str) -> std::fmt::Result {
			for c in s.bytes().filter(u8::is_ascii_digit) {
				self.0 = self.0.wrapping_mul(10).wrapping_add(u64::from(c - b'0'));
			}
			Ok(())
		}
	}
	let mut digits = Digits(0);
	let _ = write!(digits, "{id}");
	digits.0
}

/// Of C: it ends with a zero.
#[cfg(tokio_unstable)]
type Text = *const std::ffi::c_char;

/// Semaphores, as c/tokio.c numbers them.
#[cfg(tokio_unstable)]
mod task {
	pub(super) const SPAWN: usize = 0;
	pub(super) const POLL_START: usize = 1;
	pub(super) const POLL_END: usize = 2;
	pub(super) const TERMINATE: usize = 3;
}
const START: usize = 4;
const STOP: usize = 5;
const PARK: usize = 6;
const UNPARK: usize = 7;

#[cfg(futrace_probes)]
mod c {
	#[cfg(tokio_unstable)]
	use super::Text;
	use std::sync::atomic::{AtomicU16, Ordering};

	extern "C" {
		#[link_name = concat!("futrace_tokio", env!("FUTRACE_SUFFIX"))]
		static ON: [AtomicU16; 8];
		#[link_name = concat!("futrace_thread_start", env!("FUTRACE_SUFFIX"))]
		pub(super) fn thread_start();
		#[link_name = concat!("futrace_thread_stop", env!("FUTRACE_SUFFIX"))]
		pub(super) fn thread_stop();
		#[link_name = concat!("futrace_thread_park", env!("FUTRACE_SUFFIX"))]
		pub(super) fn thread_park();
		#[link_name = concat!("futrace_thread_unpark", env!("FUTRACE_SUFFIX"))]
		pub(super) fn thread_unpark();
	}

	#[cfg(tokio_unstable)]
	pub(super) type TaskProbe = unsafe extern "C" fn(u64, Text, u32, u32, Text);
	#[cfg(tokio_unstable)]
	macro_rules! task_probes {
        ($($name:ident $symbol:literal;)*) => {
            extern "C" {$(
                #[link_name = concat!($symbol, env!("FUTRACE_SUFFIX"))]
                pub(super) fn $name(id: u64, file: Text, line: u32, column: u32, type_: Text);
            )*}
        };
    }
	#[cfg(tokio_unstable)]
	task_probes! {
	    task_spawn "futrace_task_spawn";
	    task_poll_start "futrace_task_poll_start";
	    task_poll_end "futrace_task_poll_end";
	    task_terminate "futrace_task_terminate";
	}

	/// Is anybody at that probe?
	#[inline(always)]
	pub(super) fn is_on(probe: usize) -> bool {
		// SAFETY: a static of C, which the kernel counts in.
		unsafe { ON[probe].load(Ordering::Relaxed) != 0 }
	}
}

#[cfg(not(futrace_probes))]
mod c {
	#[inline(always)]
	pub(super) fn is_on(_: usize) -> bool {
		false
	}
	pub(super) unsafe fn thread_start() {}
	pub(super) unsafe fn thread_stop() {}
	pub(super) unsafe fn thread_park() {}
	pub(super) unsafe fn thread_unpark() {}

	#[cfg(tokio_unstable)]
	pub(super) use task_probes::*;
	#[cfg(tokio_unstable)]
	mod task_probes {
		use super::super::Text;
		pub(in super::super) type TaskProbe = unsafe fn(u64, Text, u32, u32, Text);
		macro_rules! task_probes {
            ($($name:ident)*) => {$(
                pub(in super::super) unsafe fn $name(_: u64, _: Text, _: u32, _: u32, _: Text) {}
            )*};
        }
		task_probes!(task_spawn task_poll_start task_poll_end task_terminate);
	}
}

macro_rules! thread_hooks {
    ($($(#[$doc:meta])* $name:ident $on:ident $fire:ident;)*) => {$(
        $(#[$doc])*
        #[inline]
        pub fn $name() {
            if c::is_on($on) {
                // SAFETY: takes nothing, and does nothing but to be there for a tracer.
                unsafe { c::$fire() }
            }
        }
    )*};
}
thread_hooks! {
    /// `tokio:worker-thread-start`: a thread of the runtime has started and does no work yet. Tokio tells it of threads of the
    /// blocking pool as well.
    on_thread_start START thread_start;
    /// `tokio:worker-thread-stop`: it is about to stop.
    on_thread_stop STOP thread_stop;
    /// `tokio:worker-thread-park`: a worker has nothing to do and is about to wait.
    on_thread_park PARK thread_park;
    /// `tokio:worker-thread-unpark`: it goes on.
    on_thread_unpark UNPARK thread_unpark;
}

#[cfg(tokio_unstable)]
pub use tasks::*;

#[cfg(tokio_unstable)]
mod tasks {
	use super::{c, number_of, task};
	use tokio::runtime::TaskMeta;

	const MAX_FILE: usize = 1024;

	/// Probes want the name of a file to end with a zero, as those of Rust do not. Tokio tells its hooks nothing of types:
	/// the argument is there for what is written for the probes of `futrace run`, which have it.
	#[cold]
	fn fire(meta: &TaskMeta<'_>, probe: c::TaskProbe) {
		let place = meta.spawned_at();
		let file = place.file().as_bytes();
		let mut text = [0u8; MAX_FILE + 1];
		let len = file.len().min(MAX_FILE);
		text[..len].copy_from_slice(&file[..len]);
		// SAFETY: nobody keeps the text.
		unsafe {
			probe(
				number_of(meta.id()),
				text.as_ptr().cast(),
				place.line(),
				place.column(),
				c"".as_ptr(),
			)
		}
	}

	macro_rules! task_hooks {
        ($($(#[$doc:meta])* $name:ident $on:ident $fire:ident;)*) => {$(
            $(#[$doc])*
            #[inline]
            pub fn $name(meta: &TaskMeta<'_>) {
                if c::is_on(task::$on) {
                    fire(meta, c::$fire);
                }
            }
        )*};
    }
	task_hooks! {
	    /// `tokio:task-spawn`: arg0 the task's id, arg1 file, arg2 line and arg3 column of the spawn, arg4 "".
	    on_task_spawn SPAWN task_spawn;
	    /// `tokio:task-poll-start`: the same arguments; its future is about to be polled.
	    on_before_task_poll POLL_START task_poll_start;
	    /// `tokio:task-poll-end`: the same arguments; it was polled. If it is over now, `task-terminate` came before.
	    on_after_task_poll POLL_END task_poll_end;
	    /// `tokio:task-terminate`: the same arguments; the task is over, however that came. Tokio tells it of closures of
	    /// the blocking pool as well, whose spawn it does not tell.
	    on_task_terminate TERMINATE task_terminate;
	}
}

/// Why hooks cannot be registered: there is no reason yet.
#[derive(Debug)]
#[non_exhaustive]
pub enum RegistrationError {}

impl std::fmt::Display for RegistrationError {
	fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
		match *self {}
	}
}

impl std::error::Error for RegistrationError {}

/// Gives all [hooks](crate::hooks) to a runtime that is to be built, so that it fires the probes of provider `tokio`. Hooks that were
/// set before are replaced.
///
/// Built with `--cfg tokio_unstable` it has all eight probes; without, those of threads: Tokio offers no more.
///
/// # Errors
///
/// None yet.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut builder = tokio::runtime::Builder::new_multi_thread();
/// let runtime = futrace::register_hooks(builder.worker_threads(1))?.build()?;
/// runtime.block_on(async { /* … */ });
/// # Ok(())
/// # }
/// ```
pub fn register_hooks(
	builder: &mut tokio::runtime::Builder,
) -> Result<&mut tokio::runtime::Builder, RegistrationError> {
	builder.on_thread_start(on_thread_start)
		.on_thread_stop(on_thread_stop);
	builder.on_thread_park(on_thread_park)
		.on_thread_unpark(on_thread_unpark);
	#[cfg(tokio_unstable)]
	{
		builder.on_task_spawn(on_task_spawn)
			.on_task_terminate(on_task_terminate);
		builder.on_before_task_poll(on_before_task_poll)
			.on_after_task_poll(on_after_task_poll);
	}
	Ok(builder)
}
