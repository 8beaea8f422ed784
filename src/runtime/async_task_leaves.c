// SPDX-License-Identifier: MIT OR Apache-2.0
/* What futures of async-std and smol wait for: they share async-task, async-io and async-lock. */
#include "runtime/async_task.h"
#include "runtime/leaf_rules.h"

static const char *const directions[] = { "read", "write" };

/* How many a channel takes: of one only it is made otherwise. */
#define CAPACITY(end)                                                               \
	{ "capacity", end ".*.channel.*.queue.buffer.length", LEAF_NUMBER },        \
	{                                                                           \
		"capacity", end ".*.channel.*.queue.slot", LEAF_CONSTANT, .mask = 1 \
	}

/* Two wakers, one for each direction. */
#define ASYNC(of, what)                                                               \
	{                                                                             \
		.type = "async_io::Async<" of, .kind = what,                          \
		.fields = { { "fd", "source.*.registration.raw", LEAF_FD },           \
			    { "direction", "source.*.state.0.waker.data", LEAF_WAKER, \
			      .text = "read" },                                       \
			    { "direction", "source.*.state.1.waker.data", LEAF_WAKER, \
			      .text = "write" } },                                    \
	}

/* A stream of async-net keeps what it waits for. */
#define STREAM(name)                                                                          \
	{                                                                                     \
		.type = name, .kind = LEAF_KIND_SOCKET,                                       \
		.fields = { { "fd", "inner.*.source.*.registration.raw", LEAF_FD },           \
			    { "direction", "readable.handle", LEAF_TEXT, .text = "read" },    \
			    { "direction", "writable.handle", LEAF_TEXT, .text = "write" } }, \
	}

/* Half of a stream of async-net, by futures-lite's split(): its Mutex has an `inner`, too. */
#define HALF(name, way)                                                                    \
	{                                                                                  \
		.type = name, .kind = LEAF_KIND_SOCKET,                                    \
		.fields = { { "fd", "*.data.inner.*.source.*.registration.raw", LEAF_FD }, \
			    { "direction", "", LEAF_TEXT, .text = way } },                 \
	}

static const struct leaf_rule leaves[] = {
	{
		.type = "async_io::Timer",
		.kind = LEAF_KIND_SLEEP,
		.fields = { { "remaining_ns", "when", LEAF_INSTANT } },
	},
	{
		.type = "async_task::task::Task<",
		.kind = LEAF_KIND_JOIN,
		.fields = { { "task", "ptr", LEAF_TASK } },
	},
	{
		.type = "async_channel::Recv<",
		.kind = LEAF_KIND_MPSC,
		.fields = { { "addr", "receiver.*.channel.*", LEAF_ADDRESS },
			    { "senders", "receiver.*.channel.*.sender_count", LEAF_NUMBER },
			    CAPACITY("receiver"),
			    { "direction", "", LEAF_TEXT, .text = "recv" } },
	},
	{
		.type = "async_channel::Send<",
		.kind = LEAF_KIND_MPSC,
		.fields = { { "addr", "sender.*.channel.*", LEAF_ADDRESS },
			    { "senders", "sender.*.channel.*.sender_count", LEAF_NUMBER },
			    CAPACITY("sender"),
			    { "direction", "", LEAF_TEXT, .text = "send" } },
	},
	{
		.type = "async_lock::mutex::Lock<",
		.kind = LEAF_KIND_MUTEX,
		.fields = { { "addr", "mutex.*", LEAF_ADDRESS } },
	},
	{
		.type = "async_lock::mutex::LockArc<",
		.kind = LEAF_KIND_MUTEX,
		.fields = { { "addr", "mutex.*", LEAF_ADDRESS } },
	},
	{
		.type = "async_lock::rwlock::futures::Read<",
		.kind = LEAF_KIND_RWLOCK,
		.fields = { { "addr", "lock.*", LEAF_ADDRESS },
			    { "direction", "", LEAF_TEXT, .text = "read" } },
	},
	{
		.type = "async_lock::rwlock::futures::UpgradableRead<",
		.kind = LEAF_KIND_RWLOCK,
		.fields = { { "addr", "lock.*", LEAF_ADDRESS },
			    { "direction", "", LEAF_TEXT, .text = "read" } },
	},
	{
		.type = "async_lock::rwlock::futures::Write<",
		.kind = LEAF_KIND_RWLOCK,
		.fields = { { "addr", "lock.*", LEAF_ADDRESS },
			    { "direction", "", LEAF_TEXT, .text = "write" } },
	},
	{
		.type = "async_lock::semaphore::Acquire",
		.kind = LEAF_KIND_SEMAPHORE,
		.fields = { { "addr", "semaphore.*", LEAF_ADDRESS },
			    { "permits_free", "semaphore.*.count", LEAF_NUMBER } },
	},
	{
		.type = "async_lock::barrier::BarrierWait",
		.kind = LEAF_KIND_BARRIER,
		.fields = { { "addr", "barrier.*", LEAF_ADDRESS } },
	},
	{
		.type = "async_std::sync::condvar::AwaitNotify<",
		.kind = LEAF_KIND_CONDVAR,
		.fields = { { "addr", "cond.*", LEAF_ADDRESS },
			    { "waiters", "cond.*.wakers.entries.len", LEAF_NUMBER } },
	},
	/* event-listener 2 and 5 */
	{
		.type = "event_listener::EventListener",
		.kind = LEAF_KIND_NOTIFY,
		.fields = { { "addr", "inner.*", LEAF_ADDRESS } },
	},
	{
		.type = "event_listener::EventListener<",
		.kind = LEAF_KIND_NOTIFY,
		.fields = { { "addr", "listener.*.event.*", LEAF_ADDRESS } },
	},
	{
		.type = "async_io::reactor::Ready<",
		.kind = LEAF_KIND_SOCKET,
		.fields = { { "fd", "handle.*.source.*.registration.raw", LEAF_FD },
			    { "direction", "dir", LEAF_WORD, .words = directions,
			      .nr_words = ARRAY_SIZE(directions) } },
	},
	ASYNC("std::process::ChildStdin>", LEAF_KIND_PIPE),
	ASYNC("std::process::ChildStdout>", LEAF_KIND_PIPE),
	ASYNC("std::process::ChildStderr>", LEAF_KIND_PIPE),
	ASYNC("", LEAF_KIND_SOCKET),
	STREAM("async_net::tcp::TcpStream"),
	STREAM("async_net::unix::UnixStream"),
	HALF("futures_lite::io::ReadHalf<async_net::tcp::TcpStream>", "read"),
	HALF("futures_lite::io::WriteHalf<async_net::tcp::TcpStream>", "write"),
	HALF("futures_lite::io::ReadHalf<async_net::unix::UnixStream>", "read"),
	HALF("futures_lite::io::WriteHalf<async_net::unix::UnixStream>", "write"),
	{
		.type = "async_process::reaper::wait::{impl#0}::status::{async_fn_env#0}",
		.kind = LEAF_KIND_PROCESS,
		.fields = { { "pid", "child.*.child.handle.pid", LEAF_NUMBER },
			    { "pid", "child.*.inner.handle.pid", LEAF_NUMBER } },
	},
};

/* By what leaves call the lock. */
static const struct guard_rule guards[] = {
	{ "async_lock::mutex::MutexGuard<", "*" },
	{ "async_lock::mutex::MutexGuardArc<", "*" },
	{ "async_lock::rwlock::RwLockReadGuard<", "lock.*" },
	{ "async_lock::rwlock::RwLockUpgradableReadGuard<", "lock.*" },
	{ "async_lock::rwlock::RwLockWriteGuard<", "lock.*" },
	{ "async_lock::semaphore::SemaphoreGuard", "*" },
	{ "async_lock::semaphore::SemaphoreGuardArc", "*" },
};

static const struct shared_rule shared[] = { { "alloc::sync::Arc<async_io::Async<" } };

/* An executor beside the future that it was given waits for tasks to run: that is no news. */
static const char *const ready[] = { "futures_lite::future::PollFn<async_executor::", NULL };

static const char *const never[] = { "async_std::future::pending::Pending<", NULL };

const struct leaf_rules async_task_leaves = {
	.ready = ready,
	.never = never,
	.leaves = leaves,
	.nr_leaves = ARRAY_SIZE(leaves),
	.guards = guards,
	.nr_guards = ARRAY_SIZE(guards),
	.shared = shared,
	.nr_shared = ARRAY_SIZE(shared),
	.loop_crate = "async_executor::",
	.loop = "::run::{async_fn#0}::{async_block_env#0}",
};
