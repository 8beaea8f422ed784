// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks that sleep most of the time: a timer wakes a task, it is polled once, and sleeps again.  Between two polls of a
//! task the program does other things, so that neither its memory nor the tracer's is in the nearest caches.

use std::time::{Duration, Instant};

use crate::{cpu_ns, print_since, Counted, Spawn};

/// Each `sleep` is one wake and one poll: the poll that ends a sleep begins the next.
async fn sleeper(sleep: Duration, rounds: u64) -> u64 {
    for _ in 0..rounds {
        tokio::time::sleep(sleep).await;
    }
    rounds + 1
}

/// `tasks` tasks that sleep `ms` milliseconds, `rounds` times. Of ten tasks one begins in each tenth of that time.
pub async fn sparse<S: Spawn>(s: S, tasks: u64, ms: u64, rounds: u64, reps: u64) {
    let sleep = Duration::from_millis(ms);
    for _ in 0..reps {
        let (cpu, wall) = (cpu_ns(), Instant::now());
        let root = s.spawn(async move {
            let mut handles = Vec::new();
            for part in 0..10 {
                let nr = tasks / 10 + u64::from(part < tasks % 10);
                handles.extend((0..nr).map(|_| s.spawn(sleeper(sleep, rounds))));
                tokio::time::sleep(sleep / 10).await;
            }
            let mut polls = 0;
            for h in handles {
                polls += h.await.unwrap();
            }
            polls
        });
        let polls = root.await.unwrap();
        print_since(
            cpu,
            wall,
            Counted {
                name: "sparse",
                polls,
                tasks,
            },
        );
    }
}
