// SPDX-License-Identifier: MIT OR Apache-2.0
//! A small web shop and its customers in one program, for some seconds, for futrace to look at.
//! `demo [--healthy] [SECONDS]`
//!
//! Most of it behaves. Five things do not, each of a kind that is hard to see in the source and does not show
//! in a profile of the CPU: look for "Fault" in render.rs, stats.rs, orders.rs, mail.rs and stock.rs. With
//! `--healthy` the same program runs with all of them mended. At the end it says in one line what really happened.

mod client;
mod mail;
mod orders;
mod render;
mod stats;
mod stock;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

const CLIENTS: usize = 8;

static HEALTHY: AtomicBool = AtomicBool::new(false);
static REQUESTS: AtomicU64 = AtomicU64::new(0);

pub fn is_healthy() -> bool {
    HEALTHY.load(Relaxed)
}

/// Well behaved: waits for the answer of a database that does not exist.
async fn search() -> &'static str {
    sleep(Duration::from_millis(4)).await;
    "found"
}

/// Each request is a task of its own, so that one which panics does not end its connection.
async fn answer(path: &str) -> &'static str {
    let number = REQUESTS.fetch_add(1, Relaxed) + 1;
    let task = match path {
        "/page" => tokio::spawn(render::render_page(number)),
        "/visit" => tokio::spawn(stats::count_visit(number)),
        "/order" => tokio::spawn(orders::place_order(number)),
        "/search" => tokio::spawn(search()),
        _ => return "not found",
    };
    task.await.unwrap_or("sorry")
}

/// One connection: requests until the client hangs up.
async fn serve_connection(stream: TcpStream) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let (mut line, mut path) = (String::new(), String::new());
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        if let Some(rest) = line.strip_prefix("GET ") {
            path = rest.split(' ').next().unwrap_or("").to_string();
        }
        if line == "\r\n" {
            let body = answer(&path).await;
            let text = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{}",
                body.len(),
                body
            );
            stream.write_all(text.as_bytes()).await?;
        }
    }
}

async fn accept_connections(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(serve_connection(stream));
    }
}

async fn run(seconds: f64) -> io::Result<Duration> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(accept_connections(listener));
    mail::start()?;

    let until = Instant::now() + Duration::from_secs_f64(seconds);
    stock::start(until);
    let mut clients = Vec::new();
    for number in 0..CLIENTS {
        clients.push(tokio::spawn(client::visit_site(port, number, until)));
        sleep(Duration::from_millis(1)).await;
    }
    let mut slowest = Duration::ZERO;
    for c in clients {
        slowest = slowest.max(c.await.expect("a client panicked")?);
    }
    Ok(slowest)
}

fn say(slowest: Duration) {
    println!(
        "requests={} slowest_ms={} blocking_calls={} blocking_ms={} lock_waits={} lock_wait_ms={} leaked={} mails={} spins={} shelf_waits={} shelf_wait_ms={}",
        REQUESTS.load(Relaxed),
        slowest.as_millis(),
        render::BLOCKING_CALLS.load(Relaxed),
        render::BLOCKING_US.load(Relaxed) / 1000,
        stats::LOCK_WAITS.load(Relaxed),
        stats::LOCK_WAIT_US.load(Relaxed) / 1000,
        orders::nr_waiting(),
        mail::MAILS.load(Relaxed),
        mail::SPINS.load(Relaxed),
        stock::SHELF_WAITS.load(Relaxed),
        stock::SHELF_WAIT_US.load(Relaxed) / 1000,
    );
}

fn main() -> io::Result<()> {
    let mut seconds = 5.0;
    for arg in std::env::args().skip(1) {
        match arg.parse() {
            Ok(n) if (0.0..=3600.0).contains(&n) => seconds = n,
            _ if arg == "--healthy" => HEALTHY.store(true, Relaxed),
            _ => {
                eprintln!("usage: demo [--healthy] [SECONDS]");
                std::process::exit(2);
            }
        }
    }
    let saver = stats::start();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()?;
    let slowest = runtime.block_on(run(seconds))?;
    stats::stop();
    saver.join().expect("saver");
    say(slowest);
    Ok(())
}
