// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a task can wait for outside of the process: sockets, children, signals.

use crate::start;
use std::os::fd::AsRawFd;
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream, UdpSocket, UnixListener, UnixStream};
use waits::{here, At};

fn facts(fd: &impl AsRawFd, direction: &str, peer: Option<std::net::SocketAddr>) -> String {
	let peer = peer.map_or(String::new(), |p| format!(r#","peer":"{p}""#));
	format!(r#""fd":{},"direction":"{direction}"{peer}"#, fd.as_raw_fd())
}

async fn read_half(at: At, s: TcpStream) {
	let facts = facts(&s, "read", s.peer_addr().ok());
	let (mut r, _w) = s.into_split();
	let _wait = here!(at, 1).waits("socket", facts);
	let _ = r.read_exact(&mut [0; 10]).await;
}

async fn read_some(at: At, mut s: TcpStream) {
	let _w = here!(at, 1).waits("socket", facts(&s, "read", s.peer_addr().ok()));
	let _ = s.read(&mut [0; 10]).await;
}

/// More than the kernel takes: nobody reads it.
async fn write_much(at: At, mut s: TcpStream) {
	let much = vec![0; 1 << 26];
	let _w = here!(at, 1).waits("socket", facts(&s, "write", s.peer_addr().ok()));
	let _ = s.write_all(&much).await;
}

async fn readable(at: At, s: TcpStream) {
	let _w = here!(at, 3).waits("socket", facts(&s, "read", s.peer_addr().ok()));
	while s.try_read(&mut [0; 1]).is_err() {
		// Ready once when it is new.
		let _ = s.readable().await;
	}
}

async fn accept(at: At, l: TcpListener) {
	let _w = here!(at, 1).waits("socket", facts(&l, "read", None));
	let _ = l.accept().await;
}

async fn udp(at: At) {
	let s = UdpSocket::bind("127.0.0.1:0").await.expect("socket");
	let _w = here!(at, 1).waits("socket", facts(&s, "read", None));
	let _ = s.recv_from(&mut [0; 4]).await;
}

async fn lines(at: At, s: UnixStream) {
	let facts = facts(&s, "read", None);
	let mut lines = BufReader::new(s).lines();
	let _w = here!(at, 1).waits("socket", facts);
	let _ = lines.next_line().await;
}

async fn duplex(at: At) {
	let (mut a, _b) = tokio::io::duplex(64);
	let _w = here!(at, 1).waits("other", r#""type":"tokio::io::util::""#);
	let _ = a.read_u8().await;
}

async fn child(at: At) {
	let mut cat = tokio::process::Command::new("cat");
	let cat = cat.stdin(Stdio::piped()).stdout(Stdio::null());
	let mut child = cat.spawn().expect("cat");
	// It reads until we end.
	std::mem::forget(child.stdin.take());
	let facts = format!(r#""pid":{}"#, child.id().expect("it runs"));
	let _w = here!(at, 1).waits("process", facts);
	let _ = child.wait().await;
}

async fn hangup(at: At) {
	use tokio::signal::unix::{signal, SignalKind};
	let mut hangups = signal(SignalKind::hangup()).expect("signal");
	let _w = here!(at, 1).waits("signal", "");
	hangups.recv().await;
}

async fn tcp() {
	let l = TcpListener::bind("127.0.0.1:0").await.expect("socket");
	let addr = l.local_addr().expect("bound");
	let mut ends = Vec::new();
	for _ in 0..4 {
		ends.push(TcpStream::connect(addr).await.expect("connected"));
		// The other end stays open, and silent.
		std::mem::forget(l.accept().await.expect("accepted"));
	}
	let mut next = || ends.pop().expect("one for each");
	let (a, b, c, d) = (next(), next(), next(), next());
	start("tcp read, split", 1, |at| read_half(at, a));
	start("tcp read", 1, |at| read_some(at, b));
	start("tcp write", 1, |at| write_much(at, c));
	start("tcp readable", 1, |at| readable(at, d));
	start("tcp accept", 1, |at| accept(at, l));
}

pub async fn start_all() {
	tcp().await;
	start("udp", 1, udp);
	let (a, b) = UnixStream::pair().expect("sockets");
	std::mem::forget(b);
	start("unix, lines", 1, |at| lines(at, a));
	let path = format!("socket-{}", std::process::id());
	let l = UnixListener::bind(path).expect("socket");
	start("unix accept", 1, |at| async move {
		let _w = here!(at, 1).waits("socket", facts(&l, "read", None));
		let _ = l.accept().await;
	});
	start("duplex", 1, duplex);
	start("child", 1, child);
	start("signal", 1, hangup);
}
