// SPDX-License-Identifier: MIT OR Apache-2.0
//! An axum server on the multi-threaded Tokio; SIGINT ends it orderly.
use axum::body::Bytes;
use axum::extract::Path;
use axum::routing::{get, post};
use axum::Router;
use std::time::Duration;

async fn hello(Path(n): Path<u64>) -> String {
	format!("hello {n}\n")
}

async fn work(n: u64) -> u64 {
	tokio::task::yield_now().await;
	servers::sum_to(n)
}

async fn spawn(Path(n): Path<u64>) -> String {
	format!("spawned {}\n", tokio::spawn(work(n)).await.unwrap())
}

async fn block(Path(n): Path<u64>) -> String {
	let sum = tokio::task::spawn_blocking(move || servers::sum_to(n))
		.await
		.unwrap();
	format!("blocked {sum}\n")
}

async fn sleep(Path(n): Path<u64>) -> String {
	tokio::time::sleep(Duration::from_millis(1)).await;
	format!("slept {n}\n")
}

async fn echo(body: Bytes) -> Bytes {
	body
}

#[tokio::main(worker_threads = 2)]
async fn main() {
	let app = Router::new()
		.route("/hello/{n}", get(hello))
		.route("/spawn/{n}", get(spawn))
		.route("/block/{n}", get(block))
		.route("/sleep/{n}", get(sleep))
		.route("/echo", post(echo));
	let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
	servers::say(listener.local_addr().unwrap());
	let stop = async { tokio::signal::ctrl_c().await.unwrap() };
	axum::serve(listener, app)
		.with_graceful_shutdown(stop)
		.await
		.unwrap();
}
