// SPDX-License-Identifier: MIT OR Apache-2.0
/* What futures of libraries wait for that belong to no runtime: Rust's own, futures-rs, flume. */
#include "future/leaf.h"

/* The highest bit of the state is that it is open; the others count messages. */
static const char *const open_words[] = { "closed", NULL };

/*
 * A channel of futures-rs, from one of its ends. Its capacity is what it was made with: each sender
 * has room for one message more.
 */
#define OF_CHANNEL(name, end, way)                                                          \
	{                                                                                   \
		.type = name, .kind = LEAF_KIND_MPSC,                                       \
		.fields = { { "addr", end ".*", LEAF_ADDRESS },                             \
			    { "senders", end ".*.num_senders", LEAF_NUMBER },               \
			    { "capacity", end ".*.buffer", LEAF_NUMBER },                   \
			    { "messages", end ".*.state", LEAF_NUMBER, .mask = INT64_MAX }, \
			    { "state", end ".*.state", LEAF_WORD, .shift = 63,              \
			      .words = open_words, .nr_words = ARRAY_SIZE(open_words) },    \
			    { "direction", "", LEAF_TEXT, .text = way } },                  \
	}

/* A sink that is polled is not seen to be one, so it is known by the future that polls it. */
#define SEND(future) "futures_util::sink::" future "futures_channel::mpsc::Sender<"

static const char *const flags_complete[] = { NULL, "complete" };

static const char *const flags_closed[] = { NULL, "closed" };

/* A channel of flume, from one of its ends. */
#define FLUME(end)                                                                              \
	{ "addr", end ".*", LEAF_ADDRESS }, { "senders", end ".*.sender_count", LEAF_NUMBER },  \
		{ "receivers", end ".*.receiver_count", LEAF_NUMBER },                          \
		{ "capacity", end ".*.chan.sending.__0.__0", LEAF_NUMBER },                     \
		{ "messages", end ".*.chan.queue.len", LEAF_NUMBER },                           \
	{                                                                                       \
		"state", end ".*.disconnected", LEAF_WORD, .words = flags_closed,               \
							   .nr_words = ARRAY_SIZE(flags_closed) \
	}

/* A future of it has its end, or borrows it. */
#define OF_FLUME(name, end, way)                                           \
	{                                                                  \
		.type = name, .kind = LEAF_KIND_MPSC,                      \
		.fields = { FLUME(end ".shared"),                          \
			    FLUME(end ".*.shared"),                        \
			    { "direction", "", LEAF_TEXT, .text = way } }, \
	}

#define OF_MUTEX(name)                                                           \
	{                                                                        \
		.type = name, .kind = LEAF_KIND_MUTEX,                           \
		.fields = { { "addr", "mutex.*", LEAF_ADDRESS },                 \
			    { "waiters", "mutex.*.waiters.len", LEAF_NUMBER } }, \
	}

static const struct leaf_rule leaves[] = {
	OF_CHANNEL("futures_channel::mpsc::Receiver<", "inner", "recv"),
	OF_CHANNEL("futures_channel::mpsc::UnboundedReceiver<", "inner", "recv"),
	OF_CHANNEL(SEND("send::Send<"), "sink.*.inner", "send"),
	OF_CHANNEL(SEND("feed::Feed<"), "sink.*.inner", "send"),
	{
		.type = "futures_channel::oneshot::Receiver<",
		.kind = LEAF_KIND_ONESHOT,
		.fields = { { "addr", "inner.*", LEAF_ADDRESS },
			    { "state", "inner.*.complete", LEAF_WORD, .words = flags_complete,
			      .nr_words = ARRAY_SIZE(flags_complete) } },
	},
	OF_MUTEX("futures_util::lock::mutex::MutexLockFuture<"),
	OF_MUTEX("futures_util::lock::mutex::OwnedMutexLockFuture<"),
	OF_FLUME("flume::async::RecvFut<", "receiver", "recv"),
	OF_FLUME("flume::async::SendFut<", "sender", "send"),
};

/* By what leaves call the lock. */
static const struct guard_rule guards[] = {
	{ "futures_util::lock::mutex::MutexGuard<", "mutex.*" },
	{ "futures_util::lock::mutex::OwnedMutexGuard<", "mutex.*" },
	{ "futures_util::lock::mutex::MappedMutexGuard<", "mutex.*" },
};

static const struct list_rule lists[] = {
	{
		.type = "alloc::vec::Vec<",
		.first = "buf.inner.ptr.pointer",
		.count = "len",
		.param = "T",
	},
	{
		.type = "futures_util::stream::futures_unordered::FuturesUnordered<",
		.heads = { "head_all" },
		.next = "next_all",
		.value = "future",
	},
};

static const struct shared_rule shared[] = {
	{ "alloc::sync::Arc<futures_util::future::future::shared::Inner<", "notifier.*.state" },
};

static const char *const ready[] = {
	"futures_util::stream::iter::Iter<",
	"futures_util::stream::empty::Empty<",
	NULL,
};

#define STREAM(name)	 "futures_util::stream::stream::" name "<"
#define TRY_STREAM(name) "futures_util::stream::try_stream::" name "<"

static const char *const fed[] = {
	STREAM("chunks::Chunks"),
	STREAM("enumerate::Enumerate"),
	STREAM("filter::Filter"),
	STREAM("filter_map::FilterMap"),
	STREAM("fuse::Fuse"),
	STREAM("map::Map"),
	STREAM("peek::Peekable"),
	STREAM("skip::Skip"),
	STREAM("skip_while::SkipWhile"),
	STREAM("take::Take"),
	STREAM("take_while::TakeWhile"),
	STREAM("then::Then"),
	TRY_STREAM("MapErr"),
	TRY_STREAM("MapOk"),
	TRY_STREAM("and_then::AndThen"),
	TRY_STREAM("into_stream::IntoStream"),
	NULL,
};

static const char *const passing[] = {
	"futures_util::future::future::fuse::Fuse<",
	"futures_util::future::future::shared::Shared<",
	"tokio_stream::stream_ext::fuse::Fuse<",
	NULL,
};

static const char *const never[] = {
	"core::future::pending::Pending<",
	"futures_util::future::pending::Pending<",
	"futures_util::stream::pending::Pending<",
	NULL,
};

const struct leaf_rules library_leaves = {
	.leaves = leaves,
	.nr_leaves = ARRAY_SIZE(leaves),
	.guards = guards,
	.nr_guards = ARRAY_SIZE(guards),
	.shared = shared,
	.nr_shared = ARRAY_SIZE(shared),
	.ready = ready,
	.fed = fed,
	.passing = passing,
	.never = never,
	.lists = lists,
	.nr_lists = ARRAY_SIZE(lists),
};
