// SPDX-License-Identifier: MIT OR Apache-2.0
// Macros in a folder that is called as Cargo calls those of crates.
macro_rules! foreign_wait {
    ($e:expr) => {
        $e.await
    };
}

macro_rules! foreign_body { ($($code:tt)*) => { async move { $($code)* } } }
