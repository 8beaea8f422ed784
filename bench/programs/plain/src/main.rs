// SPDX-License-Identifier: MIT OR Apache-2.0
//! The workload on an ordinary Tokio runtime, built as anybody would: what every tool but dial9 is run on.

fn main() {
    let (workers, args) = workload::args();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(workload::run(workload::TokioSpawn, args));
    drop(runtime);
    workload::print_total();
}
