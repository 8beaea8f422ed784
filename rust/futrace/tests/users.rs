// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that use the macros, as the compiler sees them: those that are right compile without a warning in every edition,
//! and those that are not are told what is wrong.
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The crate as it was built last, beside this test.
fn crate_built() -> PathBuf {
	let deps = std::env::current_exe().unwrap();
	let files = deps.parent().unwrap().read_dir().unwrap();
	files.map(|f| f.unwrap())
		.filter(|f| {
			let name = f.file_name().into_string().unwrap();
			name.starts_with("libfutrace-") && name.ends_with(".rlib")
		})
		.max_by_key(|f| f.metadata().unwrap().modified().unwrap())
		.expect("the crate")
		.path()
}

/// What the compiler says of a program; none: it compiles.
fn compile(edition: &str, source: &str) -> Option<String> {
	let library = crate_built();
	let mut rustc = Command::new("rustc")
		.args(["-", "--crate-type=lib", "--emit=obj", "-Dwarnings"])
		.arg(format!("--edition={edition}"))
		.arg(format!("--out-dir={}", env!("CARGO_TARGET_TMPDIR")))
		.arg(format!("--extern=futrace={}", library.display()))
		.arg(format!(
			"-Ldependency={}",
			library.parent().unwrap().display()
		))
		.stdin(Stdio::piped())
		.stderr(Stdio::piped())
		.spawn()
		.expect("rustc");
	let mut stdin = rustc.stdin.take().unwrap();
	stdin.write_all(source.as_bytes()).unwrap();
	drop(stdin);
	let out = rustc.wait_with_output().unwrap();
	(!out.status.success()).then(|| String::from_utf8(out.stderr).unwrap())
}

const RIGHT: &str = r##"
    #![no_implicit_prelude]
    #![forbid(unsafe_code)]

    pub async fn answer(id: ::futrace::UniqueId, word: ::std::string::String, tokio: ::std::option::Option<u8>) -> u8 {
        let _span = ::futrace::span!("answer", id, word = word, r#type = ?tokio,);
        ::futrace::mark!("bare");
        ::futrace::mark!("comma",);
        ::futrace::mark!("number", 5);
        ::futrace::mark!("field", key = word);
        ::futrace::mark!("fields", 5, a = 'c', b = %word, c = ?word, d = tokio,);
        match ::futrace::span!("matched", half = 0.5) {
            span => span.end(),
        }
        ::std::mem::drop((id, word));
        let nothing = ::futrace::mark!("last", tokio.is_some() as u8);
        let () = nothing;
        if ::futrace::span!("in a condition").id().is_some() { 1 } else { 0 }
    }

    pub fn is_send(word: ::std::string::String) -> impl ::std::marker::Send {
        answer(::futrace::UniqueId::new(), word, ::std::option::Option::None)
    }
"##;

#[test]
fn compile_in_all_editions() {
	for edition in ["2018", "2021", "2024"] {
		let said = compile(edition, RIGHT);
		// which came with Rust 1.85
		let is_unknown = said
			.as_ref()
			.is_some_and(|s| s.contains("latest edition supported by this Rust"));
		assert!(said.is_none() || is_unknown, "{edition}: {}", said.unwrap());
	}
}

#[test]
fn are_told_what_is_wrong() {
	for (body, word) in [
		(
			"futrace::mark!(\"a\", v = vec![1]);",
			"`Vec<{integer}>` cannot be the value of a field as it is",
		),
		(
			"futrace::mark!(\"a\", v = Some(()));",
			"`key = ?value` that of its `Debug`",
		),
		(
			"futrace::mark!(\"a\", \"text\");",
			"`str` cannot be the id of a mark or span",
		),
		(
			"futrace::span!(\"a\", 1.5).end();",
			"cannot be the id of a mark or span",
		),
		(
			"futrace::mark!(\"a\", 1, bytes);",
			"a field is `key = value`",
		),
		(
			"futrace::mark!(\"a\", 1, a = 1; b = 2);",
			"a field is `key = value`",
		),
		("futrace::span!(\"a\");", "a span ends when it is dropped"),
		(
			"let _ = futrace::span!(\"a\", 1, a = 1, b = 1, c = 1, d = 1, e = 1);",
			"at most four fields",
		),
		(
			"futrace::mark!(\"a\\0b\");",
			"a name with a zero in it would end there",
		),
	] {
		let said = compile("2021", &format!("pub fn f() {{ {body} }}"));
		let said = said.unwrap_or_else(|| panic!("{body} compiles"));
		assert!(said.contains(word), "{body}: {said}");
	}
}
