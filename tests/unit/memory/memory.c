// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that memory is read where its map allows it and nowhere else, and that a process is told
 * from the one that took its place; and what a process' descriptors are. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake.h"
#include "memory/epoll.h"

static void test_areas_are_sorted_and_do_not_overlap(void **state)
{
	struct fake *f = fake_new();

	fake_add(f, 0x5000, 0x2000);
	fake_add(f, 0x1000, 0x1000);
	fake_add(f, 0x6000, 0x3000); /* overlaps the first */
	memory_settle(&f->m);
	assert_int_equal(f->m.areas.nr, 3);
	assert_int_equal(f->m.areas.v[0].addr, 0x1000);
	assert_int_equal(f->m.areas.v[2].addr, 0x7000);
	assert_null(memory_area(&f->m, 0xfff));
	assert_ptr_equal(memory_area(&f->m, 0x1000), &f->m.areas.v[0]);
	assert_null(memory_area(&f->m, 0x2000));
	assert_null(memory_area(&f->m, UINT64_MAX));
	memory_close(&f->m);
}

static void test_neighbours_are_read_as_one(void **state)
{
	struct fake *f = fake_new();

	fake_add(f, 0x1000, 0x1000);
	fake_add(f, 0x2000, 0x1000);
	fake_add(f, 0x4000, 0x1000);
	memory_settle(&f->m);
	assert_true(memory_is_readable(&f->m, 0x1ff8, 16));
	assert_true(memory_is_readable(&f->m, 0x1000, 0x2000));
	assert_false(memory_is_readable(&f->m, 0x2ff8, 16));
	assert_false(memory_is_readable(&f->m, 0x1000, UINT64_MAX));
	assert_false(memory_is_readable(&f->m, 0xfff, 2));
	memory_close(&f->m);
}

static void test_what_is_not_in_the_core_is_not_readable(void **state)
{
	struct fake *f = fake_new();

	fake_add(f, 0x1000, 0x1000);
	f->m.areas.v[0].held_end = 0x1800;
	memory_settle(&f->m);
	assert_true(memory_is_readable(&f->m, 0x17f8, 8));
	assert_false(memory_is_readable(&f->m, 0x17fc, 8));
	memory_close(&f->m);
}

static void test_each_piece_says_whether_it_was_read(void **state)
{
	struct fake *f = fake_new();
	uint64_t words[300] = { 0 };
	struct memory_piece pieces[300];

	fake_add(f, 0x10000, 0x10000);
	memory_settle(&f->m);
	for (uint64_t i = 0; i < 300; i++) {
		uint64_t addr = 0x10000 + i * 512;

		pieces[i] = (struct memory_piece){ addr, &words[i], 8 };
		if (addr < 0x20000)
			fake_put(f, addr, addr);
	}
	assert_false(memory_read_pieces(&f->m, pieces, 300));
	for (uint64_t i = 0; i < 300; i++) {
		assert_int_equal(pieces[i].was_read, i < 128);
		assert_int_equal(words[i], i < 128 ? pieces[i].addr : 0);
	}
	assert_in_range(f->nr_reads, 1, 3); /* what lies together is read together */
	memory_close(&f->m);
}

static void test_a_process_sees_its_own_memory(void **state)
{
	struct memory *m = memory_open_process(getpid(), NULL);
	uint64_t secret = UINT64_C(0x123456789abcdef0), copy = 0;
	char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_non_null(m);
	assert_true(memory_read(m, (uintptr_t)&secret, &copy, sizeof(copy)));
	assert_true(copy == secret);
	assert_false(memory_read(m, 8, &copy, sizeof(copy)));
	assert_false(memory_read(m, (uintptr_t)page, &copy, sizeof(copy)));
	assert_true(memory_is_there(m));
	assert_true(memory_area(m, (uintptr_t)&secret)->is_stack);
	munmap(page, 4096);
	memory_close(m);
}

static void on_range(void *arg, uint64_t addr, uint64_t end_addr)
{
	*(uint64_t *)arg += end_addr - addr;
}

static void test_untouched_pages_are_left_alone(void **state)
{
	uint64_t len = UINT64_C(64) << 20, sum = 0;
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct memory *m;

	madvise(p, len, MADV_NOHUGEPAGE);
	p[0] = p[len / 2] = 1;
	m = memory_open_process(getpid(), NULL);
	assert_non_null(m);
	vec_each (a, &m->areas)
		if (a->addr <= (uintptr_t)p && (uintptr_t)p < a->end_addr)
			memory_each_present(m, a, on_range, &sum);
	assert_in_range(sum, 2 * 4096, len / 2);
	munmap(p, len);
	memory_close(m);
}

static void test_a_program_that_went_is_noticed(void **state)
{
	for (int does_exec = 0; does_exec < 2; does_exec++) {
		int go[2], ready[2], status;
		char byte = 'x';
		pid_t pid;
		struct memory *m;

		assert_return_code(pipe(go) + pipe(ready), 0);
		pid = fork();
		if (pid == 0) {
			write(ready[1], &byte, 1);
			read(go[0], &byte, 1);
			if (does_exec)
				execlp("sleep", "sleep", "100", NULL);
			_exit(0);
		}
		assert_int_equal(read(ready[0], &byte, 1), 1);
		m = memory_open_process(pid, NULL);
		assert_non_null(m);
		assert_true(memory_is_there(m));
		write(go[1], &byte, 1);
		for (int i = 0; i < 1000 && memory_is_there(m); i++)
			usleep(10000);
		assert_false(memory_is_there(m));
		memory_close(m);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
}

static void assert_kind(const struct memory *m, int fd, enum fd_kind kind)
{
	const uint64_t *found = map_get(&m->fd_kinds, fd);

	assert_non_null(found);
	assert_int_equal(*found, kind);
}

/* A named pipe has a path, as a file has, and epoll knows descriptors by what it was told. */
static void test_descriptors_are_told_apart(void **state)
{
	char dir[] = "/tmp/futrace-fds-XXXXXX", path[64];
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = 0x123456789a };
	int pipes[2], sockets[2], fifo, file = eventfd(0, 0), set = epoll_create1(0);
	struct memory *m;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/fifo", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	fifo = open(path, O_RDWR);
	assert_int_equal(pipe(pipes) | socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	assert_int_equal(epoll_ctl(set, EPOLL_CTL_ADD, pipes[0], &event), 0);
	m = memory_open_process(getpid(), NULL);
	assert_non_null(m);
	assert_kind(m, pipes[0], FD_PIPE);
	assert_kind(m, fifo, FD_PIPE);
	assert_kind(m, sockets[1], FD_SOCKET);
	assert_kind(m, file, FD_FILE);
	assert_kind(m, set, FD_FILE);
	assert_null(map_get(&m->fd_kinds, 1 << 20));
	assert_int_equal(*map_get(&m->epoll, event.data.u64), pipes[0]);
	memory_close(m);
	unlink(path);
	rmdir(dir);
	close(file), close(set), close(fifo);
	close(pipes[0]), close(pipes[1]), close(sockets[0]), close(sockets[1]);
}

static void test_no_such_process(void **state)
{
	struct err e = ERR_INIT;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	assert_null(memory_open_process(pid, &e));
	assert_int_equal(e.tag, ERR_NO_PROCESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_areas_are_sorted_and_do_not_overlap),
		cmocka_unit_test(test_neighbours_are_read_as_one),
		cmocka_unit_test(test_what_is_not_in_the_core_is_not_readable),
		cmocka_unit_test(test_each_piece_says_whether_it_was_read),
		cmocka_unit_test(test_a_process_sees_its_own_memory),
		cmocka_unit_test(test_untouched_pages_are_left_alone),
		cmocka_unit_test(test_a_program_that_went_is_noticed),
		cmocka_unit_test(test_descriptors_are_told_apart),
		cmocka_unit_test(test_no_such_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
