// SPDX-License-Identifier: MIT OR Apache-2.0
#include "capture/unhook.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/maps.h"
#include "wire/mark.h"

struct range {
	uint64_t from, to;
};

/* The agent's executable segment. False when it is not there. */
static bool find_agent(uint32_t pid, const char *agent_path, struct range *code)
{
	struct maps_line line;
	struct maps maps;
	bool found = false;

	maps_open(&maps, pid, NULL);
	while (!found && maps_next(&maps, &line))
		found = line.perms[2] == 'x' && strcmp(line.path, agent_path) == 0;
	if (found)
		*code = (struct range){ line.addr, line.end_addr };
	maps_close(&maps);
	return found;
}

static bool restore_slot(int mem, const struct range *agent, uint64_t addr, uint64_t original)
{
	uint64_t now;

	return pread(mem, &now, sizeof(now), addr) == sizeof(now) && now >= agent->from &&
	       now < agent->to && pwrite(mem, &original, sizeof(original), addr) == sizeof(now);
}

/* A slot of the crate goes back to what it was, but for its tracers' probes. */
static bool switch_marks_off(int mem, const struct range *agent, uint64_t addr)
{
	const uint16_t off = 0;

	return restore_slot(mem, agent, addr + offsetof(struct wire_mark_slot, record), 0) &&
	       pwrite(mem, &off, sizeof(off), addr + offsetof(struct wire_mark_slot, recorder)) ==
		       sizeof(off);
}

/* The plan itself: what lies in shared memory could have been changed. */
static unsigned restore_object(int mem, const struct range *agent, const struct process_object *o)
{
	unsigned nr = 0;

	for (uint32_t i = 0; i < o->nr_planned; i++) {
		const struct wire_table *t = &o->d->tables[i].plan;
		const uint8_t slots[] = { t->slot_poll,	    t->slot_schedule, t->slot_dealloc,
					  t->slot_shutdown, t->slot_wake,     t->slot_wake_by_ref,
					  t->slot_abort,    t->slot_detach };

		for (size_t k = 0; k < ARRAY_SIZE(slots); k++)
			if (slots[k] < t->nr_words && t->code_mask & 1u << slots[k])
				nr += restore_slot(mem, agent, o->base + t->va + slots[k] * 8,
						   o->base + t->words[slots[k]]);
	}
	for (uint32_t i = 0; i < o->nr_marks; i++)
		nr += switch_marks_off(mem, agent, o->base + o->d->marks.slots[i].va);
	return nr;
}

unsigned unhook_process(const struct process *p, const char *agent_path)
{
	struct range agent;
	unsigned nr = 0;
	char path[64];
	int mem;

	if (!find_agent(p->pid, agent_path, &agent))
		return 0;
	snprintf(path, sizeof(path), "/proc/%u/mem", p->pid);
	mem = open(path, O_RDWR | O_CLOEXEC);
	if (mem < 0)
		return 0;
	vec_each (o, &p->objects)
		nr += restore_object(mem, &agent, o);
	close(mem);
	return nr;
}
