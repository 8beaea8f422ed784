// SPDX-License-Identifier: MIT OR Apache-2.0
//! Orders: each is confirmed later by a receipt.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::sleep;

static PLACED: AtomicU64 = AtomicU64::new(0);
static CONFIRMED: AtomicU64 = AtomicU64::new(0);
static OPEN: Mutex<Option<HashMap<u64, oneshot::Sender<()>>>> = Mutex::new(None);

/// Fault 3: the receipt of an order with a coupon never comes, so its task waits for ever.
async fn await_receipt(receipt: oneshot::Receiver<()>) {
    if receipt.await.is_ok() {
        CONFIRMED.fetch_add(1, Relaxed);
    }
}

pub async fn place_order(number: u64) -> &'static str {
    let (confirm, receipt) = oneshot::channel();
    PLACED.fetch_add(1, Relaxed);
    OPEN.lock()
        .expect("orders")
        .get_or_insert_with(HashMap::new)
        .insert(number, confirm);
    tokio::spawn(await_receipt(receipt));
    sleep(Duration::from_millis(3)).await;
    let has_coupon = number % 4 == 0;
    if crate::is_healthy() || !has_coupon {
        let mut open = OPEN.lock().expect("orders");
        if let Some(confirm) = open.as_mut().and_then(|o| o.remove(&number)) {
            let _ = confirm.send(());
        }
    }
    "ordered"
}

/// Tasks that still wait for a receipt.
pub fn nr_waiting() -> u64 {
    PLACED.load(Relaxed) - CONFIRMED.load(Relaxed)
}
