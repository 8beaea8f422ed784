// SPDX-License-Identifier: MIT OR Apache-2.0
//! Marks and spans in all the places where they may be, and what was said there: one JSON object for each. What it prints
//! does not depend on whether anybody listens.
//!
//! usage: marks [PLUGIN]

use futrace::{mark, span, Span, UniqueId};
use std::collections::HashSet;
use std::ffi::CString;
use std::future::Future;
use std::sync::Mutex;
use std::task::Poll;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::yield_now;

const TASKS: u64 = 7;
const STEPS: u64 = 11;
const BURSTS: u64 = 3001;

static TRUTH: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The task that is running, as a JSON value.
fn task() -> String {
	tokio::task::try_id().map_or("null".into(), |id| id.to_string())
}

fn say(kind: &str, name: &str, id: u64, fields: &str) {
	let line = format!(
		r#"{{"truth":"{kind}","name":"{name}","id":{id},"task":{},"fields":{{{fields}}}}}"#,
		task()
	);
	TRUTH.lock().unwrap().push(line);
}

async fn steps(nr: u64) {
	let word = format!("step of {nr}, “quoted”");
	say("span", "steps", nr, r#""of":11"#);
	let _span = span!("steps", nr, of = STEPS);
	for i in 0..STEPS {
		let id = nr * 100 + i;
		let below = -(i as i64);
		say(
			"mark",
			"step",
			id,
			&format!(
				r#""i":{i},"below":{below},"half":{},"word":"{word}""#,
				i as f64 / 2.0
			),
		);
		mark!(
			"step",
			id,
			i = i,
			below = below,
			half = i as f64 / 2.0,
			word = &word
		);
		yield_now().await;
	}
}

/// Two at once in one task, neither inside of the other.
async fn at_once() {
	async fn branch(id: u64, before: u64, inside: u64) {
		for _ in 0..before {
			yield_now().await;
		}
		say("span", "branch", id, "");
		let _span = span!("branch", id);
		for _ in 0..inside {
			yield_now().await;
		}
	}
	let mut all = vec![
		Box::pin(branch(1, 0, 3)),
		Box::pin(branch(2, 2, 3)),
		Box::pin(branch(3, 1, 5)),
	];
	std::future::poll_fn(|cx| {
		all.retain_mut(|b| b.as_mut().poll(cx).is_pending());
		if all.is_empty() {
			Poll::Ready(())
		} else {
			Poll::Pending
		}
	})
	.await;
}

async fn receive(rx: oneshot::Receiver<Span>) {
	rx.await.expect("a span").end();
}

async fn hand_over() {
	let (tx, rx) = oneshot::channel();
	let other = tokio::spawn(receive(rx));
	say("span", "handed", 1, "");
	let span = span!("handed", 1u64);
	yield_now().await;
	tx.send(span).expect("is awaited");
	other.await.expect("ends it");
}

/// A field without a value is none, and those behind it are where they were.
async fn kinds() {
	let (nothing, host) = (None::<u64>, std::net::Ipv4Addr::LOCALHOST);
	say(
		"mark",
		"kinds",
		9,
		r#""c":"ü","time":1500,"host":"127.0.0.1""#,
	);
	mark!("kinds", 9, c = 'ü', nothing = nothing, time = Duration::from_nanos(1500), host = %host);
}

async fn falls() {
	say("span", "falls", 1, "");
	let _span = span!("falls", 1u64);
	yield_now().await;
	std::panic::resume_unwind(Box::new("on purpose"));
}

async fn root() {
	let tasks: Vec<_> = (1..=TASKS).map(|nr| tokio::spawn(steps(nr))).collect();
	for t in tasks {
		t.await.expect("steps");
	}
	tokio::spawn(at_once()).await.expect("at_once");
	tokio::spawn(hand_over()).await.expect("hand_over");
	tokio::spawn(kinds()).await.expect("kinds");
	assert!(tokio::spawn(falls()).await.is_err());
	tokio::task::spawn_blocking(|| {
		say("mark", "in-blocking", 5, "");
		mark!("in-blocking", 5u64);
	})
	.await
	.expect("closure");
	// aborted while it waits: its span ends when it is dropped
	let waits = tokio::spawn(async {
		say("span", "aborted", 1, "");
		let _span = span!("aborted", 1u64);
		std::future::pending::<()>().await;
	});
	while !TRUTH.lock().unwrap().iter().any(|l| l.contains("aborted")) {
		yield_now().await;
	}
	waits.abort();
	assert!(waits.await.is_err());
}

/// On a thread that knows nothing of runtimes.
fn outside() {
	say("span", "outside", 1, "");
	let span = span!("outside", 1u64, flag = true);
	for i in 0..BURSTS {
		mark!("burst", i);
	}
	TRUTH.lock()
		.unwrap()
		.push(format!(r#"{{"truth":"burst","count":{BURSTS}}}"#));
	drop(span);
	say("span", "forgotten", 1, "");
	std::mem::forget(span!("forgotten", 1u64));
}

/// The child marks as well, and ends a span that its parent began: none of it is the parent's.
fn fork() {
	say("span", "forked", 1, "");
	let span = span!("forked", 1u64);
	let mut status = 0;
	// SAFETY: the child allocates nothing.
	unsafe {
		let pid = libc::fork();
		if pid == 0 {
			mark!("in-child", 1u64);
			drop(span);
			libc::_exit(0);
		}
		libc::waitpid(pid, &mut status, 0);
	}
	assert_eq!(status, 0);
	drop(span);
}

fn plugin(path: &str) {
	let path = CString::new(path).expect("a path");
	let mut ids = HashSet::new();
	// SAFETY: the functions are as declared here.
	unsafe {
		let library = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
		assert!(!library.is_null(), "cannot load the library");
		let mark: extern "C" fn(u64) =
			std::mem::transmute(libc::dlsym(library, c"plugin_mark".as_ptr()));
		let id: extern "C" fn() -> u64 =
			std::mem::transmute(libc::dlsym(library, c"plugin_id".as_ptr()));
		for _ in 0..1000 {
			ids.insert(id());
			ids.insert(UniqueId::new().as_u64());
		}
		mark(13);
		libc::dlclose(library);
	}
	say("span", "plugin", 13, "");
	for i in 0..13 {
		say("mark", "from-plugin", i, r#""of":13"#);
	}
	TRUTH.lock()
		.unwrap()
		.push(format!(r#"{{"truth":"ids","different":{}}}"#, ids.len()));
}

fn main() {
	let rt = tokio::runtime::Builder::new_multi_thread()
		.worker_threads(2)
		.build()
		.expect("a runtime");
	std::panic::set_hook(Box::new(|_| ()));
	rt.block_on(root());
	drop(rt);
	std::thread::spawn(outside).join().expect("outside");
	fork();
	if let Some(path) = std::env::args().nth(1) {
		plugin(&path);
	}
	mark!("end");
	say("mark", "end", 0, "");
	for line in TRUTH.lock().unwrap().iter() {
		println!("{line}");
	}
}
