// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks that block their thread, on smol: as many threads as SMOL_THREADS says. `machines-smol [idle]`

#[path = "../../../src/machines.rs"]
mod machines;

use machines::Runtime;

fn main() {
	smol::block_on(machines::run(Runtime {
		spawn: |task| Box::pin(smol::spawn(task)),
		sleep: |time| {
			Box::pin(async move {
				smol::Timer::after(time).await;
			})
		},
	}));
}
