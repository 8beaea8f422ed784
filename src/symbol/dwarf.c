// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Opens debug info, and chooses the units that must be read: .debug_aranges tells which hold an
 * address.
 */
#include "symbol/dwarf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/io.h"
#include "symbol/demangle.h"
#include "symbol/dwarf_index.h"

#define MAX_RATIO 1100 /* nobody packs debug info so well: anything above is a lie */
#define ZSTD	  2    /* ELFCOMPRESS_ZSTD */

static const char *const section_names[NR_RAW_SECTIONS] = {
	[RAW_INFO] = ".debug_info",
	[RAW_ABBREV] = ".debug_abbrev",
	[RAW_STR] = ".debug_str",
	[RAW_LINE_STR] = ".debug_line_str",
	[RAW_STR_OFFSETS] = ".debug_str_offsets",
	[RAW_ADDR] = ".debug_addr",
	[RAW_ARANGES] = ".debug_aranges",
	[RAW_LINE] = ".debug_line",
	[RAW_RANGES] = ".debug_ranges",
	[RAW_RNGLISTS] = ".debug_rnglists",
	[RAW_LOC] = ".debug_loc",
	[RAW_LOCLISTS] = ".debug_loclists",
};

static int section_id(const char *name)
{
	for (int i = 0; i < NR_RAW_SECTIONS; i++)
		if (strcmp(name, section_names[i]) == 0)
			return i;
	return -1;
}

/* libelf 0.188 knows zlib only. */
static bool unpack_zstd(struct dwarf *d, const Elf_Data *packed, uint64_t size_bytes,
			struct raw_section *to)
{
	size_t head = sizeof(Elf64_Chdr);
	char *data;

	if (!packed || !packed->d_buf || packed->d_size < head)
		return false;
	data = xmalloc(size_bytes + 1);
	vec_push(&d->strings, data);
	if (ZSTD_decompress(data, size_bytes, (char *)packed->d_buf + head,
			    packed->d_size - head) != size_bytes)
		return false;
	*to = (struct raw_section){ (const uint8_t *)data, size_bytes };
	return true;
}

/* Unpacks it when it is compressed. */
static bool load_section(struct dwarf *d, Elf_Scn *scn, const GElf_Shdr *sh, struct raw_section *to)
{
	Elf_Data *data;
	GElf_Chdr ch;

	if (sh->sh_flags & SHF_COMPRESSED) {
		if (!gelf_getchdr(scn, &ch) || ch.ch_size / MAX_RATIO > sh->sh_size)
			return false;
		if (ch.ch_type == ZSTD)
			return unpack_zstd(d, elf_rawdata(scn, NULL), ch.ch_size, to);
		if (elf_compress(scn, 0, 0) < 0)
			return false;
	}
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf)
		return false;
	to->data = data->d_buf;
	to->size_bytes = data->d_size;
	return true;
}

static bool load_sections(struct dwarf *d, const char **why)
{
	size_t names;
	Elf_Scn *scn = NULL;

	if (elf_getshdrstrndx(d->elf, &names) != 0)
		return false;
	while ((scn = elf_nextscn(d->elf, scn))) {
		GElf_Shdr sh;
		const char *name;
		int id;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(d->elf, names, sh.sh_name);
		id = name ? section_id(name) : -1;
		if (name && strcmp(name, DWARF_OLD_PACKED) == 0)
			*why = "its debug info is compressed in the old way (" DWARF_OLD_PACKED
			       "); unpack it with objcopy --decompress-debug-sections";
		if (id >= 0 && !d->raw.sections[id].data &&
		    !load_section(d, scn, &sh, &d->raw.sections[id]) &&
		    sh.sh_flags & SHF_COMPRESSED)
			*why = "its debug info is compressed in a way that cannot be unpacked";
	}
	return d->raw.sections[RAW_INFO].data && d->raw.sections[RAW_ABBREV].data;
}

struct dwarf *dwarf_open(const char *path, const char **why)
{
	struct dwarf *d = xcalloc(1, sizeof(*d));

	*why = "";
	elf_version(EV_CURRENT);
	d->fd = io_open(path);
	d->elf = d->fd < 0 ? NULL : elf_begin(d->fd, ELF_C_READ_MMAP, NULL);
	if (!d->elf || elf_kind(d->elf) != ELF_K_ELF || !load_sections(d, why)) {
		dwarf_close(d);
		return NULL;
	}
	raw_read_units(&d->raw);
	d->abbrevs = xcalloc(d->raw.nr_units + 1, sizeof(*d->abbrevs));
	return d;
}

void dwarf_close(struct dwarf *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->raw.nr_units; i++)
		raw_abbrevs_free(d->abbrevs[i]);
	free(d->abbrevs);
	free(d->raw.units);
	vec_release(&d->spaces);
	map_release(&d->space_by_name);
	vec_release(&d->envs);
	vec_release(&d->bodies);
	vec_release(&d->polls);
	vec_each (s, &d->strings)
		free(*s);
	vec_release(&d->strings);
	dwarf_end(d->libdw);
	elf_end(d->elf);
	if (d->fd >= 0)
		close(d->fd);
	free(d);
}

static bool any_inside(const struct dwarf_function *fns, size_t nr, uint64_t va, uint64_t len)
{
	size_t first = partition_point(i, nr, fns[i].va < va);

	return first < nr && fns[first].va - va < len;
}

/*
 * One set of .debug_aranges: a unit and the addresses that it covers. Returns where the next one
 * begins.
 */
static uint64_t read_aranges(struct dwarf *d, uint64_t off, const struct dwarf_function *fns,
			     size_t nr, bool *wanted)
{
	const struct raw_section *s = &d->raw.sections[RAW_ARANGES];
	uint32_t len, info_off;
	uint64_t end, pair[2];
	struct raw_unit *u;

	if (s->size_bytes - off < 12)
		return s->size_bytes;
	memcpy(&len, s->data + off, 4);
	memcpy(&info_off, s->data + off + 6, 4);
	end = off + 4 + (uint64_t)len;
	if (len >= 0xfffffff0 || end > s->size_bytes || len < 8)
		return s->size_bytes;
	u = raw_unit_of(&d->raw, info_off);
	if (!u && d->raw.nr_units) { /* a header's offset is before its first DIE */
		u = raw_unit_of(&d->raw, (uint64_t)info_off + 12);
		if (u && u->off != info_off)
			u = NULL;
	}
	for (off += 16; u && end - off >= sizeof(pair) && off < end; off += sizeof(pair)) {
		memcpy(pair, s->data + off, sizeof(pair));
		if (pair[1] && any_inside(fns, nr, pair[0], pair[1]))
			wanted[u - d->raw.units] = true;
	}
	return end;
}

void dwarf_choose_units(struct dwarf *d, const struct dwarf_function *fns, size_t nr, bool *wanted)
{
	for (uint64_t off = 0; off < d->raw.sections[RAW_ARANGES].size_bytes;)
		off = read_aranges(d, off, fns, nr, wanted);
}

static void finish(struct dwarf *d, struct dwarf_function *fn, struct match *m)
{
	struct raw_cursor c;
	struct raw_die die;
	uint64_t tags =
		UINT64_C(1) << DW_TAG_subprogram | UINT64_C(1) << DW_TAG_template_type_parameter;

	/* A function that was also inlined somewhere keeps its name in an abstract DIE. */
	for (unsigned hops = 0; m->has_origin && !fn->name && hops < 4; hops++) {
		if (!dwarf_cursor(d, m->origin_off, &c) || raw_next(&c, tags, &die) != 1)
			break;
		fn->name = die.name;
		if (die.decl_file)
			fn->decl_file = dwarf_file_name(d, c.unit, die.decl_file);
		m->has_origin = die.has_origin;
		m->origin_off = die.origin_off;
		while (!m->has_type && die.has_children && raw_next(&c, tags, &die) == 1 &&
		       !die.has_children) {
			if (die.tag != DW_TAG_template_type_parameter || !die.has_type)
				continue;
			m->has_type = true;
			m->type_off = die.type_off;
			break;
		}
	}
	if (fn->name && m->has_type) {
		dwarf_describe(d, m->type_off, fn);
	} else if (fn->name) {
		struct span type;

		if (type_args(fn->name, strlen(fn->name), &type, 1))
			dwarf_describe_name(d, type.s, type.len, m->unit, fn);
	}
}

static bool all_found(const struct dwarf_function *fns, const struct match *m, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!fns[i].name && !m[i].has_origin)
			return false;
	return true;
}

void dwarf_find(struct dwarf *d, struct dwarf_function *fns, size_t nr)
{
	struct match *matches = xcalloc(nr + 1, sizeof(*matches));
	bool *wanted = xcalloc(d->raw.nr_units + 1, sizeof(*wanted));

	dwarf_choose_units(d, fns, nr, wanted);
	for (size_t i = 0; i < d->raw.nr_units; i++)
		if (wanted[i])
			dwarf_walk(d, &d->raw.units[i], fns, matches, nr);
	/*
	 * Not every compiler writes .debug_aranges: then all units are read, until nothing is
	 * missing.
	 */
	for (size_t i = 0; i < d->raw.nr_units && !all_found(fns, matches, nr); i++)
		if (!d->raw.units[i].walked)
			dwarf_walk(d, &d->raw.units[i], fns, matches, nr);
	for (size_t i = 0; i < nr; i++)
		finish(d, &fns[i], &matches[i]);
	free(matches);
	free(wanted);
}

/* Enum variants are described in Rust units with full debug info only. */
bool dwarf_has_types(const struct dwarf *d)
{
	bool found = false;

	for (size_t i = 0; i < d->raw.nr_units && !found; i++) {
		struct raw_abbrevs *a = raw_abbrevs_new(&d->raw, d->raw.units[i].abbrev_off);

		found = raw_abbrevs_have(a, DW_TAG_variant_part);
		raw_abbrevs_free(a);
	}
	return found;
}

bool dwarf_is_split(struct dwarf *d)
{
	bool is_split = false;

	for (size_t i = 0; i < d->raw.nr_units && !is_split; i++) {
		struct raw_cursor c;
		struct raw_die die = { 0 };

		is_split = dwarf_cursor(d, d->raw.units[i].die_off, &c) &&
			   raw_next(&c, TAG(DW_TAG_compile_unit), &die) == 1 &&
			   (die.is_split || die.tag == DW_TAG_skeleton_unit);
	}
	return is_split;
}

uint64_t dwarf_nr_broken(const struct dwarf *d)
{
	return d->raw.nr_broken;
}
