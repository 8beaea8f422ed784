// SPDX-License-Identifier: MIT OR Apache-2.0
// Where this program was loaded, for those that print addresses as their file has them.
extern "C" {
    static __ehdr_start: u8;
}

/// A PIE is linked at 0, so its header lies at the load base; other programs lie where they were linked.
fn base() -> usize {
    const ET_EXEC: u8 = 2;
    let header = unsafe { &__ehdr_start as *const u8 };
    if unsafe { *header.add(16) } == ET_EXEC { 0 } else { header as usize }
}
