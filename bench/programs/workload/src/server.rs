// SPDX-License-Identifier: MIT OR Apache-2.0
//! HTTP/1 servers on the loopback that answer every request with two words: hyper alone, and axum.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use axum::routing::get;
use bytes::Bytes;
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

static REQUESTS: AtomicU64 = AtomicU64::new(0);
static STOP: tokio::sync::Notify = tokio::sync::Notify::const_new();

/// What was served and used so far, so that warm-up is not counted.
fn mark() -> String {
    format!("{} {}\n", REQUESTS.load(Relaxed), crate::cpu_ns())
}

async fn answer(req: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    match req.uri().path() {
        "/mark" => return Ok(Response::new(Full::new(Bytes::from(mark())))),
        "/stop" => STOP.notify_one(),
        _ => {
            REQUESTS.fetch_add(1, Relaxed);
        }
    }
    Ok(Response::new(Full::new(Bytes::from_static(b"hello world"))))
}

async fn hyper(listener: TcpListener) {
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

async fn hello() -> &'static str {
    REQUESTS.fetch_add(1, Relaxed);
    "hello world"
}

async fn axum(listener: TcpListener) {
    let app = axum::Router::new()
        .route("/", get(hello))
        .route("/mark", get(|| async { mark() }))
        .route("/stop", get(|| async { STOP.notify_one() }));
    axum::serve(listener, app).await.expect("a server");
}

/// Serves for at most `seconds`, on a free port, which is printed.
pub async fn serve(kind: &str, seconds: u64) {
    let (cpu, wall) = (crate::cpu_ns(), Instant::now());
    let listener = TcpListener::bind(("127.0.0.1", 0))
        .await
        .expect("a free port");
    println!("listening port={}", listener.local_addr().unwrap().port());
    let serving = match kind {
        "hyper" => tokio::spawn(hyper(listener)),
        "axum" => tokio::spawn(axum(listener)),
        other => panic!("unknown server {other}"),
    };
    tokio::select! {
        _ = STOP.notified() => {}
        _ = tokio::time::sleep(Duration::from_secs(seconds)) => {}
    }
    serving.abort();
    let requests = REQUESTS.load(Relaxed);
    let cpu = crate::cpu_ns() - cpu;
    println!(
        "server requests={requests} cpu_ns={cpu} wall_ns={}",
        wall.elapsed().as_nanos()
    );
}
