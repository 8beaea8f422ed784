// SPDX-License-Identifier: MIT OR Apache-2.0
//! The work that bench/run measures.  Each variant brings its own runtime; the work is the same code.
//!
//! Every repetition prints one line `NAME polls=N tasks=N cpu_ns=N wall_ns=N`, where `cpu_ns` is the CPU time
//! of the whole process (CLOCK_PROCESS_CPUTIME_ID) around that repetition alone.

use std::future::{poll_fn, Future};
use std::hint::black_box;
use std::pin::{pin, Pin};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use tokio::sync::Notify;
use tokio::task::JoinHandle;

pub mod load;
pub mod mix;
pub mod server;
pub mod sparse;

/// How a variant starts a task.
pub trait Spawn: Copy + Send + Sync + 'static {
    fn spawn<F>(self, f: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static;
}

#[derive(Clone, Copy)]
pub struct TokioSpawn;

impl Spawn for TokioSpawn {
    fn spawn<F>(self, f: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        tokio::spawn(f)
    }
}

pub fn cpu_ns() -> u64 {
    let mut ts = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut ts) };
    ts.tv_sec as u64 * 1_000_000_000 + ts.tv_nsec as u64
}

pub struct Counted {
    pub name: &'static str,
    pub polls: u64,
    pub tasks: u64,
}

pub fn print_since(cpu: u64, wall: Instant, c: Counted) {
    let cpu = cpu_ns() - cpu;
    let wall = wall.elapsed().as_nanos();
    println!(
        "{} polls={} tasks={} cpu_ns={cpu} wall_ns={wall}",
        c.name, c.polls, c.tasks
    );
}

async fn yielder(yields: u64) -> u64 {
    for _ in 0..yields {
        tokio::task::yield_now().await;
    }
    yields + 1
}

/// `tasks` tasks that do nothing but give way `yields` times each.
pub async fn storm<S: Spawn>(s: S, tasks: u64, yields: u64, reps: u64) {
    for _ in 0..reps {
        let (cpu, wall) = (cpu_ns(), Instant::now());
        let root = s.spawn(async move {
            let handles: Vec<_> = (0..tasks).map(|_| s.spawn(yielder(yields))).collect();
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
                name: "storm",
                polls,
                tasks,
            },
        );
    }
}

/// Waits to be woken, and counts one poll more if it had to.
async fn turn(mine: &Notify, polls: &mut u64) {
    let mut woken = pin!(mine.notified());
    poll_fn(|cx| {
        let is = woken.as_mut().poll(cx);
        *polls += is.is_pending() as u64;
        is
    })
    .await
}

/// One of two that take turns: every poll but the first follows a wake by the other.
async fn partner(mine: Arc<Notify>, other: Arc<Notify>, rounds: u64) -> u64 {
    let mut polls = 1;
    for _ in 0..rounds {
        turn(&mine, &mut polls).await;
        other.notify_one();
    }
    polls
}

/// `pairs` pairs of tasks that wake each other `rounds` times.
pub async fn wakes<S: Spawn>(s: S, pairs: u64, rounds: u64, reps: u64) {
    for _ in 0..reps {
        let (cpu, wall) = (cpu_ns(), Instant::now());
        let root = s.spawn(async move {
            let mut handles = Vec::new();
            for _ in 0..pairs {
                let (a, b) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
                a.notify_one();
                handles.push(s.spawn(partner(a.clone(), b.clone(), rounds)));
                handles.push(s.spawn(partner(b, a, rounds)));
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
                name: "wakes",
                polls,
                tasks: 2 * pairs,
            },
        );
    }
}

/// The root future itself gives way: polls and parks of block_on, without any task.
pub async fn root(yields: u64, reps: u64) {
    for _ in 0..reps {
        let (cpu, wall) = (cpu_ns(), Instant::now());
        let polls = yielder(yields).await;
        print_since(
            cpu,
            wall,
            Counted {
                name: "root",
                polls,
                tasks: 1,
            },
        );
    }
}

/// About as much as the poll of a task in the storm takes, and then not ready.
async fn busy() {
    let mut x = 1;
    loop {
        for _ in 0..40 {
            x = black_box(x * 3);
        }
        let mut is_first = true;
        poll_fn(|_| match std::mem::take(&mut is_first) {
            true => Poll::Pending,
            false => Poll::Ready(()),
        })
        .await;
    }
}

/// One task with `futures` futures in it, each of which it polls `rounds` times, as `join_all` would: through a
/// table, so that each poll is a call of a function. `polls` counts these.
pub async fn inner<S: Spawn>(s: S, futures: u64, rounds: u64, reps: u64) {
    for _ in 0..reps {
        let (cpu, wall) = (cpu_ns(), Instant::now());
        let mut all: Vec<Pin<Box<dyn Future<Output = ()> + Send>>> = Vec::new();
        all.resize_with(futures as usize, || Box::pin(busy()));
        let task = s.spawn(async move {
            for _ in 0..rounds {
                poll_fn(|cx| {
                    all.iter_mut()
                        .for_each(|f| assert!(f.as_mut().poll(cx).is_pending()));
                    Poll::Ready(())
                })
                .await;
                tokio::task::yield_now().await;
            }
        });
        task.await.unwrap();
        print_since(
            cpu,
            wall,
            Counted {
                name: "inner",
                polls: futures * rounds,
                tasks: 1,
            },
        );
    }
}

static LEFT: AtomicU64 = AtomicU64::new(0);
static DONE: Notify = Notify::const_new();

/// The last task of a batch wakes the spawner, so that a task is one spawn, one poll and one end.
async fn nothing() {
    if LEFT.fetch_sub(1, Relaxed) == 1 {
        DONE.notify_one();
    }
}

/// `batches` times `batch` tasks that are spawned, polled once, and done.
pub async fn spawns<S: Spawn>(s: S, batch: u64, batches: u64, reps: u64) {
    for _ in 0..reps {
        let (cpu, wall) = (cpu_ns(), Instant::now());
        let root = s.spawn(async move {
            for _ in 0..batches {
                LEFT.store(batch, Relaxed);
                for _ in 0..batch {
                    drop(s.spawn(nothing()));
                }
                DONE.notified().await;
            }
        });
        root.await.unwrap();
        let tasks = batch * batches;
        print_since(
            cpu,
            wall,
            Counted {
                name: "spawn",
                polls: tasks,
                tasks,
            },
        );
    }
}

/// One task: the shortest life of a runtime, for start-up times.
pub async fn hello() {
    tokio::spawn(async { println!("hello") }).await.unwrap();
}

/// Runs the work named by the arguments: `storm TASKS YIELDS REPS`, `inner FUTURES ROUNDS REPS`, `spawn BATCH BATCHES REPS`,
/// `wakes PAIRS ROUNDS REPS`, `root YIELDS REPS`, `hello`, `mix GROUPS ROUNDS REPS`, `alive TASKS`, `held TASKS`,
/// `sparse TASKS MILLISECONDS ROUNDS REPS`, `server hyper|axum SECONDS`, or `load PORT CONNECTIONS`.
pub async fn run<S: Spawn>(s: S, args: Vec<String>) {
    let n = |i: usize| -> u64 { args[i].parse().expect("a number") };
    match args[0].as_str() {
        "storm" => storm(s, n(1), n(2), n(3)).await,
        "inner" => inner(s, n(1), n(2), n(3)).await,
        "spawn" => spawns(s, n(1), n(2), n(3)).await,
        "wakes" => wakes(s, n(1), n(2), n(3)).await,
        "root" => root(n(1), n(2)).await,
        "mix" => mix::mix(s, n(1), n(2), n(3)).await,
        "alive" => mix::alive(s, n(1)).await,
        "held" => mix::held(s, n(1)).await,
        "sparse" => sparse::sparse(s, n(1), n(2), n(3), n(4)).await,
        "server" => server::serve(&args[1], n(2)).await,
        "load" => load::load(n(1) as u16, n(2)).await,
        "hello" => hello().await,
        other => panic!("unknown work {other}"),
    }
}

/// The CPU time of the process from its birth, as its last line: what the tool used itself is what is left of
/// the CPU time of both.
pub fn print_total() {
    println!("total cpu_ns={}", cpu_ns());
}

/// BENCH_CPU=N[,N...] binds the whole process to these cores, whatever core the tool that starts it runs on.
fn bind() {
    let Ok(cores) = std::env::var("BENCH_CPU") else {
        return;
    };
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for core in cores.split(',') {
            libc::CPU_SET(core.parse().expect("the number of a core"), &mut set);
        }
        libc::sched_setaffinity(0, std::mem::size_of_val(&set), &set);
    }
}

/// WORKERS and the work of the command line.
pub fn args() -> (usize, Vec<String>) {
    bind();
    let mut args = std::env::args().skip(1);
    let workers = args
        .next()
        .and_then(|w| w.parse().ok())
        .expect("usage: PROGRAM WORKERS WORK ARGS...");
    (workers, args.collect())
}
