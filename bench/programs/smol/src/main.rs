// SPDX-License-Identifier: MIT OR Apache-2.0
//! The yield storm on smol's executor, on one thread: `1 storm TASKS YIELDS REPS`.

use std::time::Instant;

use smol::Executor;
use workload::{cpu_ns, print_since, Counted};

async fn yielder(yields: u64) -> u64 {
    for _ in 0..yields {
        smol::future::yield_now().await;
    }
    yields + 1
}

async fn storm(executor: &Executor<'_>, tasks: u64, yields: u64) -> u64 {
    let spawned: Vec<_> = (0..tasks)
        .map(|_| executor.spawn(yielder(yields)))
        .collect();
    let mut polls = 0;
    for task in spawned {
        polls += task.await;
    }
    polls
}

fn main() {
    let (_, args) = workload::args();
    assert_eq!(
        args[0], "storm",
        "usage: smol-variant 1 storm TASKS YIELDS REPS"
    );
    let n = |i: usize| -> u64 { args[i].parse().expect("a number") };
    let executor = Executor::new();
    for _ in 0..n(3) {
        let (cpu, wall) = (cpu_ns(), Instant::now());
        let polls = smol::block_on(executor.run(storm(&executor, n(1), n(2))));
        print_since(
            cpu,
            wall,
            Counted {
                name: "storm",
                polls,
                tasks: n(1),
            },
        );
    }
    workload::print_total();
}
