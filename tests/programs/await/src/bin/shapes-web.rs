// SPDX-License-Identifier: MIT OR Apache-2.0
//! A service of axum, tower and hyper, and a client of reqwest that asks it: the handler's line is known, and some seventy
//! futures of libraries lie between it and its task.

use axum::extract::Path;
use axum::routing::get;
use axum::Router;
use std::time::Duration;
use tower_http::timeout::TimeoutLayer;
use tower_http::trace::TraceLayer;
use waits::{here, At};

async fn lookup(at: At, s: u64) -> u64 {
	let sleep = tokio::time::sleep(Duration::from_secs(s));
	let _w = here!(at, 1).sleep(sleep.deadline().into_std());
	sleep.await;
	s
}

async fn slow(Path(s): Path<u64>) -> String {
	let at = waits::task("handler");
	let n = lookup(here!(at), s).await;
	format!("{n}")
}

async fn client(url: String) {
	let at = waits::task("client");
	// What it waits for there is reqwest's and hyper's own business.
	let _w = here!(at, 1).waits("any", "");
	let r = reqwest::get(url).await;
	println!("{r:?}");
}

#[tokio::main(worker_threads = 2)]
async fn main() {
	let app = Router::new()
		.route("/slow/{s}", get(slow))
		.layer(tower::limit::ConcurrencyLimitLayer::new(100))
		.layer(TimeoutLayer::with_status_code(
			Default::default(),
			Duration::from_secs(9999),
		))
		.layer(TraceLayer::new_for_http());
	let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
		.await
		.expect("socket");
	let addr = listener.local_addr().expect("bound");
	waits::expect(6);
	for s in 1000..1003 {
		tokio::spawn(client(format!("http://{addr}/slow/{s}")));
	}
	waits::tell_when_ready();
	axum::serve(listener, app).await.expect("served");
}
