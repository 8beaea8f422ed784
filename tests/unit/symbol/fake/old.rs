// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prints where its task and waker tables are (link-time addresses), and where tables are that only look like them.
use std::sync::Arc;
use tokio::runtime::task::{raw, waker};
use tokio::runtime::thread_pool::Worker;

extern "C" {
    static __ehdr_start: u8;
}

fn say(what: &str, addr: usize) {
    let header = unsafe { &__ehdr_start as *const u8 };
    let base = if unsafe { *header.add(16) } == 2 { 0 } else { header as usize }; // ET_EXEC: as it was linked
    println!("{what} {:x}", addr - base);
}

fn tables<T>() {
    say("task", raw::table::<T, Arc<Worker>>());
    say("waker", waker::table::<T, Arc<Worker>>());
}

type F = unsafe fn(usize);

/// The functions of a task in another order, and a waker's with one of another module's.
static SHUFFLED: [F; 8] = [
    raw::poll::<u128, u8>,
    raw::shutdown::<u128, u8>,
    raw::try_read_output::<u128, u8>,
    raw::try_set_join_waker::<u128, u8>,
    raw::drop_join_handle_slow::<u128, u8>,
    raw::drop_abort_handle::<u128, u8>,
    raw::remote_abort::<u128, u8>,
    raw::dealloc::<u128, u8>,
];
static FOREIGN: [F; 4] =
    [waker::clone_waker::<u128, u8>, waker::wake_by_val::<u128, u8>, poll, waker::drop_waker::<u128, u8>];

#[inline(never)]
unsafe fn poll(x: usize) {
    std::hint::black_box(x + 77);
}

/// The functions of two types in one table: symbols that have their types tell.
static MIXED: [F; 4] = [
    waker::clone_waker::<i8, u8>,
    waker::wake_by_val::<i8, u8>,
    waker::wake_by_ref::<i16, u8>,
    waker::drop_waker::<i8, u8>,
];

fn main() {
    #[cfg(tells_version)]
    eprintln!("/tokio-1.13.0/src/lib.rs");
    tables::<String>();
    tables::<[u64; 20]>();
    tables::<Vec<Arc<Worker>>>();
    say("no", std::hint::black_box(&SHUFFLED).as_ptr() as usize);
    say("no", std::hint::black_box(&FOREIGN).as_ptr() as usize);
    say("mixed", std::hint::black_box(&MIXED).as_ptr() as usize);
}
