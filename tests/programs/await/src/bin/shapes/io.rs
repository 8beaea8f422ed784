// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a task can wait for outside of the process: sockets, pipes, children, signals.

use crate::{start, turns};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::Stdio;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;
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

async fn read_borrowed_half(at: At, mut s: TcpStream) {
	let facts = facts(&s, "read", s.peer_addr().ok());
	let (mut r, _w) = s.split();
	let _wait = here!(at, 1).waits("socket", facts);
	let _ = r.read_exact(&mut [0; 10]).await;
}

async fn read_locked_half(at: At, s: TcpStream) {
	let facts = facts(&s, "read", s.peer_addr().ok());
	let (mut r, _w) = tokio::io::split(s);
	let _wait = here!(at, 1).waits("socket", facts);
	let _ = r.read_exact(&mut [0; 10]).await;
}

async fn write_borrowed_half(at: At, mut s: UnixStream) {
	let facts = facts(&s, "write", None);
	let (_r, mut w) = s.split();
	let much = vec![0; 1 << 26];
	let _wait = here!(at, 1).waits("socket", facts);
	let _ = w.write_all(&much).await;
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

async fn pipe_read(at: At, mut p: pipe::Receiver) {
	let _w = here!(at, 1).waits("pipe", facts(&p, "read", None));
	let _ = p.read(&mut [0; 4]).await;
}

async fn pipe_readable(at: At, p: pipe::Receiver) {
	let _w = here!(at, 2).waits("pipe", facts(&p, "read", None));
	while p.try_read(&mut [0; 1]).is_err() {
		let _ = p.readable().await;
	}
}

async fn pipe_write(at: At, mut p: pipe::Sender) {
	let much = vec![0; 1 << 22];
	let _w = here!(at, 1).waits("pipe", facts(&p, "write", None));
	let _ = p.write_all(&much).await;
}

async fn child_output(at: At) {
	let mut cat = tokio::process::Command::new("cat");
	let cat = cat.stdin(Stdio::piped()).stdout(Stdio::piped());
	let mut child = cat.spawn().expect("cat");
	let mut out = child.stdout.take().expect("piped");
	let _w = here!(at, 1).waits("pipe", facts(&out, "read", None));
	let _ = out.read(&mut [0; 4]).await;
	drop(child);
}

/// Neither a socket nor a pipe.
async fn event(at: At) {
	// SAFETY: a new descriptor, that nobody else has.
	let fd = unsafe { OwnedFd::from_raw_fd(libc::eventfd(0, libc::EFD_NONBLOCK)) };
	// SAFETY: it stays the same, and open.
	let fd = unsafe { AsyncFd::register(fd) }.expect("registered");
	let _w = here!(at, 1).waits("file", facts(&fd, "read", None));
	let _ = fd.readable().await;
}

fn pipes() {
	let (tx, rx) = pipe::pipe().expect("pipe");
	std::mem::forget(tx);
	start("pipe read", 1, |at| pipe_read(at, rx));
	let (tx, rx) = pipe::pipe().expect("pipe");
	std::mem::forget(tx);
	start("pipe readable", 1, |at| pipe_readable(at, rx));
	let (tx, rx) = pipe::pipe().expect("pipe");
	std::mem::forget(rx);
	start("pipe write", 1, |at| pipe_write(at, tx));
	start("output of a child", 1, child_output);
	start("eventfd", 1, event);
}

async fn duplex_read(at: At) {
	let (mut a, _b) = tokio::io::duplex(64);
	let facts = r#""bytes":0,"capacity":64,"direction":"read","state":null"#;
	let _w = here!(at, 1).waits("duplex", facts);
	let _ = a.read_u8().await;
}

/// A read that was given up leaves its waker behind.
async fn duplex_write(at: At) {
	let (mut a, _b) = tokio::io::duplex(32);
	tokio::select! {
		biased;
		_ = a.read_u8() => {}
		_ = turns(1) => {}
	}
	let _ = a.write_all(&[1; 30]).await;
	let facts = r#""bytes":32,"capacity":32,"direction":"write""#;
	let _w = here!(at, 1).waits("duplex", facts);
	let _ = a.write_all(&[2; 3]).await;
}

/// Nobody above tells in which direction.
async fn duplex_lines(at: At) {
	let (a, _b) = tokio::io::duplex(48);
	let mut lines = BufReader::new(a).lines();
	let facts = r#""capacity":48,"direction":"read""#;
	let _w = here!(at, 1).waits("duplex", facts);
	let _ = lines.next_line().await;
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

async fn a_signal(at: At, number: i32, name: &str) {
	use tokio::signal::unix::{signal, SignalKind};
	let mut signals = signal(SignalKind::from_raw(number)).expect("signal");
	let facts = format!(r#""signal":{number},"signal_name":{name}"#);
	let _w = here!(at, 1).waits("signal", facts);
	signals.recv().await;
}

async fn interrupt(at: At) {
	let facts = format!(r#""signal":{},"signal_name":"SIGINT""#, libc::SIGINT);
	let _w = here!(at, 1).waits("signal", facts);
	let _ = tokio::signal::ctrl_c().await;
}

async fn tcp() {
	let l = TcpListener::bind("127.0.0.1:0").await.expect("socket");
	let addr = l.local_addr().expect("bound");
	let mut ends = Vec::new();
	for _ in 0..6 {
		ends.push(TcpStream::connect(addr).await.expect("connected"));
		// The other end stays open, and silent.
		std::mem::forget(l.accept().await.expect("accepted"));
	}
	let mut next = || ends.pop().expect("one for each");
	let (a, b, c, d) = (next(), next(), next(), next());
	let (e, f) = (next(), next());
	start("tcp read, split", 1, |at| read_half(at, a));
	start("tcp read, borrowed", 1, |at| read_borrowed_half(at, e));
	start("tcp read, locked", 1, |at| read_locked_half(at, f));
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
	let (a, b) = UnixStream::pair().expect("sockets");
	std::mem::forget(b);
	start("unix write, borrowed", 1, |at| write_borrowed_half(at, a));
	let path = format!("socket-{}", std::process::id());
	let l = UnixListener::bind(path).expect("socket");
	start("unix accept", 1, |at| async move {
		let _w = here!(at, 1).waits("socket", facts(&l, "read", None));
		let _ = l.accept().await;
	});
	pipes();
	start("duplex read", 1, duplex_read);
	start("duplex write", 1, duplex_write);
	start("duplex, lines", 1, duplex_lines);
	start("child", 1, child);
	start("SIGHUP", 1, |at| a_signal(at, libc::SIGHUP, r#""SIGHUP""#));
	start("SIGUSR2", 1, |at| {
		a_signal(at, libc::SIGUSR2, r#""SIGUSR2""#)
	});
	start("SIGRTMAX", 1, |at| a_signal(at, libc::SIGRTMAX(), "null"));
	start("ctrl_c", 1, interrupt);
}
