// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks that block their thread, on async-std: as many threads as ASYNC_STD_THREAD_COUNT says.
//! `machines-async-std [idle]`

#[path = "../../../src/machines.rs"]
mod machines;

use async_std::task;
use machines::Runtime;

fn main() {
	task::block_on(machines::run(Runtime {
		spawn: |f| Box::pin(task::spawn(f)),
		sleep: |time| Box::pin(task::sleep(time)),
	}));
}
