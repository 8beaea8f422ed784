// SPDX-License-Identifier: MIT OR Apache-2.0
//! One client: a request every so often until the time is over.

use std::io;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::{interval, MissedTickBehavior};

const PATHS: [&str; 8] = [
    "/page", "/search", "/order", "/search", "/page", "/visit", "/order", "/search",
];
const EVERY: Duration = Duration::from_millis(10);

async fn request(stream: &mut BufReader<TcpStream>, path: &str) -> io::Result<()> {
    let text = format!("GET {} HTTP/1.1\r\nhost: demo\r\n\r\n", path);
    stream.write_all(text.as_bytes()).await?;
    let (mut line, mut length) = (String::new(), 0);
    while line != "\r\n" {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(n) = line.strip_prefix("content-length: ") {
            length = n.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(())
}

/// Returns how long the slowest request took.
pub async fn visit_site(port: u16, number: usize, until: Instant) -> io::Result<Duration> {
    let mut stream = BufReader::new(TcpStream::connect(("127.0.0.1", port)).await?);
    let mut every = interval(EVERY);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut slowest = Duration::ZERO;
    for path in PATHS.iter().cycle().skip(number) {
        every.tick().await;
        let began = Instant::now();
        if began >= until {
            break;
        }
        request(&mut stream, path).await?;
        slowest = slowest.max(began.elapsed());
    }
    Ok(slowest)
}
