// SPDX-License-Identifier: MIT OR Apache-2.0
//! A module of Python with its own Tokio: `import libpymodule`.
//!
//! It speaks to the interpreter by the stable C interface, whose few types it declares itself: so it is
//! loaded by any Python 3, and nothing of Python is needed to build it.

use std::ffi::{c_char, c_int, c_long, c_void};
use std::ptr::null_mut;
use std::sync::Mutex;
use tokio::runtime::Runtime;
use truth::{spawn, spawn_blocking, yields};

#[repr(C)]
struct MethodDef {
	name: *const c_char,
	call: Option<extern "C" fn(*mut c_void, *mut c_void) -> *mut c_void>,
	flags: c_int,
	doc: *const c_char,
}

/// PyModuleDef: an object's head (two words), the interpreter's own (three), then ours.
#[repr(C)]
struct ModuleDef {
	refs: isize,
	interpreters_own: [*mut c_void; 4],
	name: *const c_char,
	doc: *const c_char,
	size: isize,
	methods: *mut MethodDef,
	unused: [*mut c_void; 4],
}

const METH_NOARGS: c_int = 4;
const METH_O: c_int = 8;
const API_VERSION: c_int = 3; // of the stable interface

extern "C" {
	fn PyModule_Create2(def: *mut ModuleDef, version: c_int) -> *mut c_void;
	fn PyLong_AsLong(object: *mut c_void) -> c_long;
	fn PyLong_FromLong(value: c_long) -> *mut c_void;
}

async fn in_module(n: u64) {
	yields(n).await;
}

async fn root() {
	let v: Vec<_> = (0..11).map(|n| spawn("in_module", in_module(n))).collect();
	for t in v {
		t.await.expect("in module");
	}
	spawn_blocking("closure", || ()).await.expect("closure");
}

static KEPT: Mutex<Vec<Runtime>> = Mutex::new(Vec::new());

fn runtime(workers: c_long) -> Runtime {
	match workers {
		0 => truth::runtime(&["ct".into()]),
		n => truth::runtime(&["mt".into(), n.to_string()]),
	}
}

/// `run(workers)`: eleven tasks and a closure on a runtime of their own; 0: in this thread.
extern "C" fn run(_: *mut c_void, workers: *mut c_void) -> *mut c_void {
	runtime(unsafe { PyLong_AsLong(workers) }).block_on(root());
	unsafe { PyLong_FromLong(truth::nr_tasks() as c_long) }
}

/// `keep(workers)`: the same, but the runtime and one idle task live on.
extern "C" fn keep(_: *mut c_void, workers: *mut c_void) -> *mut c_void {
	let rt = runtime(unsafe { PyLong_AsLong(workers) });
	rt.block_on(async {
		root().await;
		let idle = spawn("idle", std::future::pending::<()>());
		while !idle.rec.is_idle_after(1) {
			tokio::task::yield_now().await;
			truth::note_step();
		}
	});
	KEPT.lock().expect("runtimes").push(rt);
	unsafe { PyLong_FromLong(truth::nr_tasks() as c_long) }
}

/// `forget()`: what was before this is not part of the truth. For a child after a fork.
extern "C" fn forget(_: *mut c_void, _: *mut c_void) -> *mut c_void {
	truth::forget();
	unsafe { PyLong_FromLong(0) }
}

/// `tell()`: prints the truth.
extern "C" fn tell(_: *mut c_void, _: *mut c_void) -> *mut c_void {
	truth::print();
	unsafe { PyLong_FromLong(0) }
}

fn method(
	name: &'static std::ffi::CStr,
	call: extern "C" fn(*mut c_void, *mut c_void) -> *mut c_void,
	flags: c_int,
) -> MethodDef {
	MethodDef {
		name: name.as_ptr(),
		call: Some(call),
		flags,
		doc: c"".as_ptr(),
	}
}

#[no_mangle]
pub extern "C" fn PyInit_libpymodule() -> *mut c_void {
	let end = MethodDef {
		name: null_mut(),
		call: None,
		flags: 0,
		doc: null_mut(),
	};
	let methods = Box::leak(Box::new([
		method(c"run", run, METH_O),
		method(c"keep", keep, METH_O),
		method(c"forget", forget, METH_NOARGS),
		method(c"tell", tell, METH_NOARGS),
		end,
	]));
	let def = Box::leak(Box::new(ModuleDef {
		refs: 1,
		interpreters_own: [null_mut(); 4],
		name: c"libpymodule".as_ptr(),
		doc: c"".as_ptr(),
		size: -1,
		methods: methods.as_mut_ptr(),
		unused: [null_mut(); 4],
	}));
	unsafe { PyModule_Create2(def, API_VERSION) }
}
