// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packers, who take what was ordered from the shelves.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio::time::sleep;

const PACKERS: usize = 6;

pub static SHELF_WAITS: AtomicU64 = AtomicU64::new(0);
pub static SHELF_WAIT_US: AtomicU64 = AtomicU64::new(0);

/// Fault 5: the lock is held while somebody walks to the shelf, so all others queue for it, and no thread is ever blocked.
async fn pack(shelves: Arc<Mutex<u64>>, until: Instant) {
    while Instant::now() < until {
        let (start, is_free) = (Instant::now(), shelves.try_lock().is_ok());
        let mut packed = shelves.lock().await;
        if !is_free {
            SHELF_WAITS.fetch_add(1, Relaxed);
            SHELF_WAIT_US.fetch_add(start.elapsed().as_micros() as u64, Relaxed);
        }
        *packed += 1;
        if !crate::is_healthy() {
            sleep(Duration::from_millis(2)).await;
        }
        drop(packed);
        sleep(Duration::from_millis(1)).await;
    }
}

pub fn start(until: Instant) {
    let shelves = Arc::new(Mutex::new(0));
    for _ in 0..PACKERS {
        tokio::spawn(pack(shelves.clone(), until));
    }
}
