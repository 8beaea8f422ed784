// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Will a panic leave the future that is being polled, or does the program catch it on the way? The
 * stack tells before the unwinding begins: between the panic and our hook lies one frame that
 * catches in any case, the runtime's own. If it is the only one, the panic goes to the runtime.
 *
 * Each frame is asked as the unwinder itself asks in its search phase: by its personality routine,
 * which answers without side effects. libgcc does not hand out the personality of a frame, so it is
 * read from .eh_frame.
 */
#include "agent/agent.h"

#include <string.h>
#include <unwind.h>

/* From libgcc_s; its header is not installed. */
struct dwarf_eh_bases {
	void *tbase, *dbase, *func;
};
extern const void *_Unwind_Find_FDE(void *pc, struct dwarf_eh_bases *bases);

/* Encodings of pointers in .eh_frame. */
#define PE_FORMAT   0x0f
#define PE_ABSPTR   0x00
#define PE_UDATA4   0x03
#define PE_SDATA4   0x0b
#define PE_SDATA8   0x0c
#define PE_UDATA8   0x04
#define PE_PCREL    0x10
#define PE_APPL	    0x70
#define PE_INDIRECT 0x80

static const uint8_t *skip_leb128(const uint8_t *p)
{
	while (*p++ & 0x80)
		;
	return p;
}

/* NULL for an encoding that is not used on this architecture. */
static _Unwind_Personality_Fn read_pointer(const uint8_t *p, uint8_t encoding)
{
	uint64_t value;
	uint32_t half;

	switch (encoding & PE_FORMAT) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		memcpy(&value, p, 8);
		break;
	case PE_UDATA4:
		memcpy(&half, p, 4);
		value = half;
		break;
	case PE_SDATA4:
		memcpy(&half, p, 4);
		value = (int64_t)(int32_t)half;
		break;
	default:
		return NULL;
	}
	if ((encoding & PE_APPL) == PE_PCREL)
		value += (uint64_t)p;
	else if (encoding & PE_APPL)
		return NULL;
	if (encoding & PE_INDIRECT)
		memcpy(&value, (void *)value, 8);
	return (_Unwind_Personality_Fn)value;
}

/* The personality routine that covers pc, NULL when there is none. */
static _Unwind_Personality_Fn personality_of(uint64_t pc)
{
	struct dwarf_eh_bases bases;
	const uint8_t *fde = _Unwind_Find_FDE((void *)pc, &bases), *cie, *p;
	const char *augmentation;
	int32_t delta;

	if (!fde)
		return NULL;
	memcpy(&delta, fde + 4, 4);
	cie = fde + 4 - delta;
	augmentation = (const char *)cie + 9;
	if (*augmentation++ != 'z')
		return NULL;
	p = (const uint8_t *)augmentation + strlen(augmentation) + 1;
	p = skip_leb128(skip_leb128(p));	  /* code and data alignment */
	p = cie[8] == 1 ? p + 1 : skip_leb128(p); /* return address register */
	p = skip_leb128(p);			  /* length of what follows */
	for (; *augmentation; augmentation++) {
		if (*augmentation == 'P')
			return read_pointer(p + 1, *p);
		if (*augmentation == 'L' || *augmentation == 'R')
			p++;
	}
	return NULL;
}

struct search {
	struct _Unwind_Exception *exception;
	uint64_t end; /* of the stack that belongs to the run */
	unsigned nr_handlers;
};

static _Unwind_Reason_Code ask_frame(struct _Unwind_Context *context, void *data)
{
	struct search *s = data;
	uint64_t pc = _Unwind_GetIP(context);
	_Unwind_Personality_Fn personality;

	if (_Unwind_GetCFA(context) > s->end)
		return _URC_END_OF_STACK;
	personality = pc ? personality_of(pc - 1) : NULL; /* pc is a return address */
	if (personality && personality(1, _UA_SEARCH_PHASE, s->exception->exception_class,
				       s->exception, context) == _URC_HANDLER_FOUND)
		s->nr_handlers++;
	return _URC_NO_REASON;
}

/* The runtime catches what leaves a task, and lets pass what leaves a root future. */
bool unwind_escapes(struct _Unwind_Exception *exception, const struct core_current *run)
{
	struct search s = { .exception = exception, .end = run->frame };

	_Unwind_Backtrace(ask_frame, &s);
	return s.nr_handlers <= !run->is_root;
}
