// SPDX-License-Identifier: MIT OR Apache-2.0
//! A hyper server on smol; it dies by signals.
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Error, Request, Response};
use smol::net::{TcpListener, TcpStream};
use smol_hyper::rt::FuturesIo;
use std::time::Duration;

async fn work(n: u64) -> u64 {
	smol::future::yield_now().await;
	servers::sum_to(n)
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Error> {
	let path = request.uri().path().to_owned();
	let (what, n) = path[1..].split_once('/').unwrap_or((&path[1..], "0"));
	let n: u64 = n.parse().unwrap();
	let text = match what {
		"hello" => format!("hello {n}\n"),
		"spawn" => format!("spawned {}\n", smol::spawn(work(n)).await),
		"block" => format!(
			"blocked {}\n",
			smol::unblock(move || servers::sum_to(n)).await
		),
		"sleep" => {
			smol::Timer::after(Duration::from_millis(1)).await;
			format!("slept {n}\n")
		}
		_ => {
			return Ok(Response::new(Full::new(
				request.collect().await?.to_bytes(),
			)))
		}
	};
	Ok(Response::new(Full::new(text.into())))
}

async fn serve(stream: TcpStream) {
	let io = FuturesIo::new(stream);
	if let Err(e) = http1::Builder::new()
		.serve_connection(io, service_fn(answer))
		.await
	{
		eprintln!("connection: {e}");
	}
}

fn main() {
	smol::block_on(async {
		let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
		servers::say(listener.local_addr().unwrap());
		loop {
			smol::spawn(serve(listener.accept().await.unwrap().0)).detach();
		}
	});
}
