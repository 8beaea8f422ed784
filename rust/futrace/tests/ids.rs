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
