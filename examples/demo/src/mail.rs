// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mails to the customers: handed to a relay one after the other, which answers each with a receipt.

use std::future::Future;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{interval, sleep, MissedTickBehavior};

pub static MAILS: AtomicU64 = AtomicU64::new(0);
pub static SPINS: AtomicU64 = AtomicU64::new(0);

const EVERY: Duration = Duration::from_millis(50);

/// Ready when a receipt has come.
struct Receipt<'a>(&'a UnixDatagram);

impl Future for Receipt<'_> {
    type Output = io::Result<usize>;

    /// Fault 4: asks to be polled again at once, not when something has come. The task spins.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        match self.0.recv(&mut [0; 16]) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                SPINS.fetch_add(1, Relaxed);
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            result => Poll::Ready(result),
        }
    }
}

async fn send_mails(relay: UnixDatagram) -> io::Result<()> {
    let watched = tokio::net::UnixDatagram::from_std(relay.try_clone()?)?;
    let mut every = interval(EVERY);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        every.tick().await;
        relay.send(b"mail")?;
        if crate::is_healthy() {
            watched.recv(&mut [0; 16]).await?;
        } else {
            Receipt(&relay).await?;
        }
        MAILS.fetch_add(1, Relaxed);
    }
}

/// Stands for a server somewhere else.
async fn relay_mails(shop: UnixDatagram) -> io::Result<()> {
    let shop = tokio::net::UnixDatagram::from_std(shop)?;
    loop {
        shop.recv(&mut [0; 16]).await?;
        sleep(Duration::from_millis(1)).await;
        shop.send(b"receipt").await?;
    }
}

pub fn start() -> io::Result<()> {
    let (shop, relay) = UnixDatagram::pair()?;
    shop.set_nonblocking(true)?;
    relay.set_nonblocking(true)?;
    tokio::spawn(send_mails(relay));
    tokio::spawn(relay_mails(shop));
    Ok(())
}
