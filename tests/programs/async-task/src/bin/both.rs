// SPDX-License-Identifier: MIT OR Apache-2.0
//! async-std and smol in one program: both are made of async-task. Tasks of the one wait for tasks of the other.

use truth::{counted, Countdown};

fn main() {
	smol::block_on(async {
		for n in 0..17 {
			let (_, f) = counted("of_smol", async move {
				Countdown(n).await;
				async_std::task::spawn(counted("of_async_std", Countdown(n + 1)).1).await;
			});
			smol::spawn(f).await;
		}
	});
	async_std::task::block_on(async { Countdown(3).await });
	truth::print(1);
}
