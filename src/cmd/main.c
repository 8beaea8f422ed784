// SPDX-License-Identifier: MIT OR Apache-2.0
/* Finds the subcommand, parses its options by its table, runs it, and checks that stdout arrived.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/pack.h"
#include "base/replace.h"
#include "capture/session.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "symbol/reader.h"

#define MAX_WORD 31 /* no command is as long */

const struct command *const commands[] = {
#define COMMAND(name) &cmd_##name,
	COMMANDS
#undef COMMAND
		NULL,
};

static const char *current_name = "futrace";

static void vnote(const char *fmt, va_list ap)
{
	struct strbuf text = STRBUF_INIT;
	char buf[2048];

	vsnprintf(buf, sizeof(buf), fmt, ap);
	strbuf_add_clean(&text, buf, strlen(buf));
	fprintf(stderr, "%s: %s\n", current_name, text.s);
	strbuf_release(&text);
}

void cmd_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vnote(fmt, ap);
	va_end(ap);
}

static void pass_note(void *arg, const char *text)
{
	cmd_note("%s", text);
}

const struct note_sink cmd_notes = { .note = pass_note };

char *cmd_cache_dir(void)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (xdg && *xdg == '/')
		return xasprintf("%s/futrace", xdg);
	return home && *home == '/' ? xasprintf("%s/.cache/futrace", home) : NULL;
}

int cmd_fail(const struct err *e)
{
	cmd_note("%s", e->msg);
	return e->tag == ERR_USAGE ? EXIT_USAGE : EXIT_FAILED;
}

int cmd_usage(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vnote(fmt, ap);
	va_end(ap);
	fprintf(stderr, "Try '%s -h'.\n", current_name);
	return EXIT_USAGE;
}

/*
 * One line, and whatever was written stays; a command that is being recorded goes on, and its
 * status is ours. Nothing here allocates. Another thread may have come here first.
 */
static void no_memory(void)
{
	static const char said[] =
		": out of memory: no more could be allocated (see 'ulimit -v')\n",
			  recording[] =
				  ": out of memory: the recording ends here, the command goes on\n";
	static bool is_taken;
	bool is_recording = session_is_running();
	const struct iovec line[] = {
		{ (void *)current_name, strlen(current_name) },
		{ (void *)(is_recording ? recording : said),
		  (is_recording ? sizeof(recording) : sizeof(said)) - 1 },
	};
	ssize_t written;
	int status;

	while (__atomic_exchange_n(&is_taken, true, __ATOMIC_ACQ_REL))
		pause();
	replace_abandon();
	fflush(stdout);
	written = writev(STDERR_FILENO, line, ARRAY_SIZE(line));
	(void)written; /* the status tells, too */
	status = session_abandon();
	_exit(status < 0 ? EXIT_FAILED : status);
}

static const struct command *find(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

/* How many letters to add, drop, change or swap with the next to make one word the other. */
static size_t distance(const char *a, const char *b)
{
	size_t rows[3][MAX_WORD + 1] = { 0 }, len_a = strlen(a), len_b = strlen(b);

	if (len_a > MAX_WORD || len_b > MAX_WORD)
		return SIZE_MAX;
	for (size_t j = 0; j <= len_b; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= len_a; i++) {
		size_t *row = rows[i % 3], *last = rows[(i + 2) % 3], *older = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= len_b; j++) {
			row[j] = MIN(last[j - 1] + (a[i - 1] != b[j - 1]),
				     MIN(last[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = MIN(row[j], older[j - 2] + 1);
		}
	}
	return rows[len_a % 3][len_b];
}

/* One line: `futrace help` is all the help there is. */
static int no_command(const char *name)
{
	const char *nearest = NULL;
	size_t least = 3; /* two slips are a slip, three are another word */

	for (size_t i = 0; commands[i]; i++) {
		size_t d = distance(name, commands[i]->name);

		if (d < least && d < strlen(commands[i]->name) - 1) {
			least = d;
			nearest = commands[i]->name;
		}
	}
	if (nearest)
		cmd_note("no command '%s': did you mean '%s'?", name, nearest);
	else
		cmd_note("no command '%s'; 'futrace help' lists them", name);
	return EXIT_USAGE;
}

static void print_overview(FILE *to)
{
	fprintf(to, "usage: futrace COMMAND [options]\n\n"
		    "Shows what every task of an async Rust program does:\n"
		    "no rebuild, no code change, no root.\n\nCommands:\n");
	for (size_t i = 0; commands[i]; i++)
		fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
	fprintf(to,
		"\nFirst minute:\n"
		"  futrace record -- ./my-service     run it and record every task\n"
		"  futrace report                     what happened\n\n"
		"'futrace COMMAND -h' tells a command's options, 'man futrace-COMMAND' the rest.\n");
}

static void print_usage(const struct command *c)
{
	struct strbuf text = STRBUF_INIT;

	strbuf_addf(&text, "usage: futrace %s %s\n\n%s\n", c->name, c->synopsis, c->summary);
	if (c->options) {
		strbuf_addstr(&text, "\nOptions:\n");
		opts_help(c->options, &text);
	}
	fwrite(text.s, 1, text.len, stdout);
	strbuf_release(&text);
}

/* `futrace help [COMMAND]` */
static int run_help(const void *options, int nr, char **argv)
{
	const struct command *c = nr ? find(argv[0]) : NULL;

	if (nr > 1)
		return cmd_usage("one command at a time, not also '%s'", argv[1]);
	if (nr && !c)
		return no_command(argv[0]);
	if (c)
		print_usage(c);
	else
		print_overview(stdout);
	return EXIT_OK;
}

const struct command cmd_help = {
	.name = "help",
	.summary = "list the commands, or the options of one command",
	.synopsis = "[COMMAND]",
	.operands = OPERANDS_COMMAND,
	.run = run_help,
};

static bool wants_help(const struct command *c, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0)
			return true;
		if (strcmp(argv[i], "--") == 0 || (c->stop_at_operand && argv[i][0] != '-'))
			return false;
	}
	return false;
}

static enum opts_end options_end(const struct command *c)
{
	return c->keeps_dashes	    ? OPTS_KEEP_DASHES
	       : c->stop_at_operand ? OPTS_AT_OPERAND
				    : OPTS_AT_DASHES;
}

/* Of a script whose variable is not set. A program to run, and its arguments, are not ours. */
static bool has_empty_operand(const struct command *c, int nr, char **argv)
{
	for (int i = 0; i < nr && !c->stop_at_operand && strcmp(argv[i], "--") != 0; i++)
		if (!*argv[i])
			return true;
	return false;
}

/* Data that did not reach its reader must not look like success. A closed pipe is its reader's
 * wish. */
static int check_stdout(int rc)
{
	if ((fflush(stdout) || ferror(stdout)) && errno != EPIPE && rc == EXIT_OK) {
		cmd_note("cannot write the output: %s", strerror(errno));
		rc = EXIT_FAILED;
	}
	return rc;
}

struct confined {
	const struct command *c;
	const void *options;
	char **argv;
	int nr;
};

static void run_inside(void *arg, struct strbuf *answer)
{
	const struct confined *x = arg;

	pack_number(answer, check_stdout(x->c->run(x->options, x->nr, x->argv)));
}

/* Somebody ended it on purpose: that is no fault of what it read. */
static bool is_wish(int number)
{
	return number == SIGPIPE || number == SIGINT || number == SIGTERM || number == SIGHUP ||
	       number == SIGQUIT;
}

/* The program that is to be run, and its libraries, are looked for by the system's loader. */
static bool is_confined(const struct confined *x)
{
	return x->c->is_reader && !(x->nr && strcmp(x->argv[0], "--") == 0);
}

/* The operand, or the core file. */
static const char *what_is_read(const struct confined *x)
{
	for (const struct opt *o = x->c->options; !x->nr && o && o->name; o++) {
		const char *const *value = (const void *)((const char *)x->options + o->offset);

		if (strcmp(o->name, "core") == 0 && *value)
			return *value;
	}
	return x->nr ? x->argv[0] : "a process";
}

static int run_confined(struct confined *x)
{
	char *cache = cmd_cache_dir(), why[WORKER_WHY];
	struct reader r = {
		.stage = "command", .cache_dir = cache, .run = run_inside, .arg = x, .speaks = true
	};
	struct strbuf answer = STRBUF_INIT;
	int number, rc = EXIT_FAILED;
	const struct sigaction usual = { .sa_handler = SIG_DFL };
	enum worker_end end;
	struct unpack u;

	sigaction(SIGCHLD, &usual, NULL); /* or how the reader ended could not be waited for */
	end = reader_run(&r, &answer, why, &number);
	u = (struct unpack)UNPACK_INIT(answer.s, answer.len);

	if (end == WORKER_DONE)
		rc = unpack_below(&u, EXIT_FINDINGS + 1);
	else if (is_wish(number))
		raise(number);
	else
		cmd_note("%s could not be read: its reader %s", what_is_read(x), why);
	strbuf_release(&answer);
	free(cache);
	return u.is_broken ? EXIT_FAILED : rc;
}

static int run_command(const struct command *c, int argc, char **argv)
{
	struct confined x = { .c = c, .argv = argv + 1 };
	static const struct opt no_options[] = { { 0 } };
	const struct opt *table = c->options ? c->options : no_options;
	char *name = xasprintf("futrace %s", c->name);
	void *options = xcalloc(1, c->options_size);
	struct err e = ERR_INIT;
	int nr, rc;

	current_name = name;
	if (c->defaults)
		memcpy(options, c->defaults, c->options_size);
	if (wants_help(c, argc, argv)) {
		print_usage(c);
		rc = EXIT_OK;
	} else {
		nr = opts_parse(table, options, argc, argv, options_end(c), &e);
		x.options = options;
		x.nr = nr;
		rc = nr < 0 ? cmd_usage("%s", e.msg)
		     : has_empty_operand(c, nr, argv + 1)
			     ? cmd_usage("an operand is empty: is a variable unset?")
		     : is_confined(&x) ? run_confined(&x)
				       : c->run(options, nr, argv + 1);
	}
	rc = check_stdout(rc);
	current_name = "futrace";
	opts_release(table, options);
	free(options);
	free(name);
	return rc;
}

/* `cargo futrace …` runs `cargo-futrace futrace …`, which is a link to this program. */
static bool is_cargo_plugin(const char *program)
{
	const char *slash = strrchr(program, '/');

	return strcmp(slash ? slash + 1 : program, "cargo-futrace") == 0;
}

/*
 * No file of ours takes the number of a stream that is closed: words for people would be written
 * into it. What stands there instead can be neither read nor written, nor does a program inherit
 * it.
 */
static void hold_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", O_CLOEXEC | (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY));
}

int main(int argc, char **argv)
{
	const struct command *c;

	hold_streams();
	set_no_memory_handler(no_memory);
	reader_set_fault(getenv("FUTRACE_TEST_READER"));
	if (argc && is_cargo_plugin(argv[0])) {
		bool by_cargo = argc > 1 && strcmp(argv[1], "futrace") == 0;

		return run_command(&cmd_cargo, argc - by_cargo, argv + by_cargo);
	}
	if (argc < 2) {
		print_overview(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0 ||
	    strcmp(argv[1], "version") == 0) {
		puts("futrace " FUTRACE_VERSION);
		return check_stdout(EXIT_OK);
	}
	if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0) {
		print_overview(stdout);
		return check_stdout(EXIT_OK);
	}
	c = find(argv[1]);
	if (!c)
		return no_command(argv[1]);
	return run_command(c, argc - 1, argv + 1);
}
