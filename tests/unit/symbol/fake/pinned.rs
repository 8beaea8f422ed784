// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program that knows where the futures lie that its `block_on` waits for, for test_pinned.c. The functions have the
//! names and the shape of Tokio's and async-io's. Each line is a truth, with tabs between its fields: R, the root's name,
//! where the code is that waits for it, its stack pointer, its rbp, where the root's leaf lies, and the words of the frame.
use std::future::Future;
use std::hint::black_box;
use std::pin::{pin, Pin};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

include!("base.rs");

const NR_POLLS: u32 = 3;
const NR_WORDS: usize = 2048; // of a frame, at most
const LARGE: usize = 1500; // more than a page of numbers

struct Quiet;
impl Wake for Quiet {
    fn wake(self: Arc<Self>) {}
}

fn waker() -> Waker {
    Arc::new(Quiet).into()
}

static NR_PARKS: AtomicU32 = AtomicU32::new(0);

#[inline(never)]
fn park() {
    NR_PARKS.fetch_add(1, Relaxed);
}

/// Tells where it lies, and how the frame looks that it lies in, when it was polled before.
struct Leaf {
    of: &'static str,
    nr: u32,
}
impl Future for Leaf {
    type Output = u32;
    #[inline(never)]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u32> {
        self.nr += 1;
        if self.nr == 2 {
            let [pc, sp, rbp] = [0, 1, 2].map(|i| async_io::FRAME[i].load(Relaxed));
            let addr = &*self as *const Leaf as usize;
            print!("R\t{}\t{:x}\t{sp:x}\t{rbp:x}\t{addr:x}\t", self.of, pc - base());
            for i in 0..NR_WORDS {
                print!("{:x} ", unsafe { (sp as *const usize).add(i).read_volatile() });
            }
            println!();
        }
        if self.nr < NR_POLLS { Poll::Pending } else { Poll::Ready(self.nr) }
    }
}

macro_rules! cached_park_thread {
    ($inline:meta) => {
        pub struct CachedParkThread;
        impl CachedParkThread {
            #[$inline]
            pub fn block_on<F: Future>(&mut self, f: F) -> F::Output {
                let waker = crate::waker();
                let mut cx = Context::from_waker(&waker);
                let mut f = pin!(f);
                loop {
                    async_io::tell_frame!();
                    if let Poll::Ready(v) = f.as_mut().poll(&mut cx) {
                        return v;
                    }
                    crate::park();
                }
            }
        }
    };
}

mod apart {
    use super::*;
    cached_park_thread!(inline(never));
}

mod inlined {
    use super::*;
    cached_park_thread!(inline(always));
}

/// The future is further up.
struct CoreGuard(u64);
impl CoreGuard {
    #[inline(never)]
    fn block_on<F: Future>(self, mut future: Pin<&mut F>) -> F::Output {
        let waker = waker();
        let mut cx = Context::from_waker(&waker);
        loop {
            async_io::tell_frame!();
            if let Poll::Ready(v) = future.as_mut().poll(&mut cx) {
                return v;
            }
            for _ in 0..self.0 {
                park();
            }
        }
    }
}

#[inline(never)]
fn enter_runtime<F: Future>(f: F) -> F::Output {
    inlined::CachedParkThread.block_on(f)
}

/// Each root is of a type of its own; some keep so many numbers.
macro_rules! root {
    ($name:ident) => {
        async fn $name(n: u32) -> u32 {
            let kept = n + 1;
            Leaf { of: stringify!($name), nr: 0 }.await + kept
        }
    };
    ($name:ident, $nr:expr) => {
        async fn $name(n: u32) -> u32 {
            let kept = black_box([n + 1; $nr]);
            Leaf { of: stringify!($name), nr: 0 }.await + black_box(&kept)[$nr - 1]
        }
    };
}
root!(in_block_on);
root!(in_other);
root!(in_main);
root!(in_guard);
root!(in_driver);
root!(large_in_block_on, LARGE);
root!(large_in_driver, LARGE);

mod inner {
    use super::*;

    #[inline(never)]
    pub fn main() {
        let n = std::env::args().count() as u32;
        let mut sum = apart::CachedParkThread.block_on(in_block_on(n));
        sum += enter_runtime(in_other(n));
        sum += inlined::CachedParkThread.block_on(in_main(n));
        sum += CoreGuard(n.into()).block_on(pin!(in_guard(n)));
        sum += async_io::driver::block_on(in_driver(n));
        sum += apart::CachedParkThread.block_on(large_in_block_on(n));
        sum += async_io::driver::block_on(large_in_driver(n));
        assert_eq!(sum, 7 * (NR_POLLS + n + 1));
        assert_eq!(NR_PARKS.load(Relaxed) + async_io::nr_parks(), 7 * (NR_POLLS - 1));
    }
}

fn main() {
    let above = [0usize; NR_WORDS]; // so that as many words of each frame can be read
    black_box(&above);
    inner::main();
    black_box(&above);
}
