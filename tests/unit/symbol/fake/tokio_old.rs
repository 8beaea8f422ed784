// SPDX-License-Identifier: MIT OR Apache-2.0
//! A crate that is called tokio and has task and waker tables as releases before 1.23 have them, but runs nothing. Which
//! slots there are says `--cfg slots="5"` to "9" (eight functions, and the offset of the trailer).
pub mod runtime {
    pub mod thread_pool {
        pub struct Worker(pub u64);
    }
    pub mod task {
        /// Each does something else, so that no two are equal and none is merged away.
        macro_rules! functions {
            ($($name:ident = $number:literal)*) => {
                $(#[inline(never)]
                pub unsafe fn $name<T, S>(x: usize) {
                    std::hint::black_box((x, $number, std::any::type_name::<(T, S)>()));
                })*
            };
        }
        pub mod waker {
            functions! { clone_waker = 11 wake_by_val = 12 wake_by_ref = 13 drop_waker = 14 }
            struct Make<T, S>(T, S);
            impl<T, S> Make<T, S> {
                const TABLE: &'static [unsafe fn(usize); 4] =
                    &[clone_waker::<T, S>, wake_by_val::<T, S>, wake_by_ref::<T, S>, drop_waker::<T, S>];
            }
            pub fn table<T, S>() -> usize {
                std::hint::black_box(Make::<T, S>::TABLE).as_ptr() as usize
            }
        }
        pub mod raw {
            functions! {
                poll = 1 dealloc = 2 try_read_output = 3 try_set_join_waker = 4 drop_join_handle_slow = 5
                drop_abort_handle = 6 remote_abort = 7 shutdown = 8
            }
            #[repr(C)]
            pub struct Vtable {
                poll: unsafe fn(usize),
                dealloc: unsafe fn(usize),
                try_read_output: unsafe fn(usize),
                #[cfg(any(slots = "7", slots = "8", slots = "9"))]
                try_set_join_waker: unsafe fn(usize),
                drop_join_handle_slow: unsafe fn(usize),
                #[cfg(any(slots = "8", slots = "9"))]
                drop_abort_handle: unsafe fn(usize),
                #[cfg(not(slots = "5"))]
                remote_abort: unsafe fn(usize),
                shutdown: unsafe fn(usize),
                #[cfg(slots = "9")]
                trailer_offset: usize,
            }
            struct Make<T, S>(T, S);
            impl<T, S> Make<T, S> {
                const TABLE: &'static Vtable = &Vtable {
                    poll: poll::<T, S>,
                    dealloc: dealloc::<T, S>,
                    try_read_output: try_read_output::<T, S>,
                    #[cfg(any(slots = "7", slots = "8", slots = "9"))]
                    try_set_join_waker: try_set_join_waker::<T, S>,
                    drop_join_handle_slow: drop_join_handle_slow::<T, S>,
                    #[cfg(any(slots = "8", slots = "9"))]
                    drop_abort_handle: drop_abort_handle::<T, S>,
                    #[cfg(not(slots = "5"))]
                    remote_abort: remote_abort::<T, S>,
                    shutdown: shutdown::<T, S>,
                    #[cfg(slots = "9")]
                    trailer_offset: 64 + std::mem::size_of::<(T, S)>().next_multiple_of(8),
                };
            }
            pub fn table<T, S>() -> usize {
                std::hint::black_box(Make::<T, S>::TABLE) as *const Vtable as usize
            }
        }
    }
}
