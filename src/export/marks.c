// SPDX-License-Identifier: MIT OR Apache-2.0
#include "export/marks.h"

void marks_put_fields(struct json *j, const char *key, const struct recording *rec,
		      const struct model_field *fields, uint32_t nr)
{
	char buf[MODEL_MAX_TEXT_BYTES + 1];

	json_open_object(j, key);
	for (const struct model_field *f = fields; f < fields + nr; f++) {
		const char *name = trace_get_string(rec->trace, f->name);

		if (f->kind == MODEL_TEXT)
			json_str(j, name, field_text(f, buf));
		else if (f->kind == MODEL_FLOAT)
			json_exact(j, name, field_fraction(f));
		else if (f->kind == MODEL_SIGNED)
			json_int(j, name, f->value);
		else
			json_uint(j, name, f->value);
	}
	json_close_object(j);
}
