/* SPDX-License-Identifier: MIT */
/* Looks up the layouts of kernel driver structures, which differ between releases. */
#include "preload/rm/abi.h"

uint32_t nvs_abi_release(const char *text)
{
	uint32_t part[3] = {0, 0, 0};
	int n = 0;

	for (; n < 3; n++) {
		if (*text < '0' || *text > '9')
			break;
		while (*text >= '0' && *text <= '9' && part[n] < 100000)
			part[n] = part[n] * 10 + (uint32_t)(*text++ - '0');
		if (*text != '.') {
			n++;
			break;
		}
		text++;
	}
	if (n < 2 || part[0] < 100 || part[0] > 4095 || part[1] > 4095 || part[2] > 255)
		return 0;
	return NVS_RELEASE(part[0], part[1], part[2]);
}

const struct nvs_abi_form *nvs_abi_form(const struct nvs_abi_structure *s, uint32_t release)
{
	uint32_t i = s->n - 1;

	while (i && s->forms[i].first > release)
		i--;
	return &s->forms[i];
}

static const struct nvs_abi_escape *find_escape(unsigned nr)
{
	const struct nvs_abi_escape *e = nvs_abi_escapes;

	while (e->nr && e->nr != nr)
		e++;
	return e;
}

bool nvs_abi_knows_escape(unsigned nr)
{
	return find_escape(nr)->nr;
}

bool nvs_abi_follows_escape(unsigned nr)
{
	return find_escape(nr)->params[0];
}

bool nvs_abi_knows_uvm(unsigned long nr)
{
	const uint32_t *known = nvs_abi_uvm;

	while (*known && *known != nr)
		known++;
	return *known;
}

/* The form of SIZE bytes that the release has, else the oldest of this size. */
static const struct nvs_abi_form *find_form(const struct nvs_abi_structure *s, uint32_t release,
					    unsigned size)
{
	const struct nvs_abi_form *found = NULL;

	for (uint32_t i = 0; i < s->n; i++)
		if (s->forms[i].size == size && (!found || s->forms[i].first <= release))
			found = &s->forms[i];
	return found;
}

const struct nvs_abi_form *nvs_abi_escape_form(uint32_t release, unsigned nr, unsigned size)
{
	const struct nvs_abi_escape *e = find_escape(nr);
	const struct nvs_abi_form *form = NULL;

	for (int i = 0; i < 2 && e->params[i] && !form; i++)
		form = find_form(e->params[i], release, size);
	return form;
}

static const struct nvs_abi_class *find_class(uint32_t object_class)
{
	const struct nvs_abi_class *c = nvs_abi_classes;

	while (c->mask && (object_class > 0xffff || (object_class & c->mask) != c->object_class))
		c++;
	return c;
}

bool nvs_abi_knows_class(uint32_t object_class)
{
	return find_class(object_class)->params;
}

uint32_t nvs_abi_params_size(uint32_t release, uint32_t object_class)
{
	const struct nvs_abi_class *c = find_class(object_class);
	const struct nvs_abi_form *form = c->params ? nvs_abi_form(c->params, release) : NULL;

	/* Before its first release the class had no parameters. */
	return form && form->first <= release ? form->size : 0;
}
