// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program of the size of a real service: an axum server and a reqwest client in one binary.  It asks itself
//! one question over the loopback and leaves, so that a run is little more than start-up.

use axum::{routing::get, Json, Router};
use tower_http::{compression::CompressionLayer, trace::TraceLayer};

async fn answer() -> Json<serde_json::Value> {
    Json(serde_json::json!({ "hello": "world" }))
}

#[tokio::main(worker_threads = 1)]
async fn main() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a free port");
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let app = Router::new()
        .route("/", get(answer))
        .layer(CompressionLayer::new())
        .layer(TraceLayer::new_for_http());
    let server = tokio::spawn(async move { axum::serve(listener, app).await });
    // Nothing but the loopback is asked, whatever proxy the environment names.
    let client = reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("a client");
    let text = client
        .get(url)
        .send()
        .await
        .expect("an answer")
        .text()
        .await
        .expect("a body");
    println!("{text}");
    server.abort();
}
