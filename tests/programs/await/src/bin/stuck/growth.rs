// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks that become more and more, or as many come as go.

use std::time::Duration;

const NR_AT_ONCE: u64 = 20;
const LIMIT: u64 = 20_000;

async fn leaks(seed: u64) {
	let held = vec![seed; 100];
	tokio::time::sleep(Duration::from_secs(100_000)).await;
	drop(held);
}

async fn passes(seed: u64) {
	let held = vec![seed; 100];
	tokio::time::sleep(Duration::from_millis(20)).await;
	drop(held);
}

pub fn grows(is_fault: bool) {
	tokio::spawn(async move {
		for i in 0..LIMIT / NR_AT_ONCE {
			for j in 0..NR_AT_ONCE {
				match is_fault {
					true => drop(tokio::spawn(leaks(i + j))),
					false => drop(tokio::spawn(passes(i + j))),
				}
			}
			tokio::time::sleep(Duration::from_millis(10)).await;
		}
		std::future::pending::<()>().await
	});
}
