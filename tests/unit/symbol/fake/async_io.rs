// SPDX-License-Identifier: MIT OR Apache-2.0
//! async-io's block_on, as far as pinned.rs needs it; and what tells of the frames of those who wait.
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

/// The frame of the function that waits, where it polled last: its place, its stack pointer, and rbp.
pub static FRAME: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];

#[macro_export]
macro_rules! tell_frame {
    () => {
        let (pc, sp, rbp): (usize, usize, usize);
        unsafe { std::arch::asm!("lea {}, [rip]", "mov {}, rsp", "mov {}, rbp", out(reg) pc, out(reg) sp, out(reg) rbp) };
        for (to, x) in $crate::FRAME.iter().zip([pc, sp, rbp]) {
            to.store(x, std::sync::atomic::Ordering::Relaxed);
        }
    };
}

static NR_PARKS: AtomicU32 = AtomicU32::new(0);

pub fn nr_parks() -> u32 {
    NR_PARKS.load(Relaxed)
}

pub mod parking {
    pub struct Inner;
    impl Inner {
        #[cfg_attr(park_is_inlined, inline(always))]
        #[cfg_attr(not(park_is_inlined), inline(never))]
        pub fn park(&self) {
            crate::NR_PARKS.fetch_add(1, crate::Relaxed);
        }
    }
}

pub mod driver {
    use std::future::Future;
    use std::pin::pin;
    use std::sync::Arc;
    use std::task::{Context, Poll, Wake};

    struct Quiet;
    impl Wake for Quiet {
        fn wake(self: Arc<Self>) {}
    }

    #[inline(never)]
    pub fn block_on<T>(future: impl Future<Output = T>) -> T {
        let waker = Arc::new(Quiet).into();
        let mut cx = Context::from_waker(&waker);
        let mut future = pin!(future);
        loop {
            tell_frame!();
            if let Poll::Ready(t) = future.as_mut().poll(&mut cx) {
                return t;
            }
            crate::parking::Inner.park();
        }
    }
}
