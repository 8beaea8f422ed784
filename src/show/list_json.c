// SPDX-License-Identifier: MIT OR Apache-2.0
/* `futrace list --json` */
#include <string.h>

#include "base/json.h"
#include "show/list.h"
#include "symbol/sdt_args.h"

static void add_text(struct json *j, const char *key, const char *text, size_t len)
{
	char *copy = text ? xstrndup(text, len) : NULL;

	json_str(j, key, copy);
	free(copy);
}

static void add_register(struct json *j, const char *key, const struct sdt_reg *r)
{
	char name[SDT_REG_NAME_SIZE];

	if (r->kind)
		json_str(j, key, sdt_reg_name(r, name));
}

static void add_arg(struct json *j, const struct sdt_arg *a)
{
	json_open_object(j, NULL);
	json_str(j, "type", sdt_arg_type(a));
	if (a->size_bytes)
		json_uint(j, "size_bytes", a->size_bytes);
	else
		json_null(j, "size_bytes");
	add_text(j, "operand", a->text, a->text_len);
	json_str(j, "where", sdt_where_name(a->where));
	if (a->where == SDT_REGISTER) {
		add_register(j, "register", &a->base);
	} else if (a->where == SDT_CONSTANT || a->where == SDT_MEMORY) {
		json_int(j, "value", a->value);
		add_text(j, "symbol", a->symbol, a->symbol_len);
	}
	if (a->where == SDT_MEMORY) {
		add_register(j, "base", &a->base);
		add_register(j, "index", &a->index);
		if (a->index.kind)
			json_uint(j, "scale", a->scale);
		if (a->segment)
			json_str(j, "segment", a->segment == 'f' ? "fs" : "gs");
	}
	json_close_object(j);
}

/* What a process has by its own addresses has them, too. */
static void add_addresses(struct json *j, const struct probe_home *h, uint64_t va, uint64_t off)
{
	json_uint(j, "va", va);
	if (off)
		json_uint(j, "off", off);
	else
		json_null(j, "off");
	if (h->pid)
		json_uint(j, "addr", h->base + va);
}

static void add_site(struct json *j, const struct probe_home *h, uint32_t index)
{
	const struct probe_site *site = &h->file->sites.v[index];
	struct sdt_arg args[SDT_MAX_ARGS];
	size_t nr = sdt_args_parse(site->args, args, SDT_MAX_ARGS);

	json_open_object(j, NULL);
	add_addresses(j, h, site->va, site->off);
	if (site->semaphore_va) {
		json_open_object(j, "semaphore");
		add_addresses(j, h, site->semaphore_va, site->semaphore_off);
		if (h->values && h->values[index] != PROBE_NO_VALUE)
			json_int(j, "value", h->values[index]);
		else
			json_null(j, "value");
		json_close_object(j);
	} else {
		json_null(j, "semaphore");
	}
	json_open_array(j, "arguments");
	for (size_t i = 0; i < MIN(nr, (size_t)SDT_MAX_ARGS); i++)
		add_arg(j, &args[i]);
	json_close_array(j);
	json_str(j, "note_arguments", site->args);
	json_close_object(j);
}

static void add_row(struct json *j, const struct list_row *r)
{
	const struct probe *p = r->probe;
	struct strbuf text = STRBUF_INIT;

	json_open_object(j, NULL);
	json_uint(j, "id", r->id);
	strbuf_addstr(&text, p->provider);
	if (r->home->pid) {
		json_uint(j, "pid", r->home->pid);
		strbuf_adduint(&text, r->home->pid);
	}
	json_str(j, "provider", text.s);
	json_str(j, "note_provider", p->provider);
	json_str(j, "module", r->home->file->module);
	json_str(j, "path", r->home->file->path);
	json_str(j, "function", *p->function ? p->function : NULL);
	json_str(j, "symbol", *p->symbol ? p->symbol : NULL);
	json_str(j, "name", p->name);
	json_str(j, "note_name", p->note_name);
	json_open_array(j, "types");
	for (size_t i = 0; list_arg_type(r, i, &text); i++)
		json_str(j, NULL, text.s);
	json_close_array(j);
	json_open_array(j, "sites");
	for (uint32_t i = 0; i < p->nr_sites; i++)
		add_site(j, r->home, p->first_site + i);
	json_close_array(j);
	json_close_object(j);
	strbuf_release(&text);
}

void list_json(const struct probe_list *l, struct out *out)
{
	struct json *j = xmalloc(sizeof(*j));

	json_init(j, &out->buf);
	json_open_object(j, NULL);
	json_uint(j, "schema", 1);
	json_uint(j, "broken_notes", l->probes.nr_broken);
	json_uint(j, "files_unreadable", l->probes.nr_unreadable);
	json_uint(j, "processes_denied", l->probes.nr_denied);
	json_open_array(j, "probes");
	vec_each (r, &l->rows) {
		add_row(j, r);
		out_spill(out);
	}
	json_close_array(j);
	json_close_object(j);
	strbuf_addch(&out->buf, '\n');
	free(j);
}
