// SPDX-License-Identifier: MIT OR Apache-2.0
#include "capture/signals.h"

#include <signal.h>
#include <string.h>

/* handle: taken note of. Otherwise ignored: a reader that left and a file that is full are write
 * errors. */
static struct caught {
	int number;
	bool handle;
	bool is_changed;
	struct sigaction before;
	volatile unsigned from_terminal, from_process; /* counted by the handler */
	volatile pid_t sender;
	unsigned taken_terminal, taken_process;
} table[] = {
	{ SIGINT, true },  { SIGTERM, true },  { SIGHUP, true },
	{ SIGQUIT, true }, { SIGUSR1, true },  { SIGUSR2, true },
	{ SIGCHLD, true }, { SIGPIPE, false }, { SIGXFSZ, false },
};

static uint32_t no_bell, *volatile bell = &no_bell;
static sigset_t mask_before;

static void on_signal(int number, siginfo_t *info, void *context)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (table[i].number != number)
			continue;
		if (info->si_code > 0) {
			table[i].from_terminal++;
		} else {
			table[i].sender = info->si_pid;
			table[i].from_process++;
		}
	}
	__atomic_fetch_add(bell, 1, __ATOMIC_RELEASE);
}

/* What was ignored when we were started (nohup, a script's background job) stays so, for us and for
 * CMD. */
static bool stays_ignored(const struct caught *c)
{
	return c->handle && c->number != SIGCHLD && c->before.sa_handler == SIG_IGN;
}

void signals_ring(uint32_t *doorbell)
{
	bell = doorbell ? doorbell : &no_bell;
}

static void change(struct caught *c)
{
	struct sigaction sa = { .sa_flags = SA_SIGINFO | SA_NOCLDSTOP };

	c->taken_terminal = c->from_terminal;
	c->taken_process = c->from_process;
	sigaction(c->number, NULL, &c->before);
	if (stays_ignored(c))
		return;
	sigfillset(&sa.sa_mask);
	if (c->handle)
		sa.sa_sigaction = on_signal;
	else
		sa.sa_handler = SIG_IGN;
	c->is_changed = sigaction(c->number, &sa, NULL) == 0;
}

void signals_ignore(void)
{
	sigprocmask(SIG_SETMASK, NULL, &mask_before);
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (!table[i].handle)
			change(&table[i]);
}

void signals_catch(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].handle)
			change(&table[i]);
	signals_unblock();
}

void signals_restore(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (table[i].is_changed)
			sigaction(table[i].number, &table[i].before, NULL);
		table[i].is_changed = false;
	}
	sigprocmask(SIG_SETMASK, &mask_before, NULL);
}

void signals_block(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
}

/* What we live by must reach us even if our parent had it blocked. */
void signals_unblock(void)
{
	sigset_t mask = mask_before;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].handle)
			sigdelset(&mask, table[i].number);
	sigprocmask(SIG_SETMASK, &mask, NULL);
}

bool signals_take(struct signal_seen *seen)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct caught *c = &table[i];

		bool terminal = c->taken_terminal != c->from_terminal;

		if (c->number == SIGCHLD || (!terminal && c->taken_process == c->from_process))
			continue;
		*seen = (struct signal_seen){ .number = c->number,
					      .from_terminal = terminal,
					      .sender = c->sender };
		if (terminal)
			c->taken_terminal++;
		else
			c->taken_process++;
		return true;
	}
	return false;
}
