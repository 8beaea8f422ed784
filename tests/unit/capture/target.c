// SPDX-License-Identifier: MIT OR Apache-2.0
/* CMD: found as a shell finds it, looked at, and started with the signals and streams that it would
 * have alone. */
#include "capture/target.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "capture/signals.h"
#include "fake.h"

static char dir[64];
static struct catalog catalog;
static struct discovery d;
static struct found_runtime runtime;
static struct found_table tables[1];

static char *make_file(const char *name, const char *text, mode_t mode)
{
	char *path = xasprintf("%s/%s", dir, name);
	struct err e = ERR_INIT;

	assert_int_equal(io_replace_file(path, text, strlen(text), mode, &e), 0);
	assert_int_equal(chmod(path, mode), 0);
	return path;
}

static int begin(void **state)
{
	struct reading_opts o = { .discover = { .names = true } };

	strcpy(dir, "/tmp/test-target-XXXXXX");
	catalog_init(&catalog, &o);
	fake_discovery_init(&d, &runtime, tables, 1);
	fake_discovery = &d;
	return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
	char *rm = xasprintf("rm -rf %s", dir);
	int rc = system(rm);

	catalog_release(&catalog);
	free(rm);
	return rc;
}

/* Looks for cmd along path; returns 0 or the status that it cannot be run with. */
static int look(struct target_look *t, const char *cmd, const char *path)
{
	struct err e = ERR_INIT;
	int status = 0;

	if (target_look(t, cmd, path, &catalog, &status, &e) == 0)
		return 0;
	assert_int_not_equal(e.tag, ERR_NONE);
	assert_non_null(strstr(e.msg, cmd));
	return status;
}

/* Along PATH: what is not there or not executable is passed over; 127 and 126 as a shell says. */
static void test_find(void **state)
{
	char *found = make_file("cmd",
				"\x7f"
				"ELF",
				0755),
	     *plain = make_file("plain", "x", 0644);
	char *path = xasprintf("/nonexistent:%s/cmd:%s:/usr/bin", dir, dir);
	struct target_look t;

	assert_int_equal(look(&t, "cmd", path), 0);
	assert_string_equal(t.path, found);
	target_look_release(&t);
	assert_int_equal(look(&t, found, "/nonexistent"), 0);
	target_look_release(&t);
	assert_int_equal(look(&t, "cmd", "/nonexistent:/dev"), 127);
	assert_int_equal(look(&t, "plain", path), 126);
	assert_int_equal(look(&t, plain, path), 126);
	assert_int_equal(look(&t, dir, path), 126);
	assert_int_equal(look(&t, "/nonexistent/cmd", path), 127);
	assert_int_equal(look(&t, "", path), 127);
	free(found);
	free(plain);
	free(path);
}

/* A script is what its interpreter is, through several of them. */
static void test_scripts(void **state)
{
	char *elf = make_file("elf",
			      "\x7f"
			      "ELF",
			      0755);
	char *line = xasprintf("#! %s -x\n", elf), *inner = make_file("inner", line, 0755);
	char *line2 = xasprintf("#!%s\n", inner), *outer = make_file("outer", line2, 0755);
	struct target_look t;

	assert_int_equal(look(&t, outer, NULL), 0);
	assert_true(t.is_script);
	assert_string_equal(t.path, outer);
	assert_string_equal(t.image, elf);
	assert_int_equal(t.note.tag, ERR_NONE);
	target_look_release(&t);
	free(elf);
	free(line);
	free(line2);
	free(inner);
	free(outer);
}

/* What keeps the agent out is told beforehand, by its tag. */
static void test_notes(void **state)
{
	static const struct {
		enum elf_link link;
		uint32_t nr_tables;
		enum err_tag tag;
		bool agent_works;
	} cases[] = {
		{ ELF_DYNAMIC, 1, ERR_NONE, true },
		{ ELF_DYNAMIC, 0, ERR_NONE, true }, /* may load one */
		{ ELF_STATIC, 1, ERR_STATIC, false },
		{ ELF_STATIC_PIE, 0, ERR_STATIC, false },
		{ ELF_DYNAMIC_MUSL, 1, ERR_STATIC, false },
	};
	char *path = make_file("elf",
			       "\x7f"
			       "ELF",
			       0755);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct target_look t;

		d.link = cases[i].link;
		d.nr_tables = cases[i].nr_tables;
		assert_int_equal(look(&t, path, NULL), 0);
		assert_int_equal(t.note.tag, cases[i].tag);
		assert_int_equal(t.agent_works, cases[i].agent_works);
		target_look_release(&t);
	}
	free(path);
}

/* Setuid to somebody else: the loader would ignore the agent. */
static void test_setuid(void **state)
{
	char *path = make_file("elf",
			       "\x7f"
			       "ELF",
			       0755);
	struct target_look t;

	if (getuid() != 0) {
		/* only root can give a file away: setuid to oneself is no privilege */
		assert_int_equal(chmod(path, 04755), 0);
		assert_int_equal(look(&t, path, NULL), 0);
		assert_true(t.agent_works);
	} else {
		assert_int_equal(chown(path, 12345, 12345), 0);
		assert_int_equal(chmod(path, 04755), 0);
		assert_int_equal(look(&t, path, NULL), 0);
		assert_int_equal(t.note.tag, ERR_SETUID);
		assert_false(t.agent_works);
	}
	target_look_release(&t);
	free(path);
}

/* stdout is the file "out" from here on; returns what it was. */
static int redirect(void)
{
	char *file = xasprintf("%s/out", dir);
	int saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
	int fd = open(file, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	fflush(stdout);
	dup2(fd, STDOUT_FILENO);
	close(fd);
	free(file);
	return saved;
}

/* stdout is as before; what came meanwhile is appended to text. */
static void collect(int saved, struct strbuf *text)
{
	char *file = xasprintf("%s/out", dir);

	dup2(saved, STDOUT_FILENO);
	close(saved);
	assert_int_equal(io_read_file(file, text, 1 << 20, NULL), 0);
	free(file);
}

/* Runs it by target_spawn; returns its wait status, and what it wrote in out. */
static int spawn(char **argv, const char *agent, char *const *envp, struct strbuf *out)
{
	struct target_start s = { .path = argv[0], .argv = argv, .envp = envp, .agent = agent };
	struct lobby_opts lo = { .ring_bytes = 4096 };
	struct err e = ERR_INIT;
	struct lobby l;
	int status = 0, exec_status, saved;
	pid_t pid;

	assert_int_equal(lobby_open(&l, &lo, &e), 0);
	saved = redirect();
	pid = target_spawn(&s, &l, &exec_status, &e);
	if (pid > 0)
		waitpid(pid, &status, 0);
	strbuf_reset(out);
	collect(saved, out);
	assert_true(pid > 0);
	assert_int_equal(l.page->target_pid, pid);
	lobby_close(&l);
	return status;
}

/* Dispositions and mask of the child are those that futrace was started with, whatever it does
 * itself. */
static void test_signals_as_inherited(void **state)
{
	char *argv[] = { "/bin/grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status", NULL };
	struct strbuf alone = STRBUF_INIT, got = STRBUF_INIT;
	char *const envp[] = { NULL };
	sigset_t some, old;
	pid_t pid;
	int saved;

	sigemptyset(&some);
	sigaddset(&some, SIGUSR2);
	sigaddset(&some, SIGTERM);
	sigprocmask(SIG_BLOCK, &some, &old);
	signal(SIGHUP, SIG_IGN);
	saved = redirect();
	pid = fork();
	if (pid == 0) {
		execve(argv[0], argv, envp);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	collect(saved, &alone);
	signals_ignore();
	signals_catch();
	assert_int_equal(spawn(argv, NULL, envp, &got), 0);
	signals_restore();
	signal(SIGHUP, SIG_DFL);
	sigprocmask(SIG_SETMASK, &old, NULL);
	assert_non_null(strstr(alone.s, "SigBlk:\t0000000000004800\n"));
	assert_string_equal(got.s, alone.s);
	strbuf_release(&alone);
	strbuf_release(&got);
}

/* The agent comes first in LD_PRELOAD and its variable is set; nothing else of the environment
 * changes. */
static void test_environment(void **state)
{
	struct strbuf got = STRBUF_INIT;
	char *const envp[] = { "PATH=/usr/bin:/bin", "A=b c", "LD_PRELOAD=libm.so.6",
			       "FUTRACE_CTL=stale", NULL };
	char *shows[] = { "/bin/sh", "-c", "echo $A $LD_PRELOAD; echo ${FUTRACE_CTL-unset}", NULL };
	const char *ctl;

	signals_ignore();
	signals_catch();
	/* an agent that is no agent: any library will do */
	spawn(shows, "libdl.so.2", envp, &got);
	assert_true(str_has_prefix(got.s, "b c libdl.so.2:libm.so.6\n/proc/"));
	ctl = strchr(got.s, '\n') + 1;
	assert_non_null(strstr(ctl, "/fd/"));
	spawn(shows, NULL, envp, &got);
	assert_string_equal(got.s, "b c libm.so.6\nunset\n");
	signals_restore();
	strbuf_release(&got);
}

/* What cannot be executed is told with the shell's status; a script without #! is the shell's. */
static void test_exec_fails(void **state)
{
	char *bad = make_file("bad", "#!/nonexistent/interpreter\n", 0755);
	char *text = make_file("text", "exit 5\n", 0755);
	char *argv[] = { "x", NULL }, *envp[] = { NULL };
	struct target_start s = { .path = bad, .argv = argv, .envp = envp };
	struct lobby_opts lo = { .ring_bytes = 4096 };
	struct err e = ERR_INIT;
	struct lobby l;
	int status = 0;
	pid_t pid;

	assert_int_equal(lobby_open(&l, &lo, &e), 0);
	signals_ignore();
	signals_catch();
	assert_int_equal(target_spawn(&s, &l, &status, &e), -1);
	assert_int_equal(status, 127);
	s.path = text;
	assert_int_equal(target_spawn(&s, &l, &status, &e), -1);
	assert_int_equal(status, 126);
	s.may_be_script = true;
	pid = target_spawn(&s, &l, &status, &e);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 5);
	signals_restore();
	lobby_close(&l);
	free(bad);
	free(text);
}

/* Each signal is told once, with who sent it. */
static void test_signals_taken(void **state)
{
	struct signal_seen seen;

	signals_ignore();
	signals_catch();
	assert_false(signals_take(&seen));
	raise(SIGTERM);
	kill(getpid(), SIGTERM);
	assert_true(signals_take(&seen));
	assert_int_equal(seen.number, SIGTERM);
	assert_false(seen.from_terminal);
	assert_int_equal(seen.sender, getpid());
	assert_true(signals_take(&seen));
	assert_false(signals_take(&seen));
	signals_restore();
}

/* The list that a program gets, and what is left when ours is taken out of it again. */
static void check_preload(const char *theirs, const char *needed, const char *want)
{
	char list[256];

	wire_preload_write(list, theirs, needed, "/a/agent.so:/a/probes.so");
	assert_string_equal(list, want);
	assert_true(wire_preload_take(list, "/a/agent.so:/a/probes.so"));
	assert_string_equal(list, theirs ? theirs : "");
	assert_false(wire_preload_take(list, "/a/agent.so:/a/probes.so"));
}

/* A sanitizer's runtime stays in front of the agent, whoever put it there, and the user's own list
 * comes out as it went in. */
static void sanitizers_come_first(void **state)
{
	check_preload(NULL, "", "/a/agent.so:/a/probes.so");
	check_preload("x.so y.so", "", "/a/agent.so:/a/probes.so:x.so y.so");
	check_preload(NULL, "libasan.so.8", "libasan.so.8::/a/agent.so:/a/probes.so");
	check_preload("x.so", "libtsan.so.2", "/a/agent.so:/a/probes.so:x.so");
	check_preload("/l/libasan.so.8:x.so", "libasan.so.8",
		      "/l/libasan.so.8:/a/agent.so:/a/probes.so:x.so");
	check_preload("libclang_rt.asan-x86_64.so", "",
		      "libclang_rt.asan-x86_64.so:/a/agent.so:/a/probes.so");
	/* the loader skips empty entries */
	check_preload(":libasan.so.8", "", ":libasan.so.8:/a/agent.so:/a/probes.so");
	check_preload(":", "libasan.so.8", "libasan.so.8::/a/agent.so:/a/probes.so::");
	check_preload("libasan.so.8:libubsan.so.1::z", "",
		      "libasan.so.8:/a/agent.so:/a/probes.so:libubsan.so.1::z");
	assert_true(wire_is_sanitizer("/x/libhwasan.so.0", 17));
	assert_false(wire_is_sanitizer("/libasan.so/libx.so", 19));
	assert_false(wire_is_sanitizer("libasanx.so", 11));
}

/* Bytes that only look like a program lead nowhere. */
static void no_sanitizer_in_rubbish(void **state)
{
	static const uint64_t offs[] = { 0, 64, 4096, UINT64_MAX - 8 };
	char name[WIRE_SANITIZER_MAX];
	Elf64_Ehdr eh = { .e_phnum = UINT16_MAX, .e_phentsize = sizeof(Elf64_Phdr) };
	char *path = make_file("rubbish", "", 0600);
	int fd = open(path, O_RDWR);

	for (size_t i = 0; i < ARRAY_SIZE(offs); i++) {
		Elf64_Phdr ph = { .p_type = PT_DYNAMIC, .p_offset = offs[i] };
		Elf64_Dyn dyn = { .d_tag = DT_STRTAB, .d_un.d_ptr = offs[i] };

		eh.e_phoff = sizeof(eh);
		assert_int_equal(pwrite(fd, &ph, sizeof(ph), eh.e_phoff), sizeof(ph));
		if (offs[i] < 8192)
			assert_int_equal(pwrite(fd, &dyn, sizeof(dyn), offs[i]), sizeof(dyn));
		wire_find_sanitizer(pread, fd, &eh, name);
		assert_string_equal(name, "");
	}
	close(fd);
	free(path);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(sanitizers_come_first),
		TEST(no_sanitizer_in_rubbish),
		TEST(test_find),
		TEST(test_scripts),
		TEST(test_notes),
		TEST(test_setuid),
		TEST(test_environment),
		TEST(test_signals_as_inherited),
		TEST(test_exec_fails),
		TEST(test_signals_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
