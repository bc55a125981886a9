/* SPDX-License-Identifier: MIT */
/* Opens a module's file with libelf, and compares its build-id with the trace's. */
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "decode/trace/elf.h"

void nvs_elf_close(struct nvs_elf_file *f)
{
	if (f->elf)
		elf_end(f->elf);
	if (f->fd > 0)
		close(f->fd);
	memset(f, 0, sizeof(*f));
}

bool nvs_elf_open(struct nvs_elf_file *f, const char *path)
{
	struct stat st;

	f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (f->fd < 0) {
		f->fd = 0;
		return false;
	}
	elf_version(EV_CURRENT);
	if (fstat(f->fd, &st) == 0 && S_ISREG(st.st_mode))
		f->elf = elf_begin(f->fd, ELF_C_READ, NULL);
	if (f->elf && elf_kind(f->elf) == ELF_K_ELF)
		return true;
	nvs_elf_close(f);
	return false;
}

static bool note_matches(Elf_Data *data, const struct nvs_trace_module *m, bool *seen)
{
	size_t at = 0, name, desc;
	GElf_Nhdr nhdr;

	while ((at = gelf_getnote(data, at, &nhdr, &name, &desc)) > 0) {
		if (nhdr.n_type != NT_GNU_BUILD_ID || nhdr.n_namesz != 4 ||
		    memcmp((char *)data->d_buf + name, "GNU", 4))
			continue;
		*seen = true;
		if (nhdr.n_descsz == m->build_id_length &&
		    !memcmp((char *)data->d_buf + desc, m->build_id, nhdr.n_descsz))
			return true;
	}
	return false;
}

bool nvs_elf_matches(const struct nvs_elf_file *f, const struct nvs_trace_module *m)
{
	Elf_Scn *scn = NULL;
	bool seen = false;
	size_t n = 0;

	if (!m->build_id_length)
		return true;
	while ((scn = elf_nextscn(f->elf, scn))) {
		GElf_Shdr shdr;
		Elf_Data *data;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_NOTE)
			continue;
		data = elf_getdata(scn, NULL);
		if (data && note_matches(data, m, &seen))
			return true;
	}
	/* Without section headers, use the program headers. */
	elf_getphdrnum(f->elf, &n);
	for (size_t i = 0; !seen && i < n; i++) {
		GElf_Phdr phdr;
		Elf_Data *data;

		if (!gelf_getphdr(f->elf, (int)i, &phdr) || phdr.p_type != PT_NOTE)
			continue;
		data = elf_getdata_rawchunk(f->elf, (int64_t)phdr.p_offset, phdr.p_filesz,
					    ELF_T_NHDR);
		if (data && note_matches(data, m, &seen))
			return true;
	}
	return false;
}
