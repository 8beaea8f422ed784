// SPDX-License-Identifier: MIT OR Apache-2.0
//! A crate of which the program holds two releases, with cfg newer and without: the names are the same.
use std::any::Any;
use std::future::Future;
use std::hint::black_box;
use std::mem::offset_of;

#[cfg(not(newer))]
#[repr(C)]
pub struct Thing {
    pub first: u64,
    pub second: u64,
}
#[cfg(newer)]
#[repr(C)]
pub struct Thing {
    pub second: u64,
    pub first: u64,
}
pub const FIRST_OFF: usize = offset_of!(Thing, first);

#[cfg(not(newer))]
pub const LINE: u32 = line!() + 2;
#[cfg(not(newer))]
pub async fn run(n: u64) -> u64 {
    std::future::ready(black_box(n)).await
}
#[cfg(newer)]
pub const LINE: u32 = line!() + 2;
#[cfg(newer)]
pub async fn run(n: u64) -> u64 {
    std::future::ready(black_box(n) + 1).await
}

/// An enum and a pointer whose names and shapes are the same in both.
#[inline(never)]
pub fn boxed() -> Box<dyn Any> {
    Box::new(Some(Box::new(Thing { first: 1, second: 2 })))
}
#[inline(never)]
pub fn thing() -> Box<dyn Any> {
    Box::new(Thing { first: 1, second: 2 })
}
#[inline(never)]
pub fn future() -> Box<dyn Future<Output = u64>> {
    Box::new(run(1))
}
