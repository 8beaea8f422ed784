// SPDX-License-Identifier: MIT OR Apache-2.0
//! A hyper HTTP/1 server on the loopback that answers every request with two words.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn, Request, Response};
use hyper_util::rt::TokioIo;

static REQUESTS: AtomicU64 = AtomicU64::new(0);
static STOP: tokio::sync::Notify = tokio::sync::Notify::const_new();

/// `/mark` prints what was served and used since the mark before, so that warm-up is not counted; `/stop`
/// ends the server.
async fn answer(req: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    match req.uri().path() {
        "/mark" => {
            let text = format!(
                "requests={} cpu_ns={}\n",
                REQUESTS.load(Relaxed),
                crate::cpu_ns()
            );
            return Ok(Response::new(Full::new(Bytes::from(text))));
        }
        "/stop" => STOP.notify_one(),
        _ => {
            REQUESTS.fetch_add(1, Relaxed);
        }
    }
    Ok(Response::new(Full::new(Bytes::from_static(b"hello world"))))
}

async fn accept(listener: tokio::net::TcpListener) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        stream.set_nodelay(true).ok();
        tokio::spawn(async move {
            http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service_fn(answer))
                .await
                .ok();
        });
    }
}

/// Serves for at most `seconds`; port 0 takes a free one, which is printed.
pub async fn serve(port: u16, seconds: u64) {
    let (cpu, wall) = (crate::cpu_ns(), Instant::now());
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port))
        .await
        .expect("a free port");
    println!("listening port={}", listener.local_addr().unwrap().port());
    let accepting = tokio::spawn(accept(listener));
    tokio::select! {
        _ = STOP.notified() => {}
        _ = tokio::time::sleep(Duration::from_secs(seconds)) => {}
    }
    accepting.abort();
    let requests = REQUESTS.load(Relaxed);
    let cpu = crate::cpu_ns() - cpu;
    println!(
        "server requests={requests} cpu_ns={cpu} wall_ns={}",
        wall.elapsed().as_nanos()
    );
}
