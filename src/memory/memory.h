// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Memory that is not ours to change: of a running process, which is never stopped, or of a core
 * file. Nothing is read but where the memory's own map says that there is something readable, so
 * whatever was taken for a pointer can be tried. Reading is safe from several threads.
 */
#ifndef MEMORY_MEMORY_H
#define MEMORY_MEMORY_H

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"

#define MEMORY_BUILD_ID_SIZE (2 * 64 + 1) /* as of an image */

struct memory;

/* A range with the same rights. Ranges are sorted and do not overlap. */
struct memory_area {
	uint64_t addr, end_addr;
	uint64_t held_end; /* what lies behind it is not in the core file */
	bool may_read, may_write, is_private;
	bool is_main_stack; /* the kernel names it so: it is nothing else */
	bool is_stack;	    /* also, a thread's stack pointer leads there: it may be a heap, too */
};

/* A part of a file that is mapped. */
struct memory_file {
	uint64_t addr, end_addr, off;
	uint64_t inode;
	uint32_t major, minor;
	bool is_exec; /* not known of a core file, then true */
	char *path;   /* as the memory's owner called it */
};

struct memory_thread {
	uint32_t tid;
	uint64_t sp; /* 0: unknown, as it runs */
};

struct memory_piece {
	uint64_t addr;
	void *into;
	uint64_t len;
	bool was_read; /* whole */
};

/* Pages, one behind the other, that may hold something. */
typedef void memory_range_fn(void *arg, uint64_t addr, uint64_t end_addr);

struct memory_ops {
	/* All pieces may be read, as far as the map tells. */
	void (*read)(struct memory *m, struct memory_piece *pieces, size_t nr);
	/* Leaves out pages that were never touched; NULL: nothing is known of that. */
	void (*each_present)(struct memory *m, const struct memory_area *a, memory_range_fn *fn,
			     void *arg);
	/* A path by which that very file can be opened now, to be freed; NULL: it is gone. */
	char *(*path_of)(struct memory *m, const struct memory_file *f);
	/* Looks again what areas there are; NULL: always the same. */
	void (*refresh)(struct memory *m);
	/* Is it still there and still the same program? NULL: for ever. */
	bool (*is_there)(struct memory *m);
	void (*close)(struct memory *m);
};

struct memory {
	const struct memory_ops *ops;
	VEC(struct memory_area) areas;
	VEC(struct memory_file) files;
	VEC(struct memory_thread) threads;
	/* For a process: key of a file descriptor in its epoll sets -> the descriptor. */
	struct map epoll;
	struct map fd_kinds;	   /* of a process: descriptor -> enum fd_kind */
	uint32_t pid;		   /* 0: unknown */
	char *exe;		   /* path of the program, "" when unknown */
	char *exe_file;		   /* of a core file: where it is now, or NULL: at `exe` */
	bool is_core;		   /* nothing changes any more */
	uint64_t nr_missing_bytes; /* of a core file that was cut */
	bool is_given_up;	   /* atomic: nothing is read any more */
};

/* ERR_NO_PROCESS, ERR_PERMISSION, ERR_SYS. A process may look at itself. */
struct memory *memory_open_process(uint32_t pid, struct err *e);
/* Only what is mapped, for which the kernel asks less; nothing of it can be read. */
struct memory *memory_open_map(uint32_t pid, struct err *e);
/* exe_file: the program, or NULL: where it was when it ran. ERR_SYS, ERR_PERMISSION, ERR_NOT_ELF,
 * ERR_FOREIGN, ERR_BAD_ELF. */
struct memory *memory_open_core(const char *path, const char *exe_file, struct err *e);
void memory_close(struct memory *m);

/* The area of an address, or NULL. */
const struct memory_area *memory_area(const struct memory *m, uint64_t addr);
/* May all of it be read, as far as the map tells? */
bool memory_is_readable(const struct memory *m, uint64_t addr, uint64_t len);
/* Says of each piece whether it was read. Returns whether all were. */
bool memory_read_pieces(struct memory *m, struct memory_piece *pieces, size_t nr);
bool memory_read(struct memory *m, uint64_t addr, void *into, uint64_t len);
void memory_each_present(struct memory *m, const struct memory_area *a, memory_range_fn *fn,
			 void *arg);
/* A path by which that very file can be opened now, to be freed. NULL: it is gone, ERR_SYS. */
char *memory_path_of(struct memory *m, const struct memory_file *f, struct err *e);
/* Is it where a program or library begins? True for one part of each. */
bool memory_is_object(const struct memory *m, const struct memory_file *f);
/* Is it a part of the program, not of a library? */
bool memory_is_program(const struct memory *m, const struct memory_file *f);
/*
 * The build-id, in hex, of the program or library that begins at the address; "": it has none.
 * False: memory does not tell, as a core file need not have any of what was mapped from files.
 */
bool memory_build_id(struct memory *m, uint64_t addr, char build_id[MEMORY_BUILD_ID_SIZE]);
bool memory_is_there(struct memory *m);
/* Time is up: readers, also in other threads, end soon. */
void memory_give_up(struct memory *m);
/* A process maps more memory meanwhile. Not while other threads read. */
void memory_refresh(struct memory *m);

/* For those that make one: sorts areas and marks stacks. */
void memory_settle(struct memory *m);

#endif
