// SPDX-License-Identifier: MIT OR Apache-2.0
//! deep levels | branches N: a task of so many futures inside of each other, or side by side, each of them a box. It goes on
//! until its input ends.

use std::future::Future;
use std::io::Read;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::sleep;

const LONG: Duration = Duration::from_secs(5000);
const STACK: usize = 256 << 20; // each level has its frames there, and more of them without optimization

fn nest(levels: u32) -> Pin<Box<dyn Future<Output = ()> + Send>> {
	Box::pin(async move {
		if levels > 1 {
			nest(levels - 1).await
		} else {
			sleep(LONG).await
		}
	})
}

fn main() {
	let mut args = std::env::args().skip(1);
	let (shape, nr) = (args.next().unwrap(), args.next().unwrap());
	let nr: u32 = nr.parse().unwrap();
	let rt = tokio::runtime::Builder::new_multi_thread()
		.worker_threads(1)
		.thread_stack_size(STACK)
		.enable_all()
		.build()
		.unwrap();
	if shape == "levels" {
		rt.spawn(nest(nr));
	} else {
		rt.spawn(async move { drop(futures::future::join_all((0..nr).map(|_| nest(1))).await) });
	}
	println!("ready");
	std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
	rt.shutdown_background();
	std::process::exit(0); // to drop it all takes a stack as well
}
