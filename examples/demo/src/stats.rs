// SPDX-License-Identifier: MIT OR Apache-2.0
//! Visits by page, counted in memory and saved now and then by a thread of its own.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::Mutex;
use std::time::{Duration, Instant};

pub static LOCK_WAITS: AtomicU64 = AtomicU64::new(0);
pub static LOCK_WAIT_US: AtomicU64 = AtomicU64::new(0);

static VISITS: Mutex<Vec<u64>> = Mutex::new(Vec::new());
static STOP: AtomicBool = AtomicBool::new(false);

const SAVE_EVERY: Duration = Duration::from_millis(80);

/// Fault 2: a lock of `std` that somebody holds for long. Whoever wants it sleeps inside its poll.
pub async fn count_visit(number: u64) -> &'static str {
    let began = Instant::now();
    VISITS.lock().expect("visits").push(number);
    let waited = began.elapsed();
    if waited > Duration::from_millis(1) {
        LOCK_WAITS.fetch_add(1, Relaxed);
        LOCK_WAIT_US.fetch_add(waited.as_micros() as u64, Relaxed);
    }
    "counted"
}

/// What a slow disk would do.
fn write(visits: &[u64]) -> usize {
    let mut by_page = HashMap::new();
    for v in visits {
        *by_page.entry(v % 7).or_insert(0) += 1;
    }
    std::thread::sleep(Duration::from_millis(20));
    by_page.len()
}

fn save_visits() {
    while !STOP.load(Relaxed) {
        std::thread::sleep(SAVE_EVERY);
        let mut visits = VISITS.lock().expect("visits");
        if crate::is_healthy() {
            let taken = std::mem::take(&mut *visits);
            drop(visits);
            write(&taken);
        } else {
            write(&visits);
            visits.clear();
        }
    }
}

pub fn start() -> std::thread::JoinHandle<()> {
    std::thread::Builder::new()
        .name("save-visits".into())
        .spawn(save_visits)
        .expect("thread")
}

pub fn stop() {
    STOP.store(true, Relaxed);
}
