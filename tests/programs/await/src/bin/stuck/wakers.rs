// SPDX-License-Identifier: MIT OR Apache-2.0
//! Futures that say they are pending, and keep the waker or do not.

use crate::{keep, start};
use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};
use waits::{here, At};

struct Forgetful(u64);

impl Future for Forgetful {
	type Output = u64;

	fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u64> {
		self.0 += 1;
		Poll::Pending
	}
}

struct Careful(&'static Mutex<Option<Waker>>);

impl Future for Careful {
	type Output = u64;

	fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<u64> {
		*self.0.lock().unwrap() = Some(cx.waker().clone());
		Poll::Pending
	}
}

async fn forgets(at: At) {
	let _w = here!(at, 1).waits("other", r#""type":"stuck::wakers::Forgetful""#);
	Forgetful(0).await;
}

async fn keeps(at: At) {
	let _w = here!(at, 1).waits("other", r#""type":"stuck::wakers::Careful""#);
	Careful(keep(Mutex::new(None))).await;
}

pub fn lost() {
	start("stuck", 1, forgets);
	kept();
}

pub fn kept() {
	start("fine", 1, keeps);
	start("fine too", 1, |at| crate::nap(at, 100_000));
}
