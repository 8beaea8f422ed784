// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work for a recording that is long and has a bit of everything: tasks of several types that give way, wake each other, spawn and
//! wait for what they spawned; and many tasks that are there at once.

use std::future::{poll_fn, Future};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Notify, Semaphore};

use crate::{cpu_ns, print_since, yielder, Counted, Spawn};

static POLLS: AtomicU64 = AtomicU64::new(0);
static TASKS: AtomicU64 = AtomicU64::new(0);

/// The program's own truth: every poll of every task.
fn counted<F: Future>(future: F) -> impl Future<Output = F::Output> {
    let mut future = Box::pin(future);
    TASKS.fetch_add(1, Relaxed);
    poll_fn(move |cx| {
        POLLS.fetch_add(1, Relaxed);
        future.as_mut().poll(cx)
    })
}

async fn ping(mine: Arc<Notify>, other: Arc<Notify>, rounds: u64) {
    for _ in 0..rounds {
        other.notify_one();
        mine.notified().await;
    }
}

async fn pong(mine: Arc<Notify>, other: Arc<Notify>, rounds: u64) {
    for _ in 0..rounds {
        mine.notified().await;
        other.notify_one();
    }
}

async fn parent<S: Spawn>(s: S, children: u64) {
    for _ in 0..children {
        s.spawn(counted(async {})).await.unwrap();
    }
}

/// `groups` of four tasks each: one that gives way, two that wake each other, and one that spawns now and then.
pub async fn mix<S: Spawn>(s: S, groups: u64, rounds: u64, reps: u64) {
    for _ in 0..reps {
        let (cpu, wall) = (cpu_ns(), Instant::now());
        let before = (POLLS.load(Relaxed), TASKS.load(Relaxed));
        let root = s.spawn(counted(async move {
            let mut handles = Vec::new();
            for _ in 0..groups {
                let (a, b) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
                handles.push(s.spawn(counted(ping(a.clone(), b.clone(), rounds))));
                handles.push(s.spawn(counted(pong(b, a, rounds))));
                handles.push(s.spawn(counted(parent(s, rounds / 16))));
                handles.push(s.spawn(counted(async move {
                    yielder(rounds).await;
                })));
            }
            for h in handles {
                h.await.unwrap();
            }
        }));
        root.await.unwrap();
        print_since(
            cpu,
            wall,
            Counted {
                name: "mix",
                polls: POLLS.load(Relaxed) - before.0,
                tasks: TASKS.load(Relaxed) - before.1,
            },
        );
    }
}

/// `tasks` tasks that are alive at once: each is polled, waits, and is woken at the end.
pub async fn alive<S: Spawn>(s: S, tasks: u64) {
    let (cpu, wall) = (cpu_ns(), Instant::now());
    let gate = Arc::new(Semaphore::new(0));
    let here = Arc::new(AtomicU64::new(0));
    let root = s.spawn(counted(async move {
        let mut handles = Vec::new();
        for _ in 0..tasks {
            let (gate, here) = (gate.clone(), here.clone());
            handles.push(s.spawn(counted(async move {
                here.fetch_add(1, Relaxed);
                drop(gate.acquire().await);
            })));
        }
        while here.load(Relaxed) < tasks {
            tokio::task::yield_now().await;
        }
        gate.add_permits(tasks as usize);
        for h in handles {
            h.await.unwrap();
        }
    }));
    root.await.unwrap();
    print_since(
        cpu,
        wall,
        Counted {
            name: "alive",
            polls: POLLS.load(Relaxed),
            tasks: TASKS.load(Relaxed),
        },
    );
}

async fn nap(i: u64) -> u64 {
    tokio::time::sleep(Duration::from_secs(86400 + i % 7)).await;
    i
}

async fn sleeper(i: u64) -> u64 {
    let kept = [i; 4];
    nap(i).await + kept[2]
}

/// `tasks` tasks that sleep, in a function of a function, until standard input ends: to be looked at.
pub async fn held<S: Spawn>(s: S, tasks: u64) {
    for i in 0..tasks {
        s.spawn(async move {
            sleeper(i).await;
        });
    }
    tokio::time::sleep(Duration::from_millis(100)).await; // each has been polled
    println!("held tasks={tasks}");
    let end = tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new()));
    end.await.unwrap().unwrap();
    std::process::exit(0); // and not wait for a million drops
}
