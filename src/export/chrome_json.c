// SPDX-License-Identifier: MIT OR Apache-2.0
/* The parts that events of the Chrome exporter are made of. */
#include "base/json.h"
#include "export/chrome.h"

void chrome_quote(struct strbuf *out, const char *text)
{
	struct json j;

	json_init(&j, out);
	json_str(&j, NULL, text);
}

void chrome_put_colour(struct strbuf *b, uint64_t task_nr)
{
	static const char *const colours[] = {
		"thread_state_running",
		"rail_animation",
		"rail_response",
		"thread_state_iowait",
		"good",
		"rail_load",
		"detailed_memory_dump",
		"yellow",
		"startup",
		"vsync_highlight_color",
		"light_memory_dump",
		"cq_build_passed",
		"olive",
	};

	strbuf_addf(b, ",\"cname\":\"%s\"", colours[task_nr % ARRAY_SIZE(colours)]);
}

void chrome_put_await(struct strbuf *b, const struct trace_step *s)
{
	struct strbuf place = STRBUF_INIT;

	step_add_place(&place, s);
	if (place.len) {
		strbuf_addstr(b, "\"await\":");
		chrome_quote(b, place.s);
	}
	strbuf_release(&place);
}

void chrome_put_place(struct strbuf *b, const struct recording *rec, uint32_t thread,
		      uint64_t time_ns)
{
	uint32_t tid = recording_thread_tid(rec, thread);

	put_number(b, ",\"pid\":", rec->meta->pid);
	put_number(b, ",\"tid\":", tid ? tid : rec->meta->pid);
	put_time(b, ",\"ts\":", time_ns);
}
