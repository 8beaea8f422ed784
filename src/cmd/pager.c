// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cmd/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* NULL: none. Less stops at once where the text fits the screen, and leaves colours and text. */
static const char *choose(void)
{
	const char *command = getenv("FUTRACE_PAGER"), *term = getenv("TERM");

	if (!command)
		command = getenv("PAGER");
	if (!command)
		command = "less -FRX";
	if (!term || strcmp(term, "dumb") == 0 || !*command || strcmp(command, "cat") == 0)
		return NULL;
	return command;
}

/* Is there a program that the first word names? The shell would only say so when it is too late. */
static bool can_run(const char *command)
{
	size_t len = strcspn(command, " \t");
	char *word = xstrndup(command, len);
	const char *path = getenv("PATH");
	bool found = false;

	if (strpbrk(word, "/'\"$\\=~"))
		found = word[0] != '/' || access(word, X_OK) == 0;
	while (!found && path && *path) {
		size_t dir = strcspn(path, ":");
		char *file = xasprintf("%.*s/%s", (int)dir, path, word);

		found = access(file, X_OK) == 0;
		free(file);
		path += dir + (path[dir] == ':');
	}
	free(word);
	return found;
}

static void handle(int signal, void (*handler)(int))
{
	sigaction(signal, &(struct sigaction){ .sa_handler = handler }, NULL);
}

static void run_pager(const char *command, const int fds[2])
{
	/* what an ignored signal does would be inherited */
	handle(SIGPIPE, SIG_DFL);
	dup2(fds[0], STDIN_FILENO);
	close(fds[0]);
	close(fds[1]);
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

/* A pager asks a person for keys. Where nobody sits, as in the terminal without a size that a build
 * farm makes up, it would wait for ever. */
static bool has_person(void)
{
	struct winsize size;

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) &&
	       ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col;
}

void pager_open(struct pager *p, bool is_wanted)
{
	const char *command = is_wanted && has_person() ? choose() : NULL;
	int fds[2];

	*p = (struct pager){ .fd = STDOUT_FILENO };
	/* a reader that has seen enough must not cost the exit status */
	handle(SIGPIPE, SIG_IGN);
	if (!command || !can_run(command) || pipe2(fds, O_CLOEXEC))
		return;
	p->pid = fork();
	if (p->pid == 0)
		run_pager(command, fds);
	close(fds[0]);
	if (p->pid < 0) {
		close(fds[1]);
		p->pid = 0;
		return;
	}
	p->fd = fds[1];
	/* Ctrl-C is the pager's own business while it is there */
	sigaction(SIGINT, &(struct sigaction){ .sa_handler = SIG_IGN }, &p->interrupt);
}

void pager_close(struct pager *p)
{
	if (!p->pid)
		return;
	close(p->fd);
	while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
		;
	sigaction(SIGINT, &p->interrupt, NULL);
	*p = (struct pager){ .fd = STDOUT_FILENO };
}
