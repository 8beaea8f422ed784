// SPDX-License-Identifier: MIT OR Apache-2.0
#include "export/export.h"

#include <string.h>

#include "export/exporters.h"

const struct exporter *const exporters[] = {
#define EXPORTER(name) &exporter_##name,
	EXPORTERS
#undef EXPORTER
		NULL,
};

const struct exporter *exporter_find(const char *name)
{
	for (const struct exporter *const *x = exporters; *x; x++)
		if (strcmp((*x)->name, name) == 0)
			return *x;
	return NULL;
}
