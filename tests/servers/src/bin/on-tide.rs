// SPDX-License-Identifier: MIT OR Apache-2.0
//! A tide server on async-std; it dies by signals.
use async_std::task;
use std::time::Duration;
use tide::{Request, Result};

fn number(request: &Request<()>) -> Result<u64> {
	Ok(request.param("n")?.parse()?)
}

async fn hello(request: Request<()>) -> Result<String> {
	Ok(format!("hello {}\n", number(&request)?))
}

async fn work(n: u64) -> u64 {
	task::yield_now().await;
	servers::sum_to(n)
}

async fn spawn(request: Request<()>) -> Result<String> {
	Ok(format!(
		"spawned {}\n",
		task::spawn(work(number(&request)?)).await
	))
}

async fn block(request: Request<()>) -> Result<String> {
	let n = number(&request)?;
	Ok(format!(
		"blocked {}\n",
		task::spawn_blocking(move || servers::sum_to(n)).await
	))
}

async fn sleep(request: Request<()>) -> Result<String> {
	task::sleep(Duration::from_millis(1)).await;
	Ok(format!("slept {}\n", number(&request)?))
}

async fn echo(mut request: Request<()>) -> Result<tide::Body> {
	Ok(tide::Body::from_bytes(request.body_bytes().await?))
}

async fn listen() -> std::io::Result<()> {
	let mut app = tide::new();
	app.at("/hello/:n").get(hello);
	app.at("/spawn/:n").get(spawn);
	app.at("/block/:n").get(block);
	app.at("/sleep/:n").get(sleep);
	app.at("/echo").post(echo);
	let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
	servers::say(listener.local_addr()?);
	app.listen(listener).await
}

fn main() -> std::io::Result<()> {
	task::block_on(listen())
}
