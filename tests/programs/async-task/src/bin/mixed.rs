// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tokio and smol in one program; tasks of the one wait for tasks of the other.

use truth::{counted, Countdown};

fn main() {
	let rt = tokio::runtime::Builder::new_multi_thread()
		.worker_threads(2)
		.enable_all()
		.build()
		.expect("runtime");
	let handle = rt.handle().clone();
	let inner = handle.clone();
	rt.block_on(async move {
		for n in 0..17 {
			let h = inner.clone();
			let (_, f) = counted("of_smol", async move {
				Countdown(n).await;
				h.spawn(counted("of_tokio", Countdown(n)).1)
					.await
					.expect("task");
			});
			let t = smol::spawn(f);
			handle.spawn(counted("of_tokio", t).1).await.expect("task");
		}
	});
	drop(rt);
	truth::print(1);
}
