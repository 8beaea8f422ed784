// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pages, made by a template engine that was never written for async code.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

pub static BLOCKING_CALLS: AtomicU64 = AtomicU64::new(0);
pub static BLOCKING_US: AtomicU64 = AtomicU64::new(0);

const COMPILE_EVERY: u64 = 31;

/// Now and then the engine compiles its templates again, which takes a while.
fn compile_templates() {
    let began = Instant::now();
    std::thread::sleep(Duration::from_millis(60));
    BLOCKING_CALLS.fetch_add(1, Relaxed);
    BLOCKING_US.fetch_add(began.elapsed().as_micros() as u64, Relaxed);
}

/// Fault 1: a call that blocks, in the middle of a task. Nothing else runs on this worker meanwhile.
pub async fn render_page(number: u64) -> &'static str {
    if number % COMPILE_EVERY == 0 {
        if crate::is_healthy() {
            tokio::task::spawn_blocking(compile_templates)
                .await
                .expect("templates");
        } else {
            compile_templates();
        }
    }
    "<h1>page</h1>"
}
