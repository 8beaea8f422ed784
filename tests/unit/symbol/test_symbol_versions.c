// SPDX-License-Identifier: MIT OR Apache-2.0
/* Proves that each version of a crate that a program's paths name is told, once. */
#include "runtime/scan.h"

#include "check.h"

static const struct {
	const char *text, *versions;
} cases[] = {
	{ "nothing", "" },
	{ "/x/tokio-1.2.10/src/lib.rs /x/tokio-1.2.1/src/lib.rs", "1.2.10 + 1.2.1" },
	{ "/x/tokio-1.2.1/src/a.rs /x/tokio-1.2.10/src/a.rs /x/tokio-1.2.1/src/b.rs",
	  "1.2.1 + 1.2.10" },
	{ "/x/my-tokio-1.2.1/src/a.rs /x/tokio-1.2/src/a.rs", "" },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct image img = { .data = (uint8_t *)cases[i].text, .nr_segments = 1 };
		struct finding f = { .img = &img };
		struct strbuf versions = STRBUF_INIT;

		img.segments[0].file_bytes = strlen(cases[i].text);
		scan_versions(&f, "tokio-1", &versions);
		check_str(versions.s, cases[i].versions);
		strbuf_release(&versions);
	}
	return check_result();
}
