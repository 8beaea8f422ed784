// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mails to the customers, sent one after the other in the background.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{interval, sleep};

pub static SPINS: AtomicU64 = AtomicU64::new(0);

static QUEUED: AtomicU64 = AtomicU64::new(0);
static ARRIVED: Notify = Notify::const_new();

/// Ready when a mail is in the queue.
struct Arrival;

impl Future for Arrival {
    type Output = ();

    /// Fault 4: asks to be polled again at once instead of when something has changed.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if QUEUED.load(Relaxed) > 0 {
            return Poll::Ready(());
        }
        SPINS.fetch_add(1, Relaxed);
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

pub async fn send_mails() {
    loop {
        if crate::is_healthy() {
            while QUEUED.load(Relaxed) == 0 {
                ARRIVED.notified().await;
            }
        } else {
            Arrival.await;
        }
        QUEUED.fetch_sub(1, Relaxed);
        sleep(Duration::from_millis(17)).await; // what a mail server takes
    }
}

/// The customers' side: something to mail 50 times a second.
pub async fn queue_mails() {
    let mut every = interval(Duration::from_millis(20));
    loop {
        every.tick().await;
        QUEUED.fetch_add(1, Relaxed);
        ARRIVED.notify_one();
    }
}
