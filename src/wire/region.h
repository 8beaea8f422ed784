// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * The shared memory between futrace and the processes it traces.
 *
 * One memfd, made by the tool, found by the agent through $FUTRACE_CTL (a /proc/PID/fd/N path, so
 * it is gone when the tool is):
 *
 *	lobby		one page: versions, who is the target, the doorbell, one door per process
 *	region 0..n	one per traced process, at lobby.region_off + i * lobby.region_size:
 *			header, objects (the dialogue), tables, recipes and strings (the plan),
 *			stacks, paths, texts, open runs, threads, rings
 *
 * Everything is sparse: an untouched page takes no memory. The tool fills in all sizes
 * before the first process starts; they do not change.
 *
 * Writers: *agent*: door.pid (by compare-and-swap), region.state up to WIRE_REGION_LIVE,
 * objects when EMPTY, stacks, paths, texts, threads except tail. *tool*: everything in the lobby
 * but doors and doorbell, an object when ANNOUNCED, all tables, recipes and strings, thread.tail,
 *and recycling a slot or door whose owner is gone.
 *
 * Dialogue: the agent fills objects[i], stores state = ANNOUNCED (release), rings the doorbell
 * and waits for ANSWERED. The tool then has filled in first_table and nr_tables. The agent checks
 * each table word by word, hooks those that agree, and stores DONE with the counts. It does not
 * wait when the tool is gone, and less than a second when the tool is stuck.
 */
#ifndef WIRE_REGION_H
#define WIRE_REGION_H

#include <stddef.h>
#include <stdint.h>

#include "wire/event.h"
#include "wire/run.h"

#define WIRE_MAGIC	   UINT64_C(0x4543415254554631) /* "1FUTRACE" */
#define WIRE_VERSION	   1
#define WIRE_ENV	   "FUTRACE_CTL"

#define WIRE_MAX_DOORS	   64
#define WIRE_MAX_OBJECTS   1024
#define WIRE_MAX_TABLES	   16384
#define WIRE_MAX_THREADS   4096 /* a power of two */
#define WIRE_SLOT_WORDS	   (WIRE_MAX_THREADS / 64)
#define WIRE_PROBE	   1024 /* slots searched from a thread's home slot on */
#define WIRE_MAX_BIG	   64	/* large rings of a process */
#define WIRE_PATH_MAX	   1024
#define WIRE_BUILD_ID	   32
#define WIRE_TABLE_WORDS   12
#define WIRE_PAGE	   4096
#define WIRE_MAX_STACKS	   16384 /* a power of two */
#define WIRE_STACK_WORDS   256	 /* a bit for each of them */
#define WIRE_MAX_FRAMES	   62
#define WIRE_MAX_REDIRECTS 16
#define WIRE_MAX_NODES	   32768
#define WIRE_MAX_EDGES	   131072
#define WIRE_MAX_DYNS	   8192	 /* a power of two */
#define WIRE_MAX_PATHS	   16384 /* a power of two; number 0 is none */
#define WIRE_PATH_WORDS	   256	 /* a bit for each of them */
#define WIRE_MAX_CHOICES   64	 /* of a path: what lies deeper is left out */
#define WIRE_MOVED_BYTES   16
#define WIRE_MAX_FUTURES   4096
#define WIRE_STRING_BYTES  (4 << 20)
#define WIRE_STRING_MAX	   1024 /* bytes of one, with its NUL */
#define WIRE_MAX_TEXTS	   4096 /* a power of two; number 0 is none */
#define WIRE_TEXT_WORDS	   64	/* a bit for each of them */
#define WIRE_TEXT_BYTES	   112	/* what is longer is cut */
#define WIRE_MAX_FRAMED	   256
#define WIRE_ALL_RUNS	   (WIRE_RUNS_BYTES * (WIRE_MAX_THREADS + 1))

#define WIRE_TOOL_GONE	   0x40000000 /* FUTEX_OWNER_DIED */
#define WIRE_BEAT_NS	   200000000

enum wire_clock { WIRE_CLOCK_TSC = 1, WIRE_CLOCK_MONOTONIC = 2 };

enum wire_door_state {
	WIRE_DOOR_FREE,
	WIRE_DOOR_TAKEN, /* pid is valid; its region belongs to that process */
};

struct wire_door {
	uint32_t state;
	uint32_t pid; /* as the process itself sees it */
};

/* Shared memory that is taken as it is used. The tool sets the limit, and may lower it at any time;
 * agents add what they are about to touch, the tool subtracts what it gave back. */
struct wire_budget {
	uint64_t limit; /* bytes, 0: none */
	uint64_t used;
};

struct wire_lobby {
	uint64_t magic;
	uint32_t version;
	uint32_t layout; /* WIRE_LAYOUT of the tool's build: the agent's must be the same */
	uint32_t tool_pid;
	uint32_t target_pid; /* the only process to trace, unless follow */
	uint32_t follow;     /* children too */
	uint32_t doorbell;   /* futex: incremented and woken to get the tool's attention */
	uint64_t region_off;
	uint64_t region_size;
	uint32_t nr_doors;
	uint32_t clock;	     /* enum wire_clock */
	uint64_t base_ticks; /* ring stamps count from here */
	uint32_t wait_ms; /* how long an agent may wait for an answer while the heartbeat changes */
	uint32_t nr_turned_away; /* processes that found no free door */
	uint64_t ring_words;	 /* of a large ring, a power of two */
	uint64_t small_words;	 /* of the small ring that every slot has, a power of two */
	uint32_t nr_big;	 /* large rings of a process, for threads that need one */
	uint32_t nr_no_room;	 /* processes whose limit on address space is too small */
	uint64_t heartbeat;	 /* changes every WIRE_BEAT_NS while the tool can answer */
	uint64_t silent_beat;	 /* an agent has waited for this heartbeat to change, in vain */
	uint32_t life;		 /* a robust futex of the tool's main thread: when that ends, in
				  * whatever way, the kernel stores WIRE_TOOL_GONE */
	uint32_t life_pad;
	uint32_t spawn_stacks;	   /* walk the stack at each spawn */
	uint32_t only_probes;	   /* no event goes into a ring */
	struct wire_budget rings;  /* of all processes */
	struct wire_budget places; /* their stacks and paths, a page for each */
	struct wire_door doors[WIRE_MAX_DOORS];
};

enum wire_region_state {
	WIRE_REGION_NONE,
	WIRE_REGION_HELLO, /* the agent is there and announces */
	WIRE_REGION_LIVE,  /* hooks record */
	WIRE_REGION_STOP,  /* set by the tool: record nothing more, pass everything through */
};

enum wire_object_state {
	WIRE_OBJECT_EMPTY,
	WIRE_OBJECT_ANNOUNCED,
	WIRE_OBJECT_ANSWERED,
	WIRE_OBJECT_DONE,
};

struct wire_object {
	uint32_t state;
	uint32_t build_id_len;
	uint64_t base; /* run-time address = base + va */
	uint64_t first_table, nr_tables;
	uint32_t nr_hooked, nr_refused; /* refused: memory did not agree with the plan */
	uint32_t first_redirect, nr_redirects;
	uint32_t nr_redirected; /* of roots all or none, and of allocators */
	uint32_t first_future, nr_futures;
	uint32_t nr_futures_redirected; /* of those that have a function to redirect */
	uint32_t is_apart;		/* in a link namespace of its own: it is not hooked */
	uint32_t pad;
	uint8_t build_id[WIRE_BUILD_ID];
	char path[WIRE_PATH_MAX]; /* "" for the executable: see /proc/PID/exe */
};

enum wire_table_kind {
	WIRE_TABLE_TOKIO = 1,	     /* a task table of Tokio 1 */
	WIRE_TABLE_TOKIO_WAKER,	     /* RawWakerVTable of Tokio tasks, known by its symbol */
	WIRE_TABLE_ASYNC_TASK,	     /* TaskVTable of async-task 4 */
	WIRE_TABLE_ASYNC_TASK_WAKER, /* RawWakerVTable of its tasks: begins with their clone_waker
				      */
	WIRE_TABLE_TOKIO_TYPE_WAKER, /* the same of Tokio before 1.23: of one type of task */
	WIRE_TABLE_TOKIO_ROOT_WAKER, /* RawWakerVTable of what Tokio keeps in an Arc: its
					current_thread scheduler, which wakes the root, and others
				      */
	WIRE_TABLE_FUTURE, /* of a `dyn Future`: drop, size, align, poll; id_off is the index of the
			      future */
	WIRE_TABLE_MARKS,  /* the slot of a copy of our crate, as far as it is there before us:
			      wire/mark.h */
};

#define WIRE_NO_SLOT 0xff

enum wire_task_kind {
	WIRE_TASK_POLLED,   /* a future, or not known to be another */
	WIRE_TASK_BLOCKING, /* a closure of the pool for blocking calls */
	WIRE_TASK_WORKER,   /* the loop of a worker of the runtime's */
};

static inline int wire_is_task_table(unsigned kind)
{
	return kind == WIRE_TABLE_TOKIO || kind == WIRE_TABLE_ASYNC_TASK;
}

/*
 * The runtime's own names of a task: a number, and maybe a name, an Option<Arc<String>>. Both
 * lie in the future, at places that only debug info tells.
 */
struct wire_own_name {
	uint8_t has_number, has_name; /* what of it is known */
	uint8_t text_off, len_off;    /* behind the name's pointer */
	uint32_t box_off;    /* in the task: the pointer to its future; 0: that lies in the task */
	uint32_t number_off; /* in the task, or behind the box */
	uint32_t name_off;   /* the same of the name's pointer, which is 0 when there is none */
};

/* One static table to hook. Words are as in the file; those of code_mask are link-time addresses.
 */
struct wire_table {
	uint64_t va;
	uint64_t words[WIRE_TABLE_WORDS];
	uint16_t nr_words;
	uint16_t code_mask;
	uint16_t type; /* goes into the events; EVENT_TYPE_NONE when it has none */
	uint8_t kind;  /* enum wire_table_kind */
	/* or WIRE_NO_SLOT; slot_dealloc of a waker table: the drop of a waker */
	uint8_t slot_poll, slot_schedule, slot_dealloc, slot_shutdown;
	uint8_t slot_wake, slot_wake_by_ref;
	uint8_t slot_abort; /* of a task table without slot_schedule */
	/* in the task's header: the pointer back to this table; 0: the agent looks for it */
	uint16_t vtable_off;
	/* in the task: its 64-bit id, 0: it has none; async-task: where the header ends */
	uint32_t id_off;
	uint32_t stage_off;   /* in the task: where future or output begin (after the id) */
	uint32_t trailer_off; /* in the task: where they end */
	/* Tokio, in the task: the address of its scheduler, or, of a task that none owns, a word
	 * that is always 0 */
	uint32_t scheduler_off;
	struct wire_own_name own_name;
	/* how to follow its future down to what it waits for: an edge that leads from the task to
	 * the first node, 0: it is not known */
	uint32_t recipe;
	/* of task tables, for probes: where in wire_region.strings the names of the type and of the
	 * file are in which the future is defined; 0: not known */
	uint32_t name, file;
	uint32_t line;
	uint32_t task_kind; /* enum wire_task_kind */
	/* Tokio, in the scheduler: a word that is not 0 if all its tasks stay on their thread; 0:
	 * it is not known where */
	uint32_t local_off;
	uint8_t slot_detach; /* Tokio: where a JoinHandle goes to be dropped; 0: not known */
	uint8_t pad[7];
};

/* See docs/internals/roots.md. */
enum wire_redirect_kind {
	/* functions of Tokio that a root future passes through */
	WIRE_ROOT_BEGIN = 1, /* RngSeedGenerator::next_seed: a thread enters a runtime, or a runtime
				is built */
	WIRE_ROOT_END,	     /* a guard of a thread that entered is dropped; flag_off: not 0 if it
				may be Handle::enter's as well */
	WIRE_ROOT_PARK,	     /* park::Inner::park: the thread waits for its waker */
	WIRE_ROOT_UNPARK,    /* park::Inner::unpark */
	WIRE_ROOT_DRIVE,     /* current_thread::Context::park and park_yield */
	WIRE_RUNTIME_BUILD,  /* Builder::build: no thread enters a runtime meanwhile */
	/* parking::Inner, of async-io and futures-lite: the same. A root begins where it waits for
	 * the first time, and goes on if park returns true */
	WIRE_ROOT_PARKING,
	WIRE_ROOT_UNPARKING,
	/* polling and async-io, which make their system calls themselves: a thread waits for I/O
	 * and timers; flag_off is the number of the argument that has the timeout */
	WIRE_DRIVER_WAIT,
	/* an allocator's function for aligned memory, from which tasks come */
	WIRE_ALLOC_MALLOCX, /* (size, flags): jemalloc's */
	WIRE_ALLOC_ALIGNED, /* (size, alignment): mimalloc's */
	WIRE_FUTURE,	    /* the poll of an inner future */
};

static inline int wire_is_parking(unsigned kind)
{
	return kind == WIRE_ROOT_PARKING || kind == WIRE_ROOT_UNPARKING;
}

static inline int wire_is_alloc(unsigned kind)
{
	return kind == WIRE_ALLOC_MALLOCX || kind == WIRE_ALLOC_ALIGNED;
}

/*
 * A function whose first instructions give way to a jump to our hook. They are whole, and nothing
 * jumps into their middle: the tool has made sure. Nor do they depend on where they lie, but for
 * the last one, which may use data at a distance from itself: that is mended when it is moved.
 */
struct wire_redirect {
	uint64_t va;
	uint8_t bytes[WIRE_MOVED_BYTES]; /* as they must be in memory */
	uint8_t nr_bytes;
	uint8_t kind;	     /* enum wire_redirect_kind */
	uint16_t type;	     /* of root futures; EVENT_TYPE_NONE: there are too many types */
	uint32_t flag_off;   /* WIRE_ROOT_DRIVE: of the scheduler's flag `woken`, in its handle */
	uint8_t distance_at; /* where in the bytes a distance of four bytes stands; 0: there is none
			      */
	uint8_t pad[3];
	uint32_t local_off; /* WIRE_ROOT_DRIVE: as in wire_table, but in the scheduler's handle */
};

/*
 * A recipe: how a future is followed, in its memory, down to what it waits for. A node stands for a
 * value, an edge leads from it to a value inside of it, or to what it points to. Where the way
 * depends on what is there, the edge that was taken is a *choice*; the choices of a walk, in their
 * order, are the path. Node 0 is the end of a branch.
 */
enum wire_node_kind {
	WIRE_NODE_END,
	WIRE_NODE_STATE, /* choice: the number at off is below nr, and counts the edges */
	WIRE_NODE_CASE,	 /* choice: the edge that has the number at off as its value, else the last
			    one if `other`, else it is unknown */
	WIRE_NODE_DEREF, /* goes on where the word at off points to */
	WIRE_NODE_DYN,	 /* choice: by the table whose address is at `other`, goes on where the
			    word at off points to; edge 0: a table that is not known */
	WIRE_NODE_FORK,	 /* takes all edges, one after another */
	WIRE_NR_NODE_KINDS,
};

struct wire_node {
	uint8_t kind;  /* enum wire_node_kind */
	uint8_t bytes; /* of the number at off */
	uint16_t nr;   /* of its edges */
	uint32_t off;
	uint32_t first; /* edge */
	uint32_t other; /* WIRE_NODE_DYN: where the pointer to its table lies; WIRE_NODE_CASE: 1 if
			   the last edge is for all other numbers */
};

struct wire_edge {
	uint64_t value; /* WIRE_NODE_CASE */
	uint32_t off;	/* from the value of the node it comes from */
	uint32_t node;
};

/*
 * Where the future of a root lies: in the frame of the function that waits for it, if that was
 * called from [addr, end_addr). Or what root it is that begins there.
 */
struct wire_framed {
	uint64_t addr, end_addr;
	uint32_t recipe; /* edge, from the future itself; 0: only its type is known */
	uint32_t bytes;	 /* of the future */
	int32_t off;	 /* from the stack pointer, or the frame pointer */
	int32_t pointer_off;
	uint8_t by_frame_pointer;
	uint8_t has_pointer; /* what lies at pointer_off must be the address of the future */
	uint16_t type;	     /* EVENT_TYPE_NONE: that of all others */
	uint8_t pad[4];
};

/* Where a table of a `dyn` lies in memory, and the edge to what is behind it. By hash of addr. */
struct wire_dyn {
	uint64_t addr; /* 0: free; stored last */
	uint32_t edge;
	uint32_t pad;
};

#define WIRE_DYN_TRIES 16 /* an entry lies that near to its home */

static inline uint32_t wire_dyn_home(uint64_t addr)
{
	return (addr >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 51;
}

/* Where it can be seen, when a poll is over, whether the future is ready. */
enum wire_result_place {
	WIRE_RESULT_NONE,     /* not known */
	WIRE_RESULT_RETURNED, /* in the Poll that was returned, in a register */
	/* in the Poll, which is so large that the caller has said where it shall be: by its first
	 * argument, which then is returned, too */
	WIRE_RESULT_LARGE,
	WIRE_RESULT_ARG0, /* in what an argument points to: the state of a coroutine */
	WIRE_RESULT_ARG1,
};

/* A number of nr_bytes at `off` there: with this value, it is ready, or it is pending. */
struct wire_result {
	uint64_t value;
	uint32_t off;
	uint8_t place; /* enum wire_result_place */
	uint8_t nr_bytes;
	uint8_t is_ready; /* what the value says */
	uint8_t pad;
};

/* An inner future. Without bytes to move, its poll is reached by tables alone. */
struct wire_future {
	struct wire_redirect redirect; /* flag_off is the number of its definition */
	struct wire_result result;
};

enum wire_thread_state {
	WIRE_THREAD_FREE,
	WIRE_THREAD_LIVE,
	WIRE_THREAD_DEAD, /* its thread is gone: drain, then recycle */
};

/* Key of a slot that no thread can own: the owner left, the tool has not recycled it yet. */
#define WIRE_KEY_DEAD	  1
#define WIRE_KEY_CLAIMED  2 /* a thread is claiming it */

#define WIRE_MAX_SEGMENTS 64
#define WIRE_MAX_LEFT	  256 /* as a table of open runs has entries */

/*
 * A thread and its ring. The first line belongs to the producer alone; the consumer writes only
 * tail. head and tail count words since the slot was claimed and never wrap.
 *
 * A thread begins with the small ring of its slot. When that is full it goes over to a large one
 * if there is one left, for good: the words of the count from ring_from on lie there.
 *
 * A ring consists of segments of wire_segment_words words. The words [n * size, (n + 1) * size)
 * behind ring_from (0 in the small ring) lie in segment order[is large][n % WIRE_MAX_SEGMENTS],
 * which the producer takes from those that the consumer has read to their end, the lowest first:
 * while the consumer keeps up, only the first few are used, and stay in the caches. No event
 * crosses the end of a segment: a zero word says that the rest of it is unused.
 */
struct wire_thread {
	uint64_t key;	/* thread pointer of the owner, 0 when free */
	uint32_t tid;	/* as the thread itself sees it */
	uint32_t state; /* enum wire_thread_state */
	uint64_t head;	/* published with release */
	uint64_t limit; /* producer: head may grow up to here; 0 while an event is being written */
	uint64_t top;	/* producer: address of the wire_run of its innermost run */
	uint64_t bias;	/* producer: the word of count c lies at address bias + 8 * c */
	uint64_t instance; /* producer: whose tasks it runs, as recorded last */
	uint64_t reading;  /* producer: the task whose path it is looking at, or the last one */

	uint64_t tail; /* consumer, published with release */
	uint64_t consumer_pad[7];

	uint64_t nr_panics;    /* producer: raised so far; payload i lies in panics[i % 3] */
	uint64_t panics[3][2]; /* producer: data and vtable of the latest payloads */
	uint64_t life;	       /* how often this slot was claimed */

	uint64_t segment_end;	/* producer: count where the segment of head ends */
	uint64_t free_segments; /* producer: a bit for each that may be taken */
	uint64_t nr_read;	/* producer: segments known to be read to their end */
	uint64_t segment_words; /* producer: of its ring */
	uint32_t nr_lost;	/* producer: kinds with something in pending_lost */
	uint32_t big;		/* producer: number of its large ring + 1, 0: it has the small one;
				 * published with release behind ring_from */
	uint64_t ring_from;	/* producer: count where the ring begins that it has now */
	uint64_t segment_pad[2];
	uint8_t order[2][WIRE_MAX_SEGMENTS];

	uint32_t pending_lost[EV_MAX]; /* not yet in a LOST event in the ring */
	uint64_t lost[EV_MAX];	       /* all that were ever lost */
	/* segments of the small and of the large ring that take memory, and count in the budget */
	uint64_t touched[2];
	uint64_t has_left;     /* words of wire_region.left may be used */
	uint64_t nr_forgotten; /* producer: how often it forgot which runs are open */
	uint64_t slot_pad[28]; /* a kilobyte: the slot of a thread is found by a shift */
};

/*
 * A stack that a task was spawned on. A place is taken by its hash, and belongs to it for good;
 * then the frames are filled in, and its bit in stacks_used is set (release). Its number is its
 * index.
 */
struct wire_stack {
	uint64_t hash; /* of the frames, 0: free */
	uint32_t nr_frames;
	uint32_t pad;
	/* return addresses, innermost first: index into objects << 48 | va; or a single one with
	 * WIRE_FRAME_PLACE: a core::panic::Location of the runtime's */
	uint64_t frames[WIRE_MAX_FRAMES];
};

/* Something that must be so for a path to be the one. */
struct wire_check {
	uint64_t value, mask; /* of the word at off; a mask of 0: what that points to is base + 1 */
	uint32_t off;
	uint32_t base; /* 0: of the task; else of what was pointed to */
};

/*
 * A path: the choices of a walk from a task on. Taken, and published in paths_used, as stacks are.
 * The checks are the agent's own, to see whether a task stands here again.
 */
struct wire_path {
	uint64_t hash;	 /* 0: free */
	uint32_t recipe; /* where it began; stored last by the agent, for itself */
	uint16_t nr_choices;
	uint8_t nr_checks; /* 0: it must be walked each time */
	uint8_t nr_near;   /* of these: base 0, which come first */
	struct wire_check checks[WIRE_MAX_CHOICES];
	uint32_t choices[WIRE_MAX_CHOICES];
	uint64_t pad[38]; /* an odd number of lines: paths shall not share a set of the cache */
};

/* A name of marks, spans and their fields. Taken, and published in texts_used, as stacks are. */
struct wire_text {
	uint64_t key; /* where it lies in the program; 0: free */
	uint32_t len;
	uint32_t pad;
	char text[WIRE_TEXT_BYTES];
};

#define WIRE_FRAME_SHIFT 48
#define WIRE_FRAME_PLACE (UINT64_C(1) << 63)
#define WIRE_NO_STACK	 UINT32_MAX

static inline uint64_t wire_segment_words(uint64_t ring_words)
{
	uint64_t words = ring_words / WIRE_MAX_SEGMENTS;

	/* room for an event, an end for each open run, and all that was lost */
	return words < 64 ? 64 : words;
}

struct wire_region {
	uint32_t state; /* enum wire_region_state */
	uint32_t pid;
	uint32_t nr_objects;   /* objects[0..n) were announced at some time */
	uint32_t nr_tables;    /* tables[0..n) are valid */
	uint32_t nr_unslotted; /* threads that found no slot */
	uint32_t note;	       /* enum wire_note */
	uint64_t big_used;     /* bit i: large ring i has an owner; cleared by the tool */
	uint32_t nr_forked;    /* children by fork that are not recorded and did not exec */
	uint32_t nr_nodes;     /* nodes[0..n) and edges[0..n) are valid */
	uint32_t nr_edges;
	uint32_t nr_no_path;  /* runs whose path found no place in paths */
	uint32_t nr_bad_path; /* runs of a task that was not as its recipe says */
	uint32_t nr_framed;   /* framed[0..n) are valid */
	uint32_t is_leaving;  /* this program is about to become another; cleared by the tool when
				 that has come in */
	uint32_t nr_coming;   /* children by fork that have yet to come in */
	uint32_t nr_places;   /* stacks and paths that count in the lobby's budget */
	uint32_t counts_pad;
	uint64_t lost[EV_MAX]; /* events of threads without a slot */
	/* a bit for each slot of `threads` that is in use: set behind its state by the thread that
	 * takes it, cleared by the tool before the slot can be taken again */
	uint64_t slots_used[WIRE_SLOT_WORDS];
	struct wire_object objects[WIRE_MAX_OBJECTS];
	struct wire_table tables[WIRE_MAX_TABLES];
	struct wire_redirect redirects[WIRE_MAX_REDIRECTS];
	struct wire_future futures[WIRE_MAX_FUTURES];
	uint64_t stacks_used[WIRE_STACK_WORDS]; /* a bit for each stack that is filled in */
	struct wire_stack stacks[WIRE_MAX_STACKS];
	struct wire_node nodes[WIRE_MAX_NODES];
	struct wire_edge edges[WIRE_MAX_EDGES];
	struct wire_dyn dyns[WIRE_MAX_DYNS];
	struct wire_framed framed[WIRE_MAX_FRAMED];
	uint64_t paths_used[WIRE_PATH_WORDS]; /* a bit for each path that is filled in */
	struct wire_path paths[WIRE_MAX_PATHS];
	char strings[WIRE_STRING_BYTES];      /* each ends with NUL; the first is "" */
	uint64_t texts_used[WIRE_TEXT_WORDS]; /* a bit for each text that is filled in */
	struct wire_text texts[WIRE_MAX_TEXTS];
	/* a table for each slot, and room to align them: the mapping is aligned to a page only */
	uint8_t runs[WIRE_ALL_RUNS];
	/* by slot: ids of runs that began there, by the threads on which they ended */
	uint64_t left[WIRE_MAX_THREADS][WIRE_MAX_LEFT];
	struct wire_thread threads[WIRE_MAX_THREADS] __attribute__((aligned(WIRE_PAGE)));
	/* rings follow at WIRE_RINGS_OFF: the large ones, then the small one of each slot */
};

/* Why an agent that came in does not record, for the tool to tell. */
enum wire_note {
	WIRE_NOTE_NONE,
	WIRE_NOTE_NO_ANSWER, /* the tool was at work, but did not answer in time */
	WIRE_NOTE_SILENT,    /* the tool was stopped, or had no CPU */
	WIRE_NOTE_NO_TID,    /* the thread id was not found in the thread control block */
	WIRE_NOTE_PROTECT,   /* a table's page could not be made writable */
	WIRE_NOTE_GAVE_UP,   /* ring full and tool gone: recording was switched off */
	WIRE_NOTE_OBJECTS,   /* more objects than WIRE_MAX_OBJECTS */
};

#define WIRE_RINGS_OFF ((sizeof(struct wire_region) + WIRE_PAGE - 1) / WIRE_PAGE * WIRE_PAGE)

/* Where a thread's ring lies in the region. */
static inline uint64_t wire_ring_off(const struct wire_lobby *l, uint32_t slot, uint32_t big)
{
	uint64_t large = (big ? big - 1 : l->nr_big) * l->ring_words;

	return WIRE_RINGS_OFF + (large + (big ? 0 : slot * l->small_words)) * sizeof(uint64_t);
}

static inline uint64_t wire_ring_words(const struct wire_lobby *l, uint32_t big)
{
	return big ? l->ring_words : l->small_words;
}

static inline uint64_t wire_region_size(const struct wire_lobby *l)
{
	return wire_ring_off(l, WIRE_MAX_THREADS, 0);
}

/* Changes whenever a size does; an agent of another layout refuses to work. */
#define WIRE_LAYOUT                                                                    \
	((uint32_t)(sizeof(struct wire_lobby) * 31 + sizeof(struct wire_region) * 17 + \
		    sizeof(struct wire_table) * 7 + sizeof(struct wire_thread)))

_Static_assert(sizeof(struct wire_door) == 8, "wire_door");
_Static_assert(sizeof(struct wire_lobby) <= WIRE_PAGE, "the lobby is one page");
_Static_assert(sizeof(struct wire_table) == 8 + 96 + 14 + 2 + 16 + 16 + 24 + 8,
	       "wire_table has no hidden padding");
_Static_assert(sizeof(struct wire_redirect) == 40, "wire_redirect");
_Static_assert(sizeof(struct wire_future) == 56, "wire_future");
_Static_assert(sizeof(struct wire_stack) == 512, "wire_stack");
_Static_assert(WIRE_STACK_WORDS * 64 == WIRE_MAX_STACKS, "stacks_used");
_Static_assert(sizeof(struct wire_node) == 16 && sizeof(struct wire_edge) == 16 &&
		       sizeof(struct wire_dyn) == 16,
	       "recipes");
_Static_assert(sizeof(struct wire_framed) == 40, "wire_framed");
_Static_assert(WIRE_MAX_DYNS == 1 << 13, "wire_dyn_home takes the upper 13 bits");
_Static_assert(sizeof(struct wire_path) == 2112, "wire_path");
_Static_assert(WIRE_PATH_WORDS * 64 == WIRE_MAX_PATHS && WIRE_MAX_PATHS <= 1 << 16, "paths_used");
_Static_assert(sizeof(struct wire_text) == 128 && WIRE_TEXT_WORDS * 64 == WIRE_MAX_TEXTS &&
		       WIRE_MAX_TEXTS == 1 << 12,
	       "texts_used; core_mark takes the upper 12 bits of a hash");
_Static_assert(sizeof(struct wire_thread) == 1024, "wire_thread");
_Static_assert(offsetof(struct wire_thread, tail) == 64, "producer and consumer share no line");
_Static_assert(offsetof(struct wire_thread, nr_panics) == 128, "as above");
_Static_assert(offsetof(struct wire_region, lost) == 72, "wire_region header");

#endif
