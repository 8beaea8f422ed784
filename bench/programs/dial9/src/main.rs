// SPDX-License-Identifier: MIT OR Apache-2.0
//! The workload on a runtime that dial9 has built (needs `--cfg tokio_unstable`).
//!
//! DIAL9_OUT=DIR records there, without it dial9 is built in and off: the base to compare with.
//! DIAL9_SPAWN=1 starts tasks by `dial9::spawn`, which adds wake events.  `dial9-variant 0 count FILE...`
//! counts the events of recorded files by kind.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use dial9::{Dial9HandleTokioExt, TokioAttachOptions};
use tokio::task::JoinHandle;

#[derive(Clone, Copy)]
struct Dial9Spawn;

impl workload::Spawn for Dial9Spawn {
    fn spawn<F>(self, f: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        dial9::spawn(f)
    }
}

fn count(files: &[String]) {
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    for file in files {
        let data = std::fs::read(file).expect("a trace file");
        let mut decoder = dial9::format::Decoder::new(&data).expect("a trace header");
        decoder
            .for_each_event(|e| *kinds.entry(e.name.to_string()).or_default() += 1)
            .expect("events");
    }
    println!("all={}", kinds.values().sum::<u64>());
    for (kind, n) in kinds {
        println!("{kind}={n}");
    }
}

fn recorder() -> dial9::Recorder {
    let Some(dir) = std::env::var_os("DIAL9_OUT") else {
        return dial9::recorder_disabled();
    };
    let writer = dial9::DiskBuffer::builder()
        .base_path(dir)
        .max_file_size(1 << 30)
        .max_total_size(4 << 30)
        .build()
        .expect("a disk buffer");
    dial9::recorder(writer).build()
}

fn main() {
    let (workers, args) = workload::args();
    if args[0] == "count" {
        return count(&args[1..]);
    }
    let recorder = recorder();
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(workers).enable_all();
    let options = TokioAttachOptions::builder()
        .task_tracking_enabled(true)
        .build();
    let runtime = recorder
        .handle()
        .attach_tokio_runtime(builder, options)
        .expect("a runtime");
    if std::env::var_os("DIAL9_SPAWN").is_some() {
        runtime.block_on(workload::run(Dial9Spawn, args));
    } else {
        runtime.block_on(workload::run(workload::TokioSpawn, args));
    }
    drop(runtime);
    recorder.graceful_shutdown(Duration::from_secs(30));
    workload::print_total();
}
