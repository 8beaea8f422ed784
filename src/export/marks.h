// SPDX-License-Identifier: MIT OR Apache-2.0
/* What formats share of the program's own marks and spans. */
#ifndef EXPORT_MARKS_H
#define EXPORT_MARKS_H

#include <string.h>

#include "base/json.h"
#include "model/recording.h"

/* Was anything marked, as far as that model has read? */
static inline bool marks_are_in(const struct model *m)
{
	const uint64_t *nr = model_get_totals(m)->nr_events_by_kind;

	return nr[EV_MARK] || nr[EV_SPAN_START];
}

/* NULL when it is not known. */
static inline const char *mark_name(const struct recording *rec, uint32_t name)
{
	return name ? trace_get_string(rec->trace, name) : NULL;
}

/* The text of a field, with a zero behind it; what follows a zero of its own is left out. */
static inline const char *field_text(const struct model_field *f,
				     char buf[MODEL_MAX_TEXT_BYTES + 1])
{
	uint32_t len = MIN(f->text_len, (uint32_t)MODEL_MAX_TEXT_BYTES);

	if (len)
		memcpy(buf, f->text, len);
	buf[len] = '\0';
	return buf;
}

static inline double field_fraction(const struct model_field *f)
{
	double value;

	memcpy(&value, &f->value, sizeof(value));
	return value;
}

/* An object: what the program said besides. */
void marks_put_fields(struct json *j, const char *key, const struct recording *rec,
		      const struct model_field *fields, uint32_t nr);

#endif
