// SPDX-License-Identifier: MIT OR Apache-2.0
//! Prints its own truth, a line for each task table: address (link-time), kind, scheduler, line of the future ("-": nobody can
//! know), its size (0: nobody can know), and its type as debug info, v0 symbols and legacy symbols tell it; separated by tabs.
use std::mem::{size_of, size_of_val};
use std::{future::Future, pin::Pin, sync::Arc, task::*};
use tokio::runtime::blocking::{schedule::BlockingSchedule, task::BlockingTask};
use tokio::runtime::scheduler::{current_thread, multi_thread};
use tokio::runtime::task::raw::vtable;

type Mt = Arc<multi_thread::handle::Handle>;
type Ct = Arc<current_thread::Handle>;

include!("base.rs");

fn say(table: &'static tokio::runtime::task::raw::Vtable, rest: &str) {
    println!("{:x}\t{}", table.addr() - base(), rest);
}

mod net {
    pub struct Conn(pub String);
    impl Conn {
        pub const LINE: u32 = line!() + 1;
        pub async fn run(self) -> usize {
            std::future::pending::<()>().await;
            self.0.len()
        }
    }
    pub const LINE: u32 = line!() + 1;
    pub async fn serve(x: Box<u32>) -> u32 {
        std::future::pending::<()>().await;
        *x
    }
}

const GENERIC: u32 = line!() + 1;
async fn generic<T: Clone>(x: T, y: String) -> (T, String) {
    std::future::pending::<()>().await;
    (x.clone(), y)
}

const LARGE: u32 = line!() + 1;
async fn large(x: [u32; 5000]) -> u32 {
    std::future::pending::<()>().await;
    x.iter().sum()
}

struct Wrap<F>(F, #[allow(dead_code)] Vec<u8>);
impl<F: Future> Future for Wrap<F> {
    type Output = F::Output;
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        unsafe { self.map_unchecked_mut(|s| &mut s.0) }.poll(cx)
    }
}

fn both<T: Future>(x: &T, line: u32, names: [&str; 3]) {
    sized(x, size_of_val(x), line, names);
}

fn sized<T: Future>(_: &T, bytes: usize, line: u32, names: [&str; 3]) {
    let line = if line > 0 { line.to_string() } else { "-".to_string() };
    let names = names.join("\t");
    say(vtable::<T, Mt>(), &format!("task\tmulti_thread\t{line}\t{bytes}\t{names}"));
    say(vtable::<T, Ct>(), &format!("task\tcurrent_thread\t{line}\t{bytes}\t{names}"));
}

fn blocking<F: FnOnce() -> usize>(_: &F, line: u32, names: [&str; 3]) {
    let (bytes, names) = (size_of::<BlockingTask<F>>(), names.join("\t"));
    say(vtable::<BlockingTask<F>, BlockingSchedule>(), &format!("blocking\tblocking\t{line}\t{bytes}\t{names}"));
}

fn main() {
    let text = std::env::args().next().unwrap();
    both(&net::serve(Box::new(1)), net::LINE, ["app::net::serve"; 3]);
    both(&net::Conn(text.clone()).run(), net::Conn::LINE, ["app::net::Conn::run"; 3]);
    both(&generic(7u32, text.clone()), GENERIC, ["app::generic<u32>"; 3]);
    let boxed = Box::pin(generic(7u64, text.clone()));
    sized(&boxed, size_of_val(&*boxed), GENERIC, ["app::generic<u64>"; 3]);
    both(&large([1; 5000]), LARGE, ["app::large"; 3]);
    let hidden: Pin<Box<dyn Future<Output = u32> + Send>> = Box::pin(net::serve(Box::new(3)));
    let name = "dyn core::future::future::Future<Output = u32> + core::marker::Send";
    sized(&hidden, 0, 0, [name; 3]);
    both(&Wrap(net::serve(Box::new(2)), vec![1]), net::LINE, ["app::Wrap<app::net::serve>"; 3]);
    let moved = text.clone();
    #[rustfmt::skip]
    let (block, line) = (async { std::future::pending::<()>().await; moved.len() }, line!());
    // Symbols cannot tell the first async block of a function from the function itself.
    both(&block, line, ["app::main::{async block#0}", "app::main", "app::main"]);
    let moved = text.clone();
    #[rustfmt::skip]
    let (work, line) = (move || { std::hint::black_box(moved.len()) }, line!());
    blocking(&work, line, ["app::main::{closure#1}", "app::main::{closure#1}", "app::main::{closure}"]);
    let launch = "tokio::runtime::scheduler::multi_thread::worker::launch_table::{closure";
    say(
        tokio::runtime::scheduler::multi_thread::worker::launch_table(),
        &format!("helper\tblocking\t-\t1\t{launch}#0}}\t{launch}#0}}\t{launch}}}"),
    );
    drop((boxed, hidden, block, work));
}
