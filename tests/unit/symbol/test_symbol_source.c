// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that the program's own source is told from a runtime's and from that of fetched crates. */
#include "runtime/source.h"

#include "check.h"

static const struct {
	const char *file;
	enum source_owner owner;
} cases[] = {
	{ "/u/app/src/main.rs", SOURCE_OF_PROGRAM },
	{ "src/main.rs", SOURCE_OF_PROGRAM },
	{ "/u/app-1.2/src/main.rs", SOURCE_OF_PROGRAM },
	{ "/u/my-tokio/src/main.rs", SOURCE_OF_PROGRAM },
	{ "/u/tokio-app/src/main.rs", SOURCE_OF_PROGRAM },
	{ "/u/tokio-101/src/main.rs", SOURCE_OF_PROGRAM },
	{ "/u/smol-2024-talk/src/main.rs", SOURCE_OF_PROGRAM },
	{ "/u/tokio-1.40-upgrade/app/src/main.rs", SOURCE_OF_PROGRAM },
	{ "/u/tokio-1.40/app/src/main.rs", SOURCE_OF_PROGRAM },
	{ "/u/tokio-1.40.x/app/src/main.rs", SOURCE_OF_PROGRAM },
	{ "/u/tokio-1.40.0_new/app/src/main.rs", SOURCE_OF_PROGRAM },
	{ "/u/app-1.2.3/src/main.rs", SOURCE_OF_PROGRAM },
	{ "app-2/src/main.rs", SOURCE_OF_PROGRAM },
	{ "app-1.40-upgrade/src/main.rs", SOURCE_OF_PROGRAM },
	{ "/u/blocking.rs", SOURCE_OF_PROGRAM },
	{ "/u/smol/src/main.rs", SOURCE_OF_PROGRAM },
	{ "/u/tokio/src/main.rs", SOURCE_OF_PROGRAM },
	{ "/u/app/blocking/src/pool.rs", SOURCE_OF_PROGRAM },
	{ "/rustc/0123456789abcdef/library/std/src/thread/local.rs", SOURCE_OF_RUNTIME },
	{ "/u/.rustup/toolchains/x/lib/rustlib/src/rust/library/core/src/ops/function.rs",
	  SOURCE_OF_RUNTIME },
	{ "/u/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/tokio-1.54.1/src/task/spawn.rs",
	  SOURCE_OF_RUNTIME },
	{ "/u/tokio/tokio/src/task/spawn.rs", SOURCE_OF_RUNTIME },
	{ "tokio-1.54.1/src/task/spawn.rs", SOURCE_OF_RUNTIME },
	{ "/x/registry/src/y/async-std-1.13.2/src/task/builder.rs", SOURCE_OF_RUNTIME },
	{ "/x/registry/src/y/smol-2.0.2/src/spawn.rs", SOURCE_OF_RUNTIME },
	{ "/x/registry/src/y/tokio-util-0.7.1/src/task/join_map.rs", SOURCE_OF_LIBRARY },
	{ "/u/.cargo/registry/src/z/hyper-util-0.1.10/src/rt/tokio.rs", SOURCE_OF_LIBRARY },
	{ "/u/.cargo/git/checkouts/axum-0123/abc/axum/src/serve.rs", SOURCE_OF_LIBRARY },
	{ "/u/.cargo/git/checkouts/async-task-0123456789abcdef/0f1e2d3/src/raw.rs",
	  SOURCE_OF_RUNTIME },
	{ "/u/.cargo/git/checkouts/tokio-f123456789abcdef/0f1e2d3/tokio/src/sync/mpsc/chan.rs",
	  SOURCE_OF_RUNTIME },
	{ "/u/app/vendor/smol/src/spawn.rs", SOURCE_OF_RUNTIME },
	{ "/u/app/vendor/hyper/src/lib.rs", SOURCE_OF_LIBRARY },
	{ "hyper-1.5.0/src/lib.rs", SOURCE_OF_LIBRARY },
	{ "tokio-util-0.7.20/src/task/task_tracker.rs", SOURCE_OF_LIBRARY },
	{ "http2-0.7.0-rc.1/src/lib.rs", SOURCE_OF_LIBRARY },
	{ "/u/tokio-1.0.0-alpha.2/src/task/spawn.rs", SOURCE_OF_RUNTIME },
	{ "/u/tokio-1.54.1+abc/src/task/spawn.rs", SOURCE_OF_RUNTIME },
	{ "/usr/share/cargo/registry/hyper-1.5.0/src/lib.rs", SOURCE_OF_LIBRARY },
	{ "", SOURCE_OF_PROGRAM },
};

#define TOKIO	    "/u/.cargo/registry/src/z/tokio-1.54.1/src/"
#define UNMERGED    1
#define EVEN_MERGED 2

static const struct {
	const char *file, *function, *linkage;
	int how;
} locals[] = {
	{ TOKIO "runtime/scheduler/current_thread/mod.rs", "spawn_local<app::{async_fn_env#0}>",
	  NULL, UNMERGED | EVEN_MERGED },
	{ TOKIO "runtime/scheduler/current_thread/mod.rs", "spawn<app::{async_fn_env#0}>", NULL,
	  0 },
	{ "/u/app/src/task/local.rs", "spawn_local<app::{async_fn_env#0}>", NULL, 0 },
	{ NULL, NULL, "_ZN5tokio4task5local11spawn_local17h0123456789abcdefE",
	  UNMERGED | EVEN_MERGED },
	{ NULL, NULL, "_ZN5truth11spawn_local17h0123456789abcdefE", 0 },
	{ NULL, NULL, "_ZN14async_executor13LocalExecutor5spawn17h0123456789abcdefE", UNMERGED },
	{ NULL, NULL, "_RINvMs3_Cs4fqI2P2rA04_14async_executorNtB6_13LocalExecutor5spawnuE",
	  UNMERGED },
	{ NULL, NULL, "_ZN14async_executor8Executor5spawn17h0123456789abcdefE", 0 },
	{ NULL, NULL, NULL, 0 },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (source_owner(cases[i].file) != cases[i].owner)
			printf("%s:\n", cases[i].file);
		check_num(source_owner(cases[i].file), cases[i].owner);
	}
	for (size_t i = 0; i < sizeof(locals) / sizeof(locals[0]); i++)
		for (int merged = 0; merged <= 1; merged++) {
			struct source_function f = { locals[i].file, locals[i].function,
						     locals[i].linkage, merged };

			check_num(source_spawns_local(&f), locals[i].how >> merged & 1);
		}
	return check_result();
}
