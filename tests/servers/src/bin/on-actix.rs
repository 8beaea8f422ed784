// SPDX-License-Identifier: MIT OR Apache-2.0
//! An actix-web server: a single-threaded Tokio in each of two workers; signals end it by its own handler.
use actix_web::web::{self, Bytes, Path};
use actix_web::{get, post, rt, App, HttpServer};
use std::time::Duration;

#[get("/hello/{n}")]
async fn hello(n: Path<u64>) -> String {
	format!("hello {n}\n")
}

async fn work(n: u64) -> u64 {
	rt::task::yield_now().await;
	servers::sum_to(n)
}

#[get("/spawn/{n}")]
async fn spawn(n: Path<u64>) -> String {
	format!(
		"spawned {}\n",
		rt::spawn(work(n.into_inner())).await.unwrap()
	)
}

#[get("/block/{n}")]
async fn block(n: Path<u64>) -> String {
	let sum = web::block(move || servers::sum_to(n.into_inner()))
		.await
		.unwrap();
	format!("blocked {sum}\n")
}

#[get("/sleep/{n}")]
async fn sleep(n: Path<u64>) -> String {
	rt::time::sleep(Duration::from_millis(1)).await;
	format!("slept {n}\n")
}

#[post("/echo")]
async fn echo(body: Bytes) -> Bytes {
	body
}

#[actix_web::main]
async fn main() -> std::io::Result<()> {
	let app = || {
		App::new()
			.service(hello)
			.service(spawn)
			.service(block)
			.service(sleep)
			.service(echo)
	};
	let server = HttpServer::new(app)
		.workers(2)
		.shutdown_timeout(1)
		.bind("127.0.0.1:0")?;
	servers::say(server.addrs()[0]);
	server.run().await
}
