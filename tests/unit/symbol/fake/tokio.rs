// SPDX-License-Identifier: MIT OR Apache-2.0
//! A crate that is called tokio and has task tables of its shape, but runs nothing: what rustc writes about it (symbols,
//! debug info, relocations) is what futrace meets in a program with the real one.
pub mod runtime {
    pub mod scheduler {
        pub mod multi_thread {
            pub mod handle {
                pub struct Handle(pub u64);
            }
            pub mod worker {
                use crate::runtime::blocking::{schedule::BlockingSchedule, task::BlockingTask};
                pub fn launch_table() -> &'static crate::runtime::task::raw::Vtable {
                    fn table<F: FnOnce() -> usize>(_: F) -> &'static crate::runtime::task::raw::Vtable {
                        crate::runtime::task::raw::vtable::<BlockingTask<F>, BlockingSchedule>()
                    }
                    table(|| std::hint::black_box(77))
                }
            }
        }
        pub mod current_thread {
            pub struct Handle(pub u32);
        }
    }
    pub mod blocking {
        pub mod task {
            use std::{future::Future, pin::Pin, task::*};
            pub struct BlockingTask<F>(pub Option<F>);
            impl<F: FnOnce() -> usize> Future for BlockingTask<F> {
                type Output = usize;
                fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<usize> {
                    Poll::Ready(unsafe { self.get_unchecked_mut() }.0.take().unwrap()())
                }
            }
        }
        pub mod schedule {
            pub struct BlockingSchedule(pub [u64; 2]);
        }
    }
    pub mod task {
        pub mod core {
            /// Its drop glue names T and S in legacy symbols.
            pub struct Cell<T, S> {
                pub state: [usize; 4],
                pub scheduler: S,
                pub id: u64,
                pub stage: Option<T>,
                pub trailer: [usize; 2],
            }
        }
        pub mod waker {
            #[repr(C)]
            pub struct Table(unsafe fn(usize), unsafe fn(usize), unsafe fn(usize), unsafe fn(usize));
            unsafe fn clone(x: usize) {
                std::hint::black_box(x + 1);
            }
            unsafe fn wake(x: usize) {
                std::hint::black_box(x + 2);
            }
            unsafe fn wake_by_ref(x: usize) {
                std::hint::black_box(x + 3);
            }
            unsafe fn drop(x: usize) {
                std::hint::black_box(x + 4);
            }
            #[used]
            pub static WAKER_VTABLE: Table = Table(clone, wake, wake_by_ref, drop);
        }
        pub mod raw {
            use super::core::Cell;
            use std::hint::black_box;
            use std::mem::size_of;
            use std::{future::Future, pin::Pin, task::*};

            // Which of them come first the compiler decides; rustc 1.69 chose the offsets.
            #[repr(C)]
            pub struct Vtable {
                #[cfg(offsets_first)]
                trailer_offset: usize,
                #[cfg(offsets_first)]
                scheduler_offset: usize,
                #[cfg(offsets_first)]
                id_offset: usize,
                #[cfg(all(offsets_first, located))]
                spawn_location_offset: usize,
                poll: unsafe fn(usize),
                schedule: unsafe fn(usize),
                dealloc: unsafe fn(usize),
                try_read_output: unsafe fn(usize),
                drop_join_handle_slow: unsafe fn(usize),
                drop_abort_handle: unsafe fn(usize),
                shutdown: unsafe fn(usize),
                #[cfg(not(offsets_first))]
                trailer_offset: usize,
                #[cfg(not(offsets_first))]
                scheduler_offset: usize,
                #[cfg(not(offsets_first))]
                id_offset: usize,
                #[cfg(all(not(offsets_first), located))]
                spawn_location_offset: usize,
            }

            // Each says something about its own type, so that no two are equal and none is merged away.
            #[inline(never)]
            unsafe fn poll<T: Future, S>(x: usize) {
                let mut cx = Context::from_waker(Waker::noop());
                let task = Pin::new_unchecked(&mut *(x as *mut T));
                black_box((task.poll(&mut cx).is_ready(), std::any::type_name::<(T, S)>()));
            }
            #[inline(never)]
            unsafe fn schedule<S>(x: usize) {
                black_box((x, 2, std::any::type_name::<S>()));
            }
            #[inline(never)]
            unsafe fn dealloc<T, S>(x: usize) {
                drop(Box::from_raw(x as *mut Cell<T, S>));
            }
            #[inline(never)]
            unsafe fn try_read_output<T, S>(x: usize) {
                black_box((x, 3, std::any::type_name::<(T, S)>()));
            }
            #[inline(never)]
            unsafe fn drop_join_handle_slow<T, S>(x: usize) {
                black_box((x, 4, std::any::type_name::<(T, S)>()));
            }
            #[inline(never)]
            unsafe fn drop_abort_handle<T, S>(x: usize) {
                black_box((x, 5, std::any::type_name::<(T, S)>()));
            }
            #[inline(never)]
            unsafe fn shutdown<T, S>(x: usize) {
                black_box((x, 6, std::any::type_name::<(T, S)>()));
            }

            struct Make<T, S>(T, S);
            impl<T: Future, S> Make<T, S> {
                // As Tokio: the header, then scheduler, id, stage, trailer, each behind the last.
                const SCHEDULER: usize = 32;
                const ID: usize = Self::SCHEDULER + size_of::<S>().next_multiple_of(8);
                const TRAILER: usize = Self::ID + 8 + 8 * cfg!(located) as usize + size_of::<Option<T>>().next_multiple_of(8) + 8;
                const TABLE: &'static Vtable = &Vtable {
                    poll: poll::<T, S>,
                    schedule: schedule::<S>,
                    dealloc: dealloc::<T, S>,
                    try_read_output: try_read_output::<T, S>,
                    drop_join_handle_slow: drop_join_handle_slow::<T, S>,
                    drop_abort_handle: drop_abort_handle::<T, S>,
                    shutdown: shutdown::<T, S>,
                    trailer_offset: Self::TRAILER,
                    scheduler_offset: Self::SCHEDULER,
                    id_offset: Self::ID,
                    #[cfg(located)]
                    spawn_location_offset: Self::ID + 8,
                };
            }

            pub fn vtable<T: Future, S>() -> &'static Vtable {
                Make::<T, S>::TABLE
            }

            impl Vtable {
                /// Keeps the table in the program, and tells where it is.
                pub fn addr(&self) -> usize {
                    black_box(self) as *const Vtable as usize
                }
            }
        }
    }
}
