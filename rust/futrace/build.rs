// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles the probes, which are C, with the C compiler itself. Where there can be none (other systems and
//! processors, or FUTRACE_PROBES=off) the crate is built without them, and all that it offers does nothing.
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn var(name: &str) -> String {
	env::var(name).unwrap_or_default()
}

/// What the crate `cc` goes by, too: CC_x86_64_unknown_linux_gnu, TARGET_CC, CC.
fn set(name: &str) -> Option<String> {
	let (host, target) = (var("HOST"), var("TARGET"));
	let mut names = vec![
		format!("{name}_{target}"),
		format!("{name}_{}", target.replace('-', "_")),
	];
	names.push(if host == target {
		format!("HOST_{name}")
	} else {
		format!("TARGET_{name}")
	});
	names.push(name.to_string());
	for n in &names {
		println!("cargo:rerun-if-env-changed={n}");
	}
	names.iter().map(|n| var(n)).find(|v| !v.is_empty())
}

fn tool(name: &str, default: &str) -> String {
	let arch = var("CARGO_CFG_TARGET_ARCH");
	let prefix = format!("{arch}-linux-{}-", var("CARGO_CFG_TARGET_ENV"));
	set(name).unwrap_or_else(|| {
		if var("HOST").starts_with(&arch) {
			default.to_string()
		} else {
			prefix + default.replace("cc", "gcc").as_str()
		}
	})
}

fn run(tool: &str, args: &[&str]) {
	// CC may be "ccache gcc"
	let mut words = tool.split_whitespace();
	let mut command = Command::new(words.next().unwrap_or("cc"));
	match command.args(words).args(args).status() {
        Ok(status) if status.success() => (),
        Ok(status) => panic!("{tool} failed on the probes of futrace: {status}"),
        Err(e) => panic!("cannot run {tool} to build the probes of futrace: {e}. Set CC and AR, or FUTRACE_PROBES=off to build without probes"),
    }
}

/// Two versions of this crate may be in one program: each has symbols of its own.
fn suffix() -> String {
	format!(
		"_{}",
		var("CARGO_PKG_VERSION").replace(|c: char| !c.is_ascii_alphanumeric(), "_")
	)
}

fn compile(out: &Path, name: &str) -> PathBuf {
	let object = out.join(format!("{name}.o"));
	let suffix = format!("-DSUFFIX={}", suffix());
	let flags = set("CFLAGS").unwrap_or_default();
	// ours come last; the probes are in the assembler's part, which -flto does not see
	let mut args: Vec<&str> = flags.split_whitespace().collect();
	args.extend([
		"-std=gnu11",
		"-O2",
		"-Wall",
		"-Wextra",
		"-fPIC",
		"-fno-lto",
		"-fvisibility=hidden",
		suffix.as_str(),
	]);
	if var("DEBUG") != "false" {
		args.push("-g");
	}
	if env::var_os("CARGO_FEATURE_PERF").is_some() {
		args.push("-DFOR_PERF");
	}
	let source = format!("c/{name}.c");
	println!("cargo:rerun-if-changed={source}");
	args.extend([
		"-c",
		source.as_str(),
		"-o",
		object.to_str().expect("OUT_DIR is UTF-8"),
	]);
	run(&tool("CC", "cc"), &args);
	object
}

fn main() {
	println!("cargo:rerun-if-changed=build.rs");
	println!("cargo:rerun-if-changed=c");
	println!("cargo:rerun-if-env-changed=FUTRACE_PROBES");
	println!("cargo:rustc-env=FUTRACE_SUFFIX={}", suffix());
	let arch = var("CARGO_CFG_TARGET_ARCH");
	if var("CARGO_CFG_TARGET_OS") != "linux" || !["x86_64", "aarch64"].contains(&arch.as_str())
	{
		return;
	}
	if var("CARGO_CFG_TARGET_POINTER_WIDTH") != "64" || var("FUTRACE_PROBES") == "off" {
		return;
	}
	let out = PathBuf::from(var("OUT_DIR"));
	let objects = [compile(&out, "marks"), compile(&out, "tokio")];
	let library = out.join("libfutrace_probes.a");
	let mut args = vec!["crs", library.to_str().expect("OUT_DIR is UTF-8")];
	args.extend(objects
		.iter()
		.map(|o| o.to_str().expect("OUT_DIR is UTF-8")));
	let _ = std::fs::remove_file(&library);
	run(&tool("AR", "ar"), &args);
	println!("cargo:rustc-link-search=native={}", out.display());
	println!("cargo:rustc-link-lib=static=futrace_probes");
	println!("cargo:rustc-cfg=futrace_probes");
}
