// SPDX-License-Identifier: MIT OR Apache-2.0
//! A load generator for `server`: bursts of a given number of requests over a fixed number of loopback connections,
//! so that servers can be asked by turns and all do the same work.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn ask(stream: &mut TcpStream, path: &str, text: &mut Vec<u8>) {
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    stream
        .write_all(request.as_bytes())
        .await
        .expect("a server that reads");
    text.clear();
    loop {
        assert!(
            stream.read_buf(text).await.expect("an answer") > 0,
            "the server hung up"
        );
        let Some(end) = text.windows(4).position(|w| w == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&text[..end]).to_lowercase();
        let length = head
            .split("content-length: ")
            .nth(1)
            .and_then(|l| l.lines().next())
            .expect("a length");
        if text.len() == end + 4 + length.parse::<usize>().expect("a length") {
            text.drain(..end + 4);
            return;
        }
    }
}

/// The same request again and again: the answer has the length of the first one.
async fn repeat(stream: &mut TcpStream, requests: u64) {
    let request = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut text = Vec::with_capacity(4096);
    let mut length = 0;
    for _ in 0..requests {
        stream
            .write_all(request)
            .await
            .expect("a server that reads");
        text.clear();
        while text.is_empty() || text.len() < length || !text.ends_with(b"hello world") {
            assert!(
                stream.read_buf(&mut text).await.expect("an answer") > 0,
                "the server hung up"
            );
        }
        length = text.len();
    }
}

async fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port))
        .await
        .expect("a server that listens");
    stream.set_nodelay(true).ok();
    stream
}

/// (requests, CPU time) of the server so far.
async fn mark(control: &mut TcpStream) -> (u64, u64) {
    let mut text = Vec::new();
    ask(control, "/mark", &mut text).await;
    let text = String::from_utf8_lossy(&text);
    let (requests, cpu_ns) = text.trim().split_once(' ').expect("two numbers");
    (requests.parse().unwrap(), cpu_ns.parse().unwrap())
}

async fn all(streams: &mut Vec<TcpStream>, requests: u64) {
    let each = requests / streams.len() as u64;
    let tasks: Vec<_> = streams
        .drain(..)
        .map(|mut s| {
            tokio::spawn(async move {
                repeat(&mut s, each).await;
                s
            })
        })
        .collect();
    for t in tasks {
        streams.push(t.await.expect("a connection"));
    }
}

/// For each number on standard input, a burst of that many requests, and a line that says what the server used for them.
/// The end of the input ends the server.
pub async fn load(port: u16, connections: u64) {
    let mut control = connect(port).await;
    let mut streams = Vec::new();
    for _ in 0..connections {
        streams.push(connect(port).await);
    }
    for line in std::io::stdin().lines() {
        let requests = line.unwrap().trim().parse().expect("a number of requests");
        let before = mark(&mut control).await;
        all(&mut streams, requests).await;
        let after = mark(&mut control).await;
        let (requests, cpu_ns) = (after.0 - before.0, after.1 - before.1);
        println!("burst requests={requests} cpu_ns={cpu_ns}");
    }
    drop(streams);
    ask(&mut control, "/stop", &mut Vec::new()).await;
}
