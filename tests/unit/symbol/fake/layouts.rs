// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program that prints how its own values lie in memory, for test_layout.c. Each line is a truth: a letter, then
//! fields with tabs between them.
#![allow(dead_code)]
use std::any::type_name;
use std::convert::Infallible;
use std::future::Future;
use std::hint::black_box;
use std::mem::{align_of, align_of_val, offset_of, size_of, size_of_val};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};

include!("base.rs");

fn hex<T: ?Sized>(x: &T) -> String {
    let p = black_box(x) as *const T as *const u8;
    (0..size_of_val(x)).map(|i| format!("{:02x}", unsafe { p.add(i).read_volatile() })).collect()
}

/// A value whose variant is known, and of that variant a member and its number ("" when it has none).
fn value<T>(name: &str, x: &T, variant: &str, member: &str, number: u64) {
    println!("V\t{name}\t{}\t{variant}\t{member}\t{number}", hex(x));
}

/// A type: its size, what it is, and whether it has a poll.
fn kind<T>(x: &T, kind: &str, is_future: bool) {
    println!("S\t{}\t{}\t{kind}\t{}\t{}", type_name::<T>(), size_of_val(x), is_future as u8, align_of_val(x));
}

#[derive(Clone)]
struct Pair<A, B> {
    first: A,
    second: B,
    small: u8,
}
struct Tuple(u16, i64);
union Either {
    word: u64,
    byte: u8,
}
struct Holder {
    boxed: Box<Pair<u8, u64>>,
    array: [Pair<u8, u64>; 3],
    grid: [[u16; 5]; 2],
    text: &'static str,
    letter: char,
    yes: bool,
    ratio: f32,
    nothing: (),
    huge: u128,
}

enum Tagged {
    Empty,
    One(u8),
    Named { count: u64 },
}
enum Niche {
    Flag(bool),
    Second,
    Third,
}
enum Only {
    This(u32),
}
#[repr(i8)]
#[derive(Clone, Copy)]
enum Signed {
    Minus = -1,
    Zero,
}
#[repr(u16)]
#[derive(Clone, Copy)]
enum Wide {
    Small = 3,
    Large = 40_000,
}

struct Never {
    count: u8,
    never: Infallible,
}

/// A future by hand, pending as often as it is told.
struct Wait {
    left: u8,
    mark: u64,
}
impl Future for Wait {
    type Output = u64;
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u64> {
        if self.left == 0 {
            return Poll::Ready(self.mark);
        }
        self.left -= 1;
        Poll::Pending
    }
}
fn wait(mark: u64) -> Wait {
    Wait { left: 1, mark }
}

trait Stream {
    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<u8>>;
}
struct Count {
    at: u8,
}
impl Stream for Count {
    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<u8>> {
        self.at += 1;
        Poll::Ready(Some(self.at))
    }
}

macro_rules! wait_inside {
    ($e:expr) => {
        $e.await
    };
}

const LEAF: u32 = line!() + 1;
async fn leaf(n: u64) -> u64 {
    let kept = n + 1;
    wait(n).await;
    kept
}

const NESTED: u32 = line!() + 1;
async fn nested(arg: Pair<u32, u16>, text: String) -> u64 {
    let first = leaf(arg.first as u64).await;
    let second = leaf(first)
        .await;
    drop(text);
    first + second
}

const MACRO: u32 = line!() + 1;
async fn in_macro(n: u64) -> u64 {
    let a = leaf(n).await;
    let b = wait_inside!(leaf(a));
    let c = leaf(b).await;
    a + b + c
}

const ALL_MACRO: u32 = line!() + 1;
async fn all_macro(n: u64) {
    wait_inside!(wait(n));
}

macro_rules! body { ($($code:tt)*) => { async move { $($code)* } } }

/// Written by a macro as a whole, as `#[tokio::main]` does.
const WHOLE: u32 = line!() + 1;
fn whole() -> impl Future<Output = u64> {
    body! {
        let a = leaf(1).await;
        wait_inside!(leaf(a));
        leaf(a).await
    }
}

include!("foreign-1.0.0/macros.rs");

/// The same by a macro of another crate.
const FOREIGN: u32 = line!() + 1;
fn foreign() -> impl Future<Output = u64> {
    foreign_body! {
        let a = leaf(1).await;
        foreign_wait!(leaf(a));
        leaf(a).await
    }
}

/// What it captured is hidden by a variable of another type.
fn hides(n: u64) -> impl Future<Output = u64> {
    async move {
        let n = n as u16 + 1;
        wait(1).await;
        n as u64
    }
}

async fn generic<T: Clone>(x: T, n: u64) -> T {
    leaf(n).await;
    x.clone()
}

struct Shop {
    open: u64,
}
impl Shop {
    async fn sell(&self) -> u64 {
        leaf(self.open).await
    }
}

macro_rules! ten {
    ($e:expr) => {
        $e; $e; $e; $e; $e; $e; $e; $e; $e; $e
    };
}
/// More await points than a byte can tell apart.
async fn many() {
    ten! { { ten! { { leaf(0).await; leaf(1).await; leaf(2).await; } } } }
}

struct Quiet;
impl Wake for Quiet {
    fn wake(self: Arc<Self>) {}
}

fn poll<F: Future>(f: &mut Pin<Box<F>>) -> bool {
    let waker = Arc::new(Quiet).into();
    black_box(f.as_mut()).poll(&mut Context::from_waker(&waker)).is_ready()
}

/// A coroutine at each of its stops: n polls for each.
fn coroutine<F: Future>(name: &str, f: F, stops: &[(&str, usize, &str, u64)]) {
    let mut f = Box::pin(black_box(f));
    println!("S\t{name}\t{}\tcoroutine\t1\t{}", size_of::<F>(), align_of::<F>());
    for (variant, polls, member, number) in stops {
        for _ in 0..*polls {
            poll(&mut f);
        }
        value(name, &*f, variant, member, *number);
    }
}

/// Where a body begins and ends, and its name for people.
fn body(name: &str, first: u32, last: u32, function: &str) {
    println!("B\t{name}\t{first}\t{last}\t{function}\t{}", file!());
}

/// An await point: its line, or the lines that it is between, and what is awaited there.
fn at(name: &str, variant: &str, line: u32, last: u32, awaitee: &str) {
    println!("A\t{name}\t{variant}\t{line}\t{last}\t{awaitee}");
}

#[inline(never)]
fn takes<T, U>(x: &T, y: &U) -> usize {
    black_box(x);
    black_box(y);
    size_of::<T>() + 1
}

fn table_of<T: ?Sized>(fat: &T) -> usize {
    unsafe { *(&fat as *const &T as *const usize).add(1) }
}

/// Behind drop, size and align: the one function of Future, which for a coroutine is its code.
fn code_of<T: ?Sized>(future: &T) -> usize {
    unsafe { *(table_of(future) as *const usize).add(3) }
}

fn trait_objects() {
    let a: Box<dyn Future<Output = u64>> = black_box(Box::new(leaf(3)));
    let b: Box<dyn Stream> = black_box(Box::new(Count { at: 0 }));
    let name = "layouts::leaf::{async_fn_env#0}";
    println!("T\t{:x}\t{name}", table_of(&*a) - base());
    println!("T\t{:x}\tlayouts::Count", table_of(&*b) - base());
    println!("C\t{name}\t{:x}", code_of(&*a) - base());
    let f: fn(&Pair<u8, u64>, &Tuple) -> usize = takes;
    black_box(f)(&Pair { first: 0, second: 1, small: 2 }, &Tuple(1, 2));
    println!("F\t{:x}\tT\t{}", f as usize - base(), type_name::<Pair<u8, u64>>());
    println!("F\t{:x}\tU\t{}", f as usize - base(), type_name::<Tuple>());
}

/// Types of two releases of a crate, by their tables: where a member is, where the code is and begins.
macro_rules! release {
    ($dep:ident) => {
        let (thing, future) = (black_box($dep::thing()), black_box($dep::future()));
        println!("O\t{:x}\tfirst\t{}", table_of(&*thing) - base(), $dep::FIRST_OFF);
        println!("P\t{:x}\tfirst\t{}", table_of(&*black_box($dep::boxed())) - base(), $dep::FIRST_OFF);
        println!("L\t{:x}\t{}\t{:x}", table_of(&*future) - base(), $dep::LINE, code_of(&*future) - base());
    };
}

fn two_releases() {
    release!(older);
    release!(newer);
}

macro_rules! member {
    ($t:ty, $m:tt, $of:expr) => {
        println!("M\t{}\t{}\t{}\t{}", type_name::<$t>(), stringify!($m), offset_of!($t, $m), $of)
    };
}

fn plain() {
    let pair = Pair { first: 1u8, second: 2u64, small: 3 };
    let holder = Holder { boxed: Box::new(pair.clone()), array: [pair.clone(), pair.clone(), pair.clone()],
        grid: [[7; 5]; 2], text: "x", letter: 'x', yes: true, ratio: 0.5, nothing: (), huge: 9 };
    kind(black_box(&pair), "struct", false);
    kind(black_box(&holder), "struct", false);
    kind(black_box(&Tuple(1, 2)), "struct", false);
    kind(black_box(&Either { word: 1 }), "struct", false);
    kind(black_box(&Count { at: 1 }), "struct", true);
    kind(black_box(&wait(1)), "struct", true);
    kind(black_box(&7u32), "number", false);
    member!(Pair<u8, u64>, first, "u8");
    member!(Pair<u8, u64>, second, "u64");
    member!(Pair<u8, u64>, small, "u8");
    println!("M\tlayouts::Tuple\t__0\t{}\tu16", offset_of!(Tuple, 0));
    println!("M\tlayouts::Tuple\t__1\t{}\ti64", offset_of!(Tuple, 1));
    member!(Either, byte, "u8");
    member!(Holder, boxed, "alloc::boxed::Box<layouts::Pair<u8, u64>, alloc::alloc::Global>");
    member!(Holder, array, "[layouts::Pair<u8, u64>; 3]");
    member!(Holder, grid, "[[u16; 5]; 2]");
    member!(Holder, text, "&str");
    member!(Holder, letter, "char");
    member!(Holder, yes, "bool");
    member!(Holder, ratio, "f32");
    member!(Holder, nothing, "()");
    member!(Holder, huge, "u128");
    black_box(&holder);
    black_box(unsafe { Either { word: 1 }.byte });
}

fn enums() {
    for (x, variant, member, number) in [
        (Tagged::Empty, "Empty", "", 0), (Tagged::One(7), "One", "__0", 7),
        (Tagged::Named { count: 1 << 40 }, "Named", "count", 1 << 40),
    ] {
        value("layouts::Tagged", black_box(&x), variant, member, number);
    }
    for (x, variant, member, number) in [
        (Niche::Flag(false), "Flag", "__0", 0), (Niche::Flag(true), "Flag", "__0", 1),
        (Niche::Second, "Second", "", 0), (Niche::Third, "Third", "", 0),
    ] {
        value("layouts::Niche", black_box(&x), variant, member, number);
    }
    value("layouts::Only", black_box(&Only::This(5)), "This", "__0", 5);
    for (x, variant) in [(Signed::Minus, "Minus"), (Signed::Zero, "Zero")] {
        value("layouts::Signed", black_box(&x), variant, "", 0);
    }
    for (x, variant) in [(Wide::Small, "Small"), (Wide::Large, "Large")] {
        value("layouts::Wide", black_box(&x), variant, "", 0);
    }
    let name = "core::option::Option<alloc::string::String>"; // its niche is a capacity of 2^63
    value(name, black_box(&None::<String>), "None", "", 0);
    value(name, black_box(&Some(String::from("x"))), "Some", "", 0);
    // Nothing tells these apart, as one of them cannot be.
    let name = "core::result::Result<u32, core::convert::Infallible>";
    value(name, black_box(&Ok::<u32, Infallible>(7)), "Ok", "__0", 7);
    let name = "core::result::Result<layouts::Never, u32>";
    value(name, black_box(&Err::<Never, u32>(8)), "Err", "__0", 8);
    value("core::option::Option<char>", black_box(&Some('a')), "Some", "__0", 'a' as u64);
    value("core::option::Option<char>", black_box(&None::<char>), "None", "", 0);
    value("core::option::Option<&u8>", black_box(&None::<&u8>), "None", "", 0);
    value("core::option::Option<&u8>", black_box(&Some(&1u8)), "Some", "", 0);
}

fn coroutines() {
    let name = "layouts::leaf::{async_fn_env#0}";
    coroutine(name, leaf(41), &[("Unresumed", 0, "n", 41), ("Suspend0", 1, "kept", 42), ("Returned", 1, "", 0)]);
    body(name, LEAF, LEAF + 4, "layouts::leaf");
    at(name, "Suspend0", LEAF + 2, 0, "layouts::Wait");

    let name = "layouts::nested::{async_fn_env#0}";
    coroutine(name, nested(Pair { first: 5, second: 6, small: 7 }, "x".into()),
        &[("Unresumed", 0, "", 0), ("Suspend0", 1, "", 0), ("Suspend1", 1, "first", 6), ("Returned", 1, "", 0)]);
    body(name, NESTED, NESTED + 6, "layouts::nested");
    at(name, "Suspend0", NESTED + 1, 0, "layouts::leaf::{async_fn_env#0}");
    at(name, "Suspend1", NESTED + 3, 0, "layouts::leaf::{async_fn_env#0}");

    let name = "layouts::in_macro::{async_fn_env#0}";
    coroutine(name, in_macro(1), &[("Suspend0", 1, "", 0), ("Suspend1", 1, "a", 2), ("Suspend2", 1, "b", 3)]);
    body(name, MACRO, MACRO + 5, "layouts::in_macro");
    at(name, "Suspend0", MACRO + 1, 0, "layouts::leaf::{async_fn_env#0}");
    at(name, "Suspend1", MACRO + 1, MACRO + 3, "layouts::leaf::{async_fn_env#0}");
    at(name, "Suspend2", MACRO + 3, 0, "layouts::leaf::{async_fn_env#0}");

    let name = "layouts::all_macro::{async_fn_env#0}";
    coroutine(name, all_macro(1), &[("Suspend0", 1, "", 0)]);
    at(name, "Suspend0", ALL_MACRO, ALL_MACRO + 2, "layouts::Wait");

    let name = "layouts::whole::{async_block_env#0}";
    coroutine(name, whole(), &[("Suspend0", 1, "", 0), ("Suspend1", 1, "a", 2), ("Suspend2", 1, "", 0)]);
    at(name, "Suspend0", WHOLE + 2, 0, "layouts::leaf::{async_fn_env#0}");
    at(name, "Suspend1", WHOLE + 2, WHOLE + 4, "layouts::leaf::{async_fn_env#0}");
    at(name, "Suspend2", WHOLE + 4, 0, "layouts::leaf::{async_fn_env#0}");

    let name = "layouts::foreign::{async_block_env#0}";
    coroutine(name, foreign(), &[("Suspend0", 1, "", 0), ("Suspend1", 1, "a", 2), ("Suspend2", 1, "", 0)]);
    body(name, FOREIGN + 2, FOREIGN + 4, "layouts::foreign::{async block#0}");
    at(name, "Suspend0", FOREIGN + 2, 0, "layouts::leaf::{async_fn_env#0}");
    at(name, "Suspend1", FOREIGN + 2, FOREIGN + 4, "layouts::leaf::{async_fn_env#0}");
    at(name, "Suspend2", FOREIGN + 4, 0, "layouts::leaf::{async_fn_env#0}");

    let name = "layouts::hides::{async_block_env#0}";
    coroutine(name, hides(8), &[("Unresumed", 0, "n", 8), ("Suspend0", 1, "n", 9)]);
    let name = "layouts::generic::{async_fn_env#0}<u32>";
    coroutine(name, generic(9u32, 1), &[("Unresumed", 0, "x", 9), ("Suspend0", 1, "", 0)]);
    let name = "layouts::many::{async_fn_env#0}";
    coroutine(name, many(), &[("Unresumed", 0, "", 0), ("Suspend2", 3, "", 0), ("Suspend270", 268, "", 0)]);

    let shop = Shop { open: 1 };
    let name = "layouts::{impl#2}::sell::{async_fn_env#0}";
    coroutine(name, shop.sell(), &[("Suspend0", 1, "", 0)]);
    println!("N\t{name}\tlayouts::Shop::sell");
}

fn main() {
    plain();
    enums();
    coroutines();
    trait_objects();
    two_releases();
}
