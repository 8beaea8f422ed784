// SPDX-License-Identifier: MIT OR Apache-2.0
/* The formats, in the order in which help lists them: one line each. */
#ifndef EXPORT_EXPORTERS_H
#define EXPORT_EXPORTERS_H

#include "export/export.h"

/* clang-format off */
#define EXPORTERS \
	EXPORTER(perfetto) \
	EXPORTER(chrome) \
	EXPORTER(html) \
	EXPORTER(folded) \
	EXPORTER(pprof) \
	EXPORTER(speedscope) \
	EXPORTER(sqlite) \
	EXPORTER(ndjson) \
	EXPORTER(csv)
/* clang-format on */

#define EXPORTER(name) extern const struct exporter exporter_##name;
EXPORTERS
#undef EXPORTER

#endif
