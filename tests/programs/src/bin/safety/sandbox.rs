// SPDX-License-Identifier: MIT OR Apache-2.0
//! A filter of system calls that kills the process at the first one that is not in a list.

use libc::{sock_filter, sock_fprog};

const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
const EQUALS: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const RETURN: u16 = 0x06; // BPF_RET | BPF_K

fn step(code: u16, jt: u8, k: u32) -> sock_filter {
	sock_filter { code, jt, jf: 0, k }
}

/// For all threads there are, from now on.
pub fn enter(allowed: &[libc::c_long]) {
	let mut program = vec![step(LOAD, 0, 0)];
	for (i, nr) in allowed.iter().enumerate() {
		program.push(step(EQUALS, (allowed.len() - i) as u8, *nr as u32));
	}
	program.push(step(RETURN, 0, libc::SECCOMP_RET_KILL_PROCESS));
	program.push(step(RETURN, 0, libc::SECCOMP_RET_ALLOW));
	let prog = sock_fprog {
		len: program.len() as u16,
		filter: program.as_mut_ptr(),
	};
	unsafe {
		assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
		let rc = libc::syscall(
			libc::SYS_seccomp,
			libc::SECCOMP_SET_MODE_FILTER,
			libc::SECCOMP_FILTER_FLAG_TSYNC,
			&prog,
		);
		assert_eq!(rc, 0, "seccomp");
	}
}
