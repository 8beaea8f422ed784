// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ids are never given twice, and not before somebody asks.
use futrace::UniqueId;
use std::collections::HashSet;
use std::thread;

#[test]
fn of_threads_that_come_and_go_all_differ() {
	let mut ids = HashSet::new();
	for _ in 0..10 {
		// five at a time, and their stacks and thread-locals are used again
		let threads: Vec<_> = (0..5)
			.map(|_| {
				thread::spawn(|| {
					(0..40).map(|_| UniqueId::new().as_u64())
						.collect::<Vec<_>>()
				})
			})
			.collect();
		for t in threads {
			for id in t.join().unwrap() {
				assert_ne!(id, 0);
				assert!(ids.insert(id), "{id} was given twice");
			}
		}
	}
	assert_eq!(ids.len(), 2000);
}

#[test]
fn beyond_a_block_all_differ() {
	let ids: HashSet<u64> = (0..5003).map(|_| UniqueId::new().as_u64()).collect();
	assert_eq!(ids.len(), 5003);
}

#[test]
fn is_numbered_when_somebody_asks() {
	let id = UniqueId::new();
	assert_eq!(format!("{id:?}"), "UniqueId(not numbered)");
	assert_eq!(id.as_u64(), id.as_u64());
	assert_eq!(format!("{id:?}"), format!("UniqueId({})", id.as_u64()));
}

#[test]
fn a_clone_has_the_same() {
	let id = UniqueId::new();
	let (a, b) = (id.clone(), id.clone());
	let there = thread::spawn(move || a.as_u64()).join().unwrap();
	assert_eq!(there, b.as_u64());
	assert_eq!(there, id.as_u64());
	assert_ne!(there, UniqueId::default().as_u64());
	assert_eq!(b, id);
	assert_ne!(UniqueId::new(), UniqueId::new());
	assert_eq!(HashSet::from([b, id, UniqueId::new()]).len(), 2);
}

#[test]
fn threads_that_ask_at_once_get_one() {
	static ID: UniqueId = UniqueId::new();
	let threads: Vec<_> = (0..8).map(|_| thread::spawn(|| ID.as_u64())).collect();
	let seen: HashSet<u64> = threads.into_iter().map(|t| t.join().unwrap()).collect();
	assert_eq!(seen, HashSet::from([ID.as_u64()]));
}

/// A library that is loaded a thousand times, with a copy of this crate in it, leaves the program keys for thread-locals.
#[cfg(futrace_probes)]
#[test]
fn take_no_more_than_there_is() {
	extern "C" {
		#[link_name = concat!("futrace_copy_", env!("CARGO_PKG_VERSION_MAJOR"), "_", env!("CARGO_PKG_VERSION_MINOR"), "_",
		                      env!("CARGO_PKG_VERSION_PATCH"))]
		fn futrace_copy() -> u32;
		fn pthread_key_create(key: *mut u32, destroy: *const std::ffi::c_void) -> i32;
		fn pthread_key_delete(key: u32) -> i32;
	}
	let numbers: Vec<u32> = (0..2000).map(|_| unsafe { futrace_copy() }).collect();
	let given: HashSet<&u32> = numbers.iter().filter(|n| **n != u32::MAX).collect();
	let nr_given = numbers.iter().take_while(|n| **n != u32::MAX).count();
	assert!(nr_given > 50, "only {nr_given}");
	assert_eq!(given.len(), nr_given, "each once");
	let mut key = 0;
	// SAFETY: as it is declared.
	unsafe {
		assert_eq!(
			pthread_key_create(&mut key, std::ptr::null()),
			0,
			"no key is left"
		);
		pthread_key_delete(key);
	}
	assert_ne!(UniqueId::new(), UniqueId::new());
}

/// A signal handler may come while its thread takes a number.
#[cfg(target_os = "linux")]
#[test]
fn of_signal_handlers_all_differ() {
	use std::ffi::c_void;
	use std::ptr::null_mut;
	use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};

	#[repr(C)]
	struct Event {
		value: *mut c_void,
		signal: i32,
		notify: i32,
		tid: i32,
		pad: [i32; 11],
	}
	extern "C" {
		fn signal(number: i32, handler: extern "C" fn(i32)) -> usize;
		fn gettid() -> i32;
		fn timer_create(clock: i32, event: *mut Event, timer: *mut *mut c_void) -> i32;
		fn timer_settime(
			timer: *mut c_void,
			flags: i32,
			every: *const [i64; 4],
			was: *mut c_void,
		) -> i32;
		fn timer_delete(timer: *mut c_void) -> i32;
	}
	const CLOCK_MONOTONIC: i32 = 1;
	const SIGEV_THREAD_ID: i32 = 4;
	const SIGUSR1: i32 = 10;
	const EVERY_NS: i64 = 20011;
	const SIGNALS: usize = 5003;
	static TAKEN: [AtomicU64; SIGNALS] = [const { AtomicU64::new(0) }; SIGNALS];
	static NR_TAKEN: AtomicUsize = AtomicUsize::new(0);

	extern "C" fn take(_: i32) {
		if let Some(to) = TAKEN.get(NR_TAKEN.fetch_add(1, SeqCst)) {
			to.store(UniqueId::new().as_u64(), SeqCst);
		}
	}
	let mut timer = null_mut();
	// SAFETY: all that is pointed to is there, and the handler only counts.
	unsafe {
		let mut event = Event {
			value: null_mut(),
			signal: SIGUSR1,
			notify: SIGEV_THREAD_ID,
			tid: gettid(),
			pad: [0; 11],
		};
		signal(SIGUSR1, take);
		assert_eq!(timer_create(CLOCK_MONOTONIC, &mut event, &mut timer), 0);
		assert_eq!(
			timer_settime(timer, 0, &[0, EVERY_NS, 0, EVERY_NS], null_mut()),
			0
		);
	}
	let mut ids = Vec::new();
	while NR_TAKEN.load(SeqCst) < SIGNALS {
		ids.push(UniqueId::new().as_u64());
	}
	assert_eq!(unsafe { timer_delete(timer) }, 0);
	ids.extend(TAKEN.iter().map(|id| id.load(SeqCst)));
	let nr = ids.len();
	ids.sort_unstable();
	ids.dedup();
	assert_eq!(ids.len(), nr, "some were given twice");
}

#[test]
fn while_a_thread_ends_too() {
	struct Last(std::sync::mpsc::Sender<u64>);
	impl Drop for Last {
		fn drop(&mut self) {
			self.0.send(UniqueId::new().as_u64()).unwrap();
		}
	}
	thread_local!(static LAST: std::cell::RefCell<Option<Last>> = const { std::cell::RefCell::new(None) });
	let (tx, rx) = std::sync::mpsc::channel();
	let first = thread::spawn(move || {
		LAST.with(|l| *l.borrow_mut() = Some(Last(tx)));
		UniqueId::new().as_u64()
	});
	let first = first.join().unwrap();
	assert_ne!(rx.recv().unwrap(), first);
}
