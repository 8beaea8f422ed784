// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Proves that the spellings of a future's type in debug info, v0 and legacy symbols become one
 * readable name.
 */
#include "runtime/tokio.h"
#include "symbol/demangle.h"

#include "check.h"

struct type_case {
	const char *type, *readable;
	bool is_closure;
};

static const struct type_case types[] = {
	{ "app::fetch::{async_fn_env#0}", "app::fetch" },
	{ "app::fetch::{closure#0}", "app::fetch" },
	{ "app::fetch::{{closure}}", "app::fetch" },
	{ "app::main::{async_fn#0}::{async_block_env#1}", "app::main::{async block#1}" },
	{ "app::main::{closure#0}::{closure#1}", "app::main::{closure#1}" },
	{ "app::main::{{closure}}::{{closure}}", "app::main::{closure}" },
	{ "app::main::{closure#1}::{closure#0}", "app::main::{closure#1}::{closure#0}" },
	{ "app::get::{async_fn_env#0}<u32, alloc::vec::Vec<u8, alloc::alloc::Global>>",
	  "app::get<u32, alloc::vec::Vec<u8>>" },
	{ "app::get::<u32>::{closure#0}", "app::get<u32>" },
	{ "app::get<u32,u8>::{{closure}}", "app::get<u32, u8>" },
	{ "app::get::{async_fn#0}::{async_block_env#2}<u32>", "app::get<u32>::{async block#2}" },
	{ "<app::Conn>::run::{closure#0}", "app::Conn::run" },
	{ "<app::Conn as app::Run>::run::{closure#0}", "<app::Conn as app::Run>::run" },
	{ "app::Wrap<<app::Conn>::run::{closure#0}>", "app::Wrap<app::Conn::run>" },
	{ "core::pin::Pin<alloc::boxed::Box<app::f::{async_fn_env#0}, alloc::alloc::Global>>",
	  "app::f" },
	{ "core::pin::Pin<alloc::boxed::Box<app::f::{{closure}}>>", "app::f" },
	{ "core::future::from_generator::GenFuture<app::f::{{closure}}>", "app::f" },
	{ "core::pin::Pin<alloc::boxed::Box<(dyn core::future::future::Future<Output=u32>"
	  " + core::marker::Send), alloc::alloc::Global>>",
	  "dyn core::future::future::Future<Output = u32> + core::marker::Send" },
	{ "core::pin::Pin<alloc::boxed::Box<dyn core::future::future::Future+Output = u32"
	  "+core::marker::Send>>",
	  "dyn core::future::future::Future<Output = u32> + core::marker::Send" },
	{ "app::main::{closure_env#2}", "app::main::{closure#2}", true },
	{ "app::main::{{closure}}", "app::main::{closure}", true },
	{ "app::main::{closure#0}", "app::main::{closure#0}", true },
	{ "app::call<fn(u32) -> u32>", "app::call<fn(u32) -> u32>" },
	{ "tokio::net::addr::<impl tokio::net::ToAddrs for (&str, u16)>::get::{{closure}}",
	  "tokio::net::addr::<impl tokio::net::ToAddrs for (&str, u16)>::get" },
	{ "app::step<17_u64>::{{closure}}", "app::step<17>" },
	{ "app::step<u8,-3_i8,5_usize>::{{closure}}", "app::step<u8, -3, 5>" },
	{ "app::v2_u8<app::f_1_u8>", "app::v2_u8<app::f_1_u8>" },
	/* Broken brackets come through as they are, or shorter, but never crash. */
	{ "app::f<", "app::f<" },
	{ "app::{closure#", "app::{closure#" },
	{ ">>>", ">>>" },
	{ "", "" },
};

static void test_types(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		char *got =
			readable_type(types[i].type, strlen(types[i].type), types[i].is_closure);

		check_str(got, types[i].readable);
		free(got);
	}
}

/* What Tokio wraps around a closure, it takes off itself; of an async fn, too. */
static void test_tokio_types(void)
{
	static const struct {
		const char *type, *readable;
	} cases[] = {
		{ "tokio::runtime::blocking::task::BlockingTask<app::main::{closure_env#2}>",
		  "app::main::{closure#2}" },
		{ "tokio::runtime::blocking::task::BlockingTask<app::main::{{closure}}>",
		  "app::main::{closure}" },
		{ "tokio::runtime::blocking::task::BlockingTask<alloc::boxed::Box<app::f<u8, u16>::"
		  "{closure_env#0}, alloc::alloc::Global>>",
		  "app::f<u8, u16>::{closure#0}" },
		{ "tokio::runtime::blocking::task::BlockingTask<app::f",
		  "tokio::runtime::blocking::task::BlockingTask<app::f" },
		{ "app::main::{{closure}}", "app::main" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *got = tokio_readable_type(cases[i].type, strlen(cases[i].type));

		check_str(got, cases[i].readable);
		free(got);
	}
}

/* Every prefix of every name, so that no bracket is where it should be. */
static void test_prefixes(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		for (size_t len = 0; len < strlen(types[i].type); len++) {
			char *part =
				xstrndup(types[i].type, len); /* so that valgrind sees its end */
			struct span args[2];

			free(readable_type(part, len, false));
			type_args(part, len, args, 2);
			free(part);
		}
}

static void test_args(void)
{
	const char *name = "poll<app::f<u8, (u16, u32)>, alloc::sync::Arc<S>>";
	struct span args[2];

	check_num(type_args(name, strlen(name), args, 2), 2);
	check_num(strncmp(args[0].s, "app::f<u8, (u16, u32)>", args[0].len), 0);
	check_num(args[0].len, strlen("app::f<u8, (u16, u32)>"));
	check_num(args[1].len, strlen("alloc::sync::Arc<S>"));
	check_num(type_args("poll", 4, args, 2), 0);
	check_num(type_args("poll<a, b, c>", 13, args, 2), 3);
	check_num(type_args("poll<a", 6, args, 2), 0);
}

static void test_symbols(void)
{
	char *text = demangle("_ZN5tokio7runtime4task3raw4poll17h00c26deae30d7e70E");

	check_str(text, "tokio::runtime::task::raw::poll");
	free(text);
	text = demangle("_ZN3app4main28_$u7b$$u7b$closure$u7d$$u7d$17h6883912b882a8d30E.llvm.77");
	check_str(text, "app::main::{{closure}}");
	free(text);
	text = demangle(
		"_ZN4core3ptr67drop_in_place$LT$app..call$LT$fn$LP$u8$RP$$u20$.$GT$$u20$u8$GT$$GT$"
		"17h6883912b882a8d30E");
	check_str(text, "core::ptr::drop_in_place<app::call<fn(u8) -> u8>>");
	free(text);
	check_num(demangle("main") == NULL, 1);
	check_num(demangle("_ZN3foo") == NULL, 1);
}

/* Where debug info only counts impl blocks, symbols name them. */
static const struct {
	const char *path, *linkage, *named;
} impls[] = {
	{ "app::net::{impl#0}::run::{async_fn#0}::{async_block_env#1}",
	  "_ZN3app3net4Conn3run28_$u7b$$u7b$closure$u7d$$u7d$17h6883912b882a8d30E",
	  "app::net::Conn::run::{async_fn#0}::{async_block_env#1}" },
	{ "app::net::{impl#0}::run::{async_fn_env#0}", "main",
	  "app::net::{impl#0}::run::{async_fn_env#0}" },
	{ "app::{impl#0}::get::{async_fn_env#0}<u32>",
	  "_ZN3app13Pool$LT$T$GT$3get28_$u7b$$u7b$closure$u7d$$u7d$17h6883912b882a8d30E",
	  "app::Pool<u32>::get::{async_fn_env#0}" },
	{ "app::{impl#0}::map::{async_fn_env#0}<app::A<u8>, u16>",
	  "_ZN3app13Pool$LT$T$GT$3map28_$u7b$$u7b$closure$u7d$$u7d$17h6883912b882a8d30E",
	  "app::Pool<app::A<u8>>::map::{async_fn_env#0}<u16>" },
	/* a parameter that stands more than once */
	{ "app::{impl#0}::get::{async_fn_env#0}<u32>",
	  "_ZN3app17Pair$LT$T$C$T$GT$3get28_$u7b$$u7b$closure$u7d$$u7d$17h6883912b882a8d30E",
	  "app::Pair<u32,u32>::get::{async_fn_env#0}" },
	{ "app::{impl#0}::get::{async_fn_env#0}<app::A<u8>, u16>",
	  "_ZN3app13Pool$LT$T$GT$12get$LT$T$GT$28_$u7b$$u7b$closure$u7d$$u7d$17h6883912b882a8d30E",
	  "app::Pool<app::A<u8>>::get<app::A<u8>>::{async_fn_env#0}<u16>" },
	{ "app::{impl#0}::get::{async_fn_env#0}<u32>",
	  "_ZN71_$LT$app..Pool$LT$T$GT$$u20$as$u20$app..Get$LT$T$C$Map$LT$T$GT$$G"
	  "T$$GT$3get28_$u7b$$u7b$closure$u7d$$u7d$17h6883912b882a8d30E",
	  "<app::Pool<u32> as app::Get<u32,Map<u32>>>::get::{async_fn_env#0}" },
	/* an argument with a closure of its own, and a parameter inside of a slice */
	{ "app::{impl#0}::get::{async_fn_env#0}<b::g::{closure_env#0}>",
	  "_ZN3app13Pool$LT$T$GT$3get28_$u7b$$u7b$closure$u7d$$u7d$17h6883912b882a8d30E",
	  "app::Pool<b::g::{closure_env#0}>::get::{async_fn_env#0}" },
	{ "app::{impl#0}::get::{async_fn_env#0}<u32>",
	  "_ZN3app23Pool$LT$$u5b$T$u5d$$GT$3get28_$u7b$$u7b$closure$u7d$$u7d$17h6883912b882a8d30E",
	  "app::Pool<[u32]>::get::{async_fn_env#0}" },
	/* which of two is which does not show */
	{ "app::{impl#0}::get::{async_fn_env#0}<u32, u8>",
	  "_ZN3app17Both$LT$B$C$A$GT$3get28_$u7b$$u7b$closure$u7d$$u7d$17h6883912b882a8d30E",
	  "app::Both<B,A>::get::{async_fn_env#0}<u32, u8>" },
	{ "app::{impl#0}::map::{async_fn_env#0}<u8, u16>",
	  "_RNCINvMs_NtNtCsifuVyrumdbX_5types3net3tcpINtB7_4PoolhE3maptE0Bb_",
	  "<types::net::tcp::Pool<u8>>::map::<u16>::{async_fn_env#0}" },
};

static void test_impls(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(impls); i++) {
		char *text = name_impl(impls[i].path, impls[i].linkage);

		check_str(text, impls[i].named);
		free(text);
	}
}

int main(void)
{
	test_types();
	test_tokio_types();
	test_prefixes();
	test_args();
	test_symbols();
	test_impls();
	return check_result();
}
