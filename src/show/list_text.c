// SPDX-License-Identifier: MIT OR Apache-2.0
/* `futrace list` for people: as `dtrace -l` has it, with the types of arguments behind. */
#include <string.h>

#include "base/format.h"
#include "base/utf8.h"
#include "model/shorten.h"
#include "show/list.h"
#include "symbol/sdt_args.h"

#define ID_WIDTH       5 /* all four as DTrace has them */
#define PROVIDER_WIDTH 10
#define MODULE_WIDTH   17
#define FUNCTION_WIDTH 33

bool list_arg_type(const struct list_row *r, size_t arg, struct strbuf *out)
{
	const struct probe_site *sites = r->home->file->sites.v + r->probe->first_site;
	struct sdt_arg args[SDT_MAX_ARGS];
	bool is_first = true;

	strbuf_reset(out);
	for (uint32_t i = 0; i < r->probe->nr_sites; i++) {
		size_t nr = sdt_args_parse(sites[i].args, args, SDT_MAX_ARGS);
		const char *type;

		if (arg >= MIN(nr, (size_t)SDT_MAX_ARGS))
			continue;
		type = sdt_arg_type(&args[arg]);
		if (!is_first && str_has_item(out->s, type, "|"))
			continue;
		strbuf_addf(out, "%s%s", is_first ? "" : "|", type);
		is_first = false;
	}
	return !is_first;
}

/* Right-aligned, and safe for a terminal. */
static void add_cell(struct strbuf *line, const char *text, size_t width)
{
	struct strbuf clean = STRBUF_INIT;
	size_t columns;

	strbuf_add_clean(&clean, *text ? text : "-", MAX(strlen(text), (size_t)1));
	columns = utf8_columns(clean.s, clean.len);
	for (; columns < width; columns++)
		strbuf_addch(line, ' ');
	strbuf_addf(line, "%s ", clean.s);
	strbuf_release(&clean);
}

static void add_function(struct strbuf *line, const char *function, const struct styles *styles)
{
	struct strbuf text = STRBUF_INIT;

	if (styles->is_terminal) /* others want to find it */
		shorten_type(&text, function, FUNCTION_WIDTH);
	else
		strbuf_addstr(&text, function);
	add_cell(line, text.s, FUNCTION_WIDTH);
	strbuf_release(&text);
}

static void add_row(const struct list_row *r, const struct styles *styles, struct strbuf *out)
{
	struct strbuf text = STRBUF_INIT;

	strbuf_addf(out, "%*u ", ID_WIDTH, r->id);
	strbuf_addstr(&text, r->probe->provider);
	if (r->home->pid)
		strbuf_adduint(&text, r->home->pid);
	add_cell(out, text.s, PROVIDER_WIDTH);
	add_cell(out, r->home->file->module, MODULE_WIDTH);
	add_function(out, r->probe->function, styles);
	strbuf_add_clean(out, r->probe->name, strlen(r->probe->name));
	for (size_t i = 0; list_arg_type(r, i, &text); i++)
		strbuf_addf(out, "%s%s", i ? ", " : " ", text.s);
	if (r->probe->nr_sites > 1)
		strbuf_addf(out, " (%u sites)", r->probe->nr_sites);
	strbuf_addch(out, '\n');
	strbuf_release(&text);
}

static void add_address(struct strbuf *out, const struct probe_home *h, uint64_t va, uint64_t off)
{
	strbuf_addf(out, "0x%llx", (unsigned long long)(h->base + va));
	if (off)
		strbuf_addf(out, ", at 0x%llx of the file", (unsigned long long)off);
	else
		strbuf_addstr(out, ", not in the file: the kernel cannot increment it");
}

static void add_site(const struct list_row *r, uint32_t index, struct strbuf *out)
{
	const struct probe_home *h = r->home;
	const struct probe_site *site = &h->file->sites.v[index];
	struct sdt_arg args[SDT_MAX_ARGS];
	size_t nr = sdt_args_parse(site->args, args, SDT_MAX_ARGS);

	strbuf_addstr(out, "\tsite       ");
	add_address(out, h, site->va, site->off);
	strbuf_addch(out, '\n');
	for (size_t i = 0; i < MIN(nr, (size_t)SDT_MAX_ARGS); i++) {
		strbuf_addf(out, "\t  args[%zu]: %s ", i, sdt_arg_type(&args[i]));
		strbuf_add_clean(out, args[i].text, args[i].text_len);
		if (args[i].where == SDT_UNKNOWN)
			strbuf_addstr(out, " (not understood)");
		strbuf_addch(out, '\n');
	}
	if (nr > SDT_MAX_ARGS)
		strbuf_addf(out, "\t  and %zu more arguments\n", nr - SDT_MAX_ARGS);
	if (site->semaphore_va) {
		strbuf_addstr(out, "\t  semaphore ");
		add_address(out, h, site->semaphore_va, site->semaphore_off);
		if (h->values && h->values[index] != PROBE_NO_VALUE)
			strbuf_addf(out, ", now %d", h->values[index]);
		strbuf_addch(out, '\n');
	}
}

static void add_details(const struct list_row *r, struct strbuf *out)
{
	const struct probe *p = r->probe;

	strbuf_addstr(out, "\n\tfile       ");
	strbuf_add_clean(out, r->home->file->path, strlen(r->home->file->path));
	if (strcmp(p->name, p->note_name) != 0) {
		strbuf_addstr(out, "\n\tin notes   ");
		strbuf_add_clean(out, p->note_name, strlen(p->note_name));
	}
	strbuf_addch(out, '\n');
	for (uint32_t i = 0; i < p->nr_sites; i++)
		add_site(r, p->first_site + i, out);
	strbuf_addch(out, '\n');
}

void list_text(const struct probe_list *l, bool is_verbose, const struct styles *styles,
	       struct out *out)
{
	strbuf_addf(&out->buf, "%*s %*s %*s %*s NAME\n", ID_WIDTH, "ID", PROVIDER_WIDTH, "PROVIDER",
		    MODULE_WIDTH, "MODULE", FUNCTION_WIDTH, "FUNCTION");
	vec_each (r, &l->rows) {
		add_row(r, styles, &out->buf);
		if (is_verbose)
			add_details(r, &out->buf);
		out_spill(out);
	}
}

void list_files(const struct probe_list *l, struct out *out)
{
	const struct probe_file *last = NULL;

	vec_each (r, &l->rows) {
		if (r->home->file != last)
			strbuf_addf(&out->buf, "%s\n", r->home->file->path);
		last = r->home->file;
	}
}

void list_notes(const struct probes *p, const struct note_sink *notes)
{
	if (p->nr_broken)
		note_add(notes,
			 "%u note%s of probes could not be read: truncated, or not of "
			 "code",
			 p->nr_broken, plural(p->nr_broken));
	if (p->nr_unreadable)
		note_add(notes, "%u mapped file%s could not be read: %s", p->nr_unreadable,
			 plural(p->nr_unreadable), p->unreadable.msg);
	if (p->nr_denied)
		note_add(notes, "%u process%s not inspected: %s", p->nr_denied,
			 p->nr_denied == 1 ? " was" : "es were", p->denied.msg);
}
