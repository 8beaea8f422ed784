// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cmd/view.h"

#include <string.h>

#include "model/filter.h"

struct analyze_config *view_make_config(const struct view_opts *o, struct err *e)
{
	struct analyze_config *c = analyze_config_new();

	for (size_t i = 0; i < o->thresholds.nr; i++)
		if (analyze_config_set(c, o->thresholds.v[i], e))
			goto fail;
	for (size_t i = 0; i < o->allows.nr; i++)
		if (analyze_config_allow(c, o->allows.v[i], e))
			goto fail;
	return c;
fail:
	analyze_config_free(c);
	return NULL;
}

/* "1.5s", "200ms", "50%" of the recording. */
static int parse_moment(const char *text, size_t len, uint64_t duration_ns, uint64_t *ns)
{
	char *word = xstrndup(text, len), *end;
	int rc = 0;

	if (len && word[len - 1] == '%') {
		double percent = strtod(word, &end);

		if (*word < '0' || *word > '9' || word[1] == 'x' || word[1] == 'X' ||
		    end != word + len - 1 || !(percent >= 0 && percent <= 100))
			rc = -1;
		else
			*ns = (double)duration_ns * percent / 100;
	} else {
		rc = parse_time(word, ns);
	}
	free(word);
	return rc;
}

/* "A..B", "A..", "..B", "A+LENGTH" */
static int parse_range(const char *text, uint64_t duration_ns, struct recording_view *v)
{
	const char *dots = strstr(text, ".."), *plus = strchr(text, '+');
	const char *sep = dots ? dots : plus, *rest;

	if (!sep)
		return -1;
	rest = sep + (dots ? 2 : 1);
	v->to_ns = duration_ns;
	if ((sep > text || plus) &&
	    parse_moment(text, (size_t)(sep - text), duration_ns, &v->from_ns))
		return -1;
	if ((*rest || plus) && parse_moment(rest, strlen(rest), duration_ns, &v->to_ns))
		return -1;
	if (!dots)
		v->to_ns += MIN(v->from_ns, UINT64_MAX - v->to_ns);
	return sep == text && !*rest ? -1 : 0;
}

static int set_range(struct recording_view *v, const char *text, uint64_t duration_ns,
		     struct err *e)
{
	if (parse_range(text, duration_ns, v))
		return err_set(e, ERR_USAGE,
			       "--time-range takes A..B or A+LENGTH, such as 1.5s..2s, 50%%..60%% "
			       "or 2s+100ms, not '%s'",
			       text);
	if (v->from_ns >= v->to_ns)
		return err_set(e, ERR_USAGE, "--time-range %s: there is nothing between", text);
	if (v->from_ns >= duration_ns)
		return err_set(e, ERR_USAGE, "--time-range %s: the recording is over at %.9gs",
			       text, duration_ns / 1e9);
	return 0;
}

int view_init(struct view *v, const struct view_opts *o, const struct recording *rec, struct err *e)
{
	*v = (struct view){ 0 };
	v->config = view_make_config(o, e);
	if (!v->config)
		return -1;
	if ((o->time_range &&
	     set_range(&v->recording, o->time_range, trace_get_duration(rec->trace), e)) ||
	    (o->filter && !(v->recording.filter = filter_new(rec, o->filter, e)))) {
		view_release(v);
		return -1;
	}
	progress_init(&v->progress, o->quiet);
	v->recording.progress = progress_show;
	v->recording.progress_end = progress_erase;
	v->recording.progress_arg = &v->progress;
	return 0;
}

void view_release(struct view *v)
{
	analyze_config_free(v->config);
	filter_free(v->recording.filter);
	*v = (struct view){ 0 };
}
