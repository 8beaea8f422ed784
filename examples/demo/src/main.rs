// SPDX-License-Identifier: MIT OR Apache-2.0
//! A small service and its clients in one program, for three seconds, for futrace to look at.
//!
//! Most of it behaves. One thing does not: `thumbnail` calls `std::thread::sleep` inside a task, which stops
//! the worker it runs on, and with it every other task that this worker would have run.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, Semaphore};
use tokio::time::{interval, sleep};

const CLIENTS: usize = 8;
const PATHS: [&str; 5] = ["/user", "/user", "/search", "/user", "/thumbnail"];

struct Service {
    connections: Semaphore, // to a database that does not exist
    served: AtomicU64,
    log: mpsc::Sender<String>,
}

/// Well behaved: waits for one of two connections, then for the answer.
async fn query(service: &Service, answer_in: Duration) -> &'static str {
    let _connection = service.connections.acquire().await;
    sleep(answer_in).await;
    "row"
}

/// The mistake: blocks the worker, where `tokio::time::sleep` or `spawn_blocking` would not.
async fn thumbnail(number: u64) -> &'static str {
    if number % 16 == 0 {
        std::thread::sleep(Duration::from_millis(60));
    }
    "image"
}

async fn answer(service: &Service, path: &str, number: u64) -> &'static str {
    match path {
        "/user" => query(service, Duration::from_millis(2)).await,
        "/search" => query(service, Duration::from_millis(8)).await,
        "/thumbnail" => thumbnail(number).await,
        _ => "not found",
    }
}

/// One connection: requests until the client hangs up.
async fn serve(service: Arc<Service>, stream: TcpStream) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    loop {
        let mut path = String::new();
        loop {
            line.clear();
            if stream.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            if line == "\r\n" {
                break;
            }
            if let Some(rest) = line.strip_prefix("GET ") {
                path = rest.split(' ').next().unwrap_or("").to_string();
            }
        }
        let number = service.served.fetch_add(1, Relaxed);
        let body = answer(&service, &path, number).await;
        let text = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{}", body.len(), body);
        stream.write_all(text.as_bytes()).await?;
        let _ = service.log.try_send(path);
    }
}

async fn accept(service: Arc<Service>, listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(serve(service.clone(), stream));
    }
}

async fn write_log(mut lines: mpsc::Receiver<String>) -> u64 {
    let mut nr = 0;
    while lines.recv().await.is_some() {
        nr += 1;
    }
    nr
}

async fn tick(service: Arc<Service>) {
    let mut every = interval(Duration::from_millis(500));
    loop {
        every.tick().await;
        eprintln!("demo: {} requests served", service.served.load(Relaxed));
    }
}

async fn client(port: u16, number: usize, until: Instant) -> io::Result<Duration> {
    let mut stream = BufReader::new(TcpStream::connect(("127.0.0.1", port)).await?);
    let mut slowest = Duration::ZERO;
    let mut body = [0; 64];
    for path in PATHS.iter().cycle().skip(number) {
        let began = Instant::now();
        if began >= until {
            break;
        }
        stream.write_all(format!("GET {} HTTP/1.1\r\n\r\n", path).as_bytes()).await?;
        let (mut line, mut length) = (String::new(), 0);
        while line != "\r\n" {
            line.clear();
            stream.read_line(&mut line).await?;
            if let Some(n) = line.strip_prefix("content-length: ") {
                length = n.trim().parse().unwrap_or(0);
            }
        }
        stream.read_exact(&mut body[..length]).await?;
        slowest = slowest.max(began.elapsed());
        sleep(Duration::from_millis(1)).await;
    }
    Ok(slowest)
}

async fn run() -> io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let port = listener.local_addr()?.port();
    let (log, lines) = mpsc::channel(1024);
    let service = Arc::new(Service { connections: Semaphore::new(2), served: AtomicU64::new(0), log });
    tokio::spawn(accept(service.clone(), listener));
    tokio::spawn(write_log(lines));
    tokio::spawn(tick(service.clone()));

    let until = Instant::now() + Duration::from_secs(3);
    let clients: Vec<_> = (0..CLIENTS).map(|n| tokio::spawn(client(port, n, until))).collect();
    let mut slowest = Duration::ZERO;
    for c in clients {
        slowest = slowest.max(c.await.expect("a client panicked")?);
    }
    println!("demo: {} requests, the slowest took {} ms", service.served.load(Relaxed), slowest.as_millis());
    Ok(())
}

fn main() -> io::Result<()> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(run())
}
