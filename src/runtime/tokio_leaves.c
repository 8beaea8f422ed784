// SPDX-License-Identifier: MIT OR Apache-2.0
/* What futures of Tokio wait for. */
#include "runtime/leaf_rules.h"
#include "runtime/tokio.h"

static const struct leaf_above of_sleep[] = {
	{ .prefix = "tokio::time::timeout::Timeout<",
	  .kind = LEAF_KIND_TIMEOUT,
	  .is_parent = true },
	{ 0 },
};

/* A writer takes all permits that there can be, an odd number; a reader takes one. */
static const char *const rwlock_words[] = { "read", "write" };

/* Mutex, RwLock, channels: all of them are a semaphore that somebody waits for. */
static const struct leaf_above of_semaphore[] = {
	{ .prefix = "tokio::sync::mutex::", .kind = LEAF_KIND_MUTEX },
	{
		.prefix = "tokio::sync::rwlock::",
		.kind = LEAF_KIND_RWLOCK,
		.fields = { { "direction", "num_permits", LEAF_WORD, .shift = 1, .mask = 1,
			      .words = rwlock_words, .nr_words = ARRAY_SIZE(rwlock_words) } },
	},
	{
		.prefix = "tokio::sync::mpsc::bounded::",
		.kind = LEAF_KIND_MPSC,
		.fields = { { "addr", "^self.*.chan.inner.*", LEAF_ADDRESS },
			    { "senders", "^self.*.chan.inner.*.tx_count", LEAF_NUMBER },
			    { "capacity", "^self.*.chan.inner.*.semaphore.bound", LEAF_NUMBER },
			    { "direction", "", LEAF_TEXT, .text = "send" } },
	},
	{ 0 },
};

/* Tokio keeps a watch for each signal, in their order; a listener does not know its number. */
static const struct leaf_row signals = {
	.symbol = "5tokio6signal8registry7globals7GLOBALS",
	.type = "std::sync::once_lock::OnceLock<tokio::signal::registry::Globals>",
	.first = "registry.storage.data_ptr",
	.count = "registry.storage.length",
	.same = "event_info.tx.shared",
	.last = 64, /* SIGRTMAX of Linux */
};

static const char *const signal_names[] = {
	NULL,	     "SIGHUP",	"SIGINT",    "SIGQUIT", "SIGILL",   "SIGTRAP", "SIGABRT", "SIGBUS",
	"SIGFPE",    "SIGKILL", "SIGUSR1",   "SIGSEGV", "SIGUSR2",  "SIGPIPE", "SIGALRM", "SIGTERM",
	"SIGSTKFLT", "SIGCHLD", "SIGCONT",   "SIGSTOP", "SIGTSTP",  "SIGTTIN", "SIGTTOU", "SIGURG",
	"SIGXCPU",   "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO",   "SIGPWR",  "SIGSYS",
};

/* These have eight of them and choose one by chance: the address is that of the whole. */
static const struct leaf_above of_notify[] = {
	{
		.prefix = "tokio::signal::",
		.kind = LEAF_KIND_SIGNAL,
		.fields = { { "signal", "^rx.shared", LEAF_ROW, .row = &signals },
			    { "signal_name", "^rx.shared", LEAF_ROW, .row = &signals,
			      .words = signal_names, .nr_words = ARRAY_SIZE(signal_names) },
			    { "addr", "^rx.shared.*", LEAF_ADDRESS } },
	},
	{
		.prefix = "tokio::sync::barrier::",
		.kind = LEAF_KIND_BARRIER,
		.fields = { { "addr", "^self.*", LEAF_ADDRESS } },
	},
	{
		.prefix = "tokio::sync::watch::",
		.kind = LEAF_KIND_WATCH,
		.fields = { { "addr", "^shared.*", LEAF_ADDRESS },
			    { "addr", "^self.*.shared.*", LEAF_ADDRESS },
			    { "senders", "^shared.*.ref_count_tx", LEAF_NUMBER } },
	},
	{ 0 },
};

/* Who waits by `&self`, as accept() and readable() do: its socket is with the one who waits. */
static const struct leaf_above of_readiness[] = {
	{
		.prefix = "tokio::net::unix::pipe::",
		.kind = LEAF_KIND_PIPE,
		.fields = { { "fd", "^self.*.io.io.fd", LEAF_FD } },
	},
	{
		.prefix = "tokio::net::",
		.fields = { { "fd", "^self.*.io.io.fd", LEAF_FD } },
	},
	{
		.prefix = "tokio::io::async_fd::",
		.kind = LEAF_KIND_FILE, /* whatever the program has chosen */
		.fields = { { "fd", "^self.*.inner.fd", LEAF_FD } },
	},
	{ 0 },
};

static const char *const interests[] = { NULL, "read", "write", "read or write" };

/* A pipe inside of the process, one of the two that a DuplexStream has. */
#define PIPE(end, way)                                              \
	.fields = {                                                 \
		{ "addr", end ".*", LEAF_ADDRESS },                 \
		{ "bytes", end ".*.buffer.len", LEAF_NUMBER },      \
		{ "capacity", end ".*.max_buf_size", LEAF_NUMBER }, \
		{ "direction", "", LEAF_TEXT, .text = way },        \
	}

/* A waker may be left from a read that was given up, so who is above tells the direction first. */
static const struct leaf_above of_duplex[] = {
	{ .prefix = "tokio::io::util::read", PIPE("read", "read") },
	{ .prefix = "tokio::io::util::write", PIPE("write", "write") },
	{ 0 },
};

static const char *const closed_words[] = { NULL, "closed" };

/* What the timers' driver knows of time. */
#define OF_DRIVER(name) "driver.*.driver.time." name

/* Half of a socket, which is behind the first pointer of it. */
#define HALF(name, way)                                                      \
	{                                                                    \
		.type = name, .kind = LEAF_KIND_SOCKET,                      \
		.fields = { { "fd", "*.io.io.fd", LEAF_FD },                 \
			    { "fd", "*.registration.shared.*", LEAF_EPOLL }, \
			    { "direction", "", LEAF_TEXT, .text = way } },   \
	}

/* Who waits by `&mut self`, as read() and write() do: two wakers, one for each direction. */
#define POLL_EVENTED(of, what)                                                          \
	{                                                                               \
		.type = "tokio::io::poll_evented::PollEvented<" of, .kind = what,       \
		.fields = { { "fd", "io.fd", LEAF_FD },                                 \
			    { "fd", "registration.shared.*", LEAF_EPOLL },              \
			    { "direction", "registration.shared.*.waiters.reader.data", \
			      LEAF_WAKER, .text = "read" },                             \
			    { "direction", "registration.shared.*.waiters.writer.data", \
			      LEAF_WAKER, .text = "write" } },                          \
	}

static const struct leaf_rule leaves[] = {
	{
		.type = "tokio::time::sleep::Sleep",
		.kind = LEAF_KIND_SLEEP,
		.above = of_sleep,
		.fields = { { "clock_ns", OF_DRIVER("start_time"), LEAF_CLOCK,
			      .next = OF_DRIVER("inner.state.wheel.elapsed") },
			    { "remaining_ns", "deadline", LEAF_INSTANT } },
	},
	{
		.type = "tokio::runtime::task::join::JoinHandle<",
		.kind = LEAF_KIND_JOIN,
		.fields = { { "task", "raw.ptr", LEAF_TASK } },
	},
	{
		.type = "tokio::sync::batch_semaphore::Acquire",
		.kind = LEAF_KIND_SEMAPHORE,
		.above = of_semaphore,
		.fields = { { "addr", "semaphore.*", LEAF_ADDRESS },
			    { "permits_wanted", "num_permits", LEAF_NUMBER },
			    { "permits_missing", "node.state", LEAF_NUMBER },
			    { "permits_free", "semaphore.*.permits", LEAF_NUMBER, .shift = 1 },
			    { "queue_place", "semaphore.*.waiters.queue.tail", LEAF_QUEUE,
			      .next = "pointers.prev", .own = "node" } },
	},
	{
		.type = "tokio::sync::mpsc::chan::Rx<",
		.kind = LEAF_KIND_MPSC,
		.fields = { { "addr", "inner.*", LEAF_ADDRESS },
			    { "senders", "inner.*.tx_count", LEAF_NUMBER },
			    { "capacity", "inner.*.semaphore.bound", LEAF_NUMBER },
			    { "direction", "", LEAF_TEXT, .text = "recv" } },
	},
	{
		.type = "tokio::sync::oneshot::Receiver<",
		.kind = LEAF_KIND_ONESHOT,
		.fields = { { "addr", "inner.*", LEAF_ADDRESS } },
	},
	{
		.type = "tokio::sync::broadcast::Recv<",
		.kind = LEAF_KIND_BROADCAST,
		.fields = { { "addr", "receiver.*.shared.*", LEAF_ADDRESS },
			    { "senders", "receiver.*.shared.*.num_tx", LEAF_NUMBER },
			    { "capacity", "receiver.*.shared.*.buffer.length", LEAF_NUMBER } },
	},
	{
		.type = "tokio::sync::notify::Notified",
		.kind = LEAF_KIND_NOTIFY,
		.above = of_notify,
		.fields = { { "addr", "notify.*", LEAF_ADDRESS } },
	},
	{
		.type = "tokio::sync::notify::OwnedNotified",
		.kind = LEAF_KIND_NOTIFY,
		.fields = { { "addr", "notify.*", LEAF_ADDRESS } },
	},
	{
		.type = "tokio::runtime::io::scheduled_io::Readiness",
		.kind = LEAF_KIND_SOCKET,
		.above = of_readiness,
		.fields = { { "fd", "scheduled_io.*", LEAF_EPOLL },
			    { "direction", "waiter.interest", LEAF_WORD, .mask = 3,
			      .words = interests, .nr_words = ARRAY_SIZE(interests) } },
	},
	POLL_EVENTED("mio::sys::unix::pipe::Receiver>", LEAF_KIND_PIPE),
	POLL_EVENTED("mio::sys::unix::pipe::Sender>", LEAF_KIND_PIPE),
	POLL_EVENTED("tokio::process::imp::Pipe>", LEAF_KIND_PIPE),
	POLL_EVENTED("", LEAF_KIND_SOCKET),
	{
		.type = "tokio::runtime::io::registration::Registration",
		.kind = LEAF_KIND_SOCKET,
		.fields = { { "fd", "shared.*", LEAF_EPOLL } },
	},
	HALF("tokio::net::tcp::split::ReadHalf", "read"),
	HALF("tokio::net::tcp::split::WriteHalf", "write"),
	HALF("tokio::net::unix::split::ReadHalf", "read"),
	HALF("tokio::net::unix::split::WriteHalf", "write"),
	HALF("tokio::io::split::ReadHalf<tokio::net::tcp::stream::TcpStream>", "read"),
	HALF("tokio::io::split::WriteHalf<tokio::net::tcp::stream::TcpStream>", "write"),
	HALF("tokio::io::split::ReadHalf<tokio::net::unix::stream::UnixStream>", "read"),
	HALF("tokio::io::split::WriteHalf<tokio::net::unix::stream::UnixStream>", "write"),
	{
		.type = "tokio::io::util::mem::DuplexStream",
		.kind = LEAF_KIND_DUPLEX,
		.above = of_duplex,
		.fields = { { "capacity", "read.*.max_buf_size", LEAF_NUMBER },
			    { "state", "read.*.is_closed", LEAF_WORD, .words = closed_words,
			      .nr_words = ARRAY_SIZE(closed_words) },
			    { "direction", "read.*.read_waker.data", LEAF_WAKER, .text = "read" },
			    { "direction", "write.*.write_waker.data", LEAF_WAKER,
			      .text = "write" } },
	},
	{
		.type = "tokio::process::imp::pidfd_reaper::PidfdReaper<",
		.kind = LEAF_KIND_PROCESS,
		.fields = { { "pid", "inner.inner.handle.pid", LEAF_NUMBER } },
	},
	{
		.type = "tokio::process::imp::reap::Reaper<",
		.kind = LEAF_KIND_PROCESS,
		.fields = { { "pid", "inner.handle.pid", LEAF_NUMBER } },
	},
};

static const struct list_rule lists[] = {
	{
		.type = "tokio::task::join_set::JoinSet<",
		.heads = { "inner.lists.*.notified.head", "inner.lists.*.idle.head" },
		.next = "pointers.next",
		.value = "value",
	},
};

/* Where the semaphore is by which Acquire knows the lock. */
static const struct guard_rule guards[] = {
	{ "tokio::sync::mutex::MutexGuard<", "lock.*.s" },
	{ "tokio::sync::mutex::OwnedMutexGuard<", "lock.*.s" },
	{ "tokio::sync::mutex::MappedMutexGuard<", "s.*" },
	{ "tokio::sync::mutex::OwnedMappedMutexGuard<", "lock.*.s" },
	{ "tokio::sync::rwlock::read_guard::RwLockReadGuard<", "s.*" },
	{ "tokio::sync::rwlock::write_guard::RwLockWriteGuard<", "s.*" },
	{ "tokio::sync::rwlock::write_guard_mapped::RwLockMappedWriteGuard<", "s.*" },
	{ "tokio::sync::rwlock::owned_read_guard::OwnedRwLockReadGuard<", "lock.*.s" },
	{ "tokio::sync::rwlock::owned_write_guard::OwnedRwLockWriteGuard<", "lock.*.s" },
	{ "tokio::sync::semaphore::SemaphorePermit", "sem.*.ll_sem" },
	{ "tokio::sync::semaphore::OwnedSemaphorePermit", "sem.*.ll_sem" },
};

static const struct shared_rule shared[] = { { "alloc::sync::Arc<tokio::net::" } };

const struct leaf_rules tokio_leaves = {
	.leaves = leaves,
	.nr_leaves = ARRAY_SIZE(leaves),
	.lists = lists,
	.nr_lists = ARRAY_SIZE(lists),
	.guards = guards,
	.nr_guards = ARRAY_SIZE(guards),
	.shared = shared,
	.nr_shared = ARRAY_SIZE(shared),
};
