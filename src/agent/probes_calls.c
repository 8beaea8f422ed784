// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Which of a probe's two sites is called (usdt.h): the one that the kernel replaces by a call of
 * its own, which costs a fifth less than a breakpoint, where that can do no harm. In doubt the
 * other.
 */
#include <sys/utsname.h>

#include "agent/probes_priv.h"

#define CALL_OPCODE 0xe8

#define PROBE(NAME, provider, c_name, name, args) \
	[PROBE_##NAME] = PROBES_OURS_##provider((const void *)probes_##provider##_##c_name##_call),
static const void *const call_sites[NR_PROBES] = {
#include "wire/probes.def"
};
#undef PROBE

static bool may_have_calls;

static const char *parse_number(const char *s, unsigned *nr)
{
	for (*nr = 0; *s >= '0' && *s <= '9' && *nr < 100000; s++)
		*nr = *nr * 10 + *s - '0';
	return *s == '.' ? s + 1 : s;
}

/*
 * Linux learnt it in 6.18, and in the releases below to undo it: before, it looked for the page
 * that the call leads to in the memory of the tracer. What comes after them replaces other no-ops.
 * Who mended an older one without saying so pays for breakpoints.
 */
bool probes_kernel_undoes_calls(const char *release)
{
	unsigned major, minor, patch;

	parse_number(parse_number(parse_number(release, &major), &minor), &patch);
	return (major == 6 && minor == 18 && patch >= 40) ||
	       (major == 7 && minor == 1 && patch >= 5) || (major == 7 && minor == 2 && patch >= 1);
}

void probes_allow_calls(void)
{
	struct utsname name;

	if (uname(&name) < 0 || !probes_kernel_undoes_calls(name.release))
		return;
	core_page.probe_sites = call_sites;
	may_have_calls = true;
}

/*
 * A call that came with the parent's memory leads nowhere, and is never made. Nor does the kernel
 * know it for its own when the tracer goes: it would leave the semaphore raised.
 */
void probes_forked(void)
{
	uint16_t *semaphores = (uint16_t *)probes_semaphores;

	for (int i = 0; may_have_calls && i < NR_PROBES; i++) {
		const volatile uint8_t *site = call_sites[i];

		if (site && *site == CALL_OPCODE && semaphores[i])
			__atomic_fetch_sub(&semaphores[i], 1, __ATOMIC_RELAXED);
	}
	may_have_calls = false; /* for children of this one: they find what was mended here */
}
