/* SPDX-License-Identifier: MIT */
/* The processor's name, by /proc/cpuinfo. Part numbers are those of MIDR_EL1 in Arm's manuals of
 * these cores. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "preload/base/cpu_name.h"

/* Cores of machines that have NVIDIA GPUs. */
static const struct arm_core {
	uint32_t implementer, part;
	const char *name;
} arm_cores[] = {
	{0x41, 0xd0c, "Arm Neoverse N1"}, {0x41, 0xd40, "Arm Neoverse V1"},
	{0x41, 0xd49, "Arm Neoverse N2"}, {0x41, 0xd4f, "Arm Neoverse V2"},
	{0x41, 0xd84, "Arm Neoverse V3"}, {0x41, 0xd85, "Arm Cortex-X925"},
	{0x41, 0xd87, "Arm Cortex-A725"}, {0xc0, 0xac3, "Ampere-1"},
};

/* Returns what follows LABEL at the start of a line, without spaces and the colon; NULL: there is
 * no such line. */
static const char *find_value(const char *text, const char *label)
{
	size_t n = strlen(label);

	while (strncmp(text, label, n)) {
		text = strchr(text, '\n');
		if (!text++)
			return NULL;
	}
	return text + n + strspn(text + n, " \t:");
}

void nvs_cpu_name(const char *text, char *name, size_t room)
{
	const char *model = find_value(text, "model name");
	const char *implementer = find_value(text, "CPU implementer");
	const char *part = find_value(text, "CPU part");
	uint32_t made_by, number;

	*name = '\0';
	if (model)
		snprintf(name, room, "%.*s", (int)strcspn(model, "\n"), model);
	if (model || !implementer || !part)
		return;
	made_by = (uint32_t)strtoul(implementer, NULL, 0);
	number = (uint32_t)strtoul(part, NULL, 0);
	snprintf(name, room, "implementer 0x%x, part 0x%x", made_by, number);
	for (size_t i = 0; i < sizeof(arm_cores) / sizeof(*arm_cores); i++)
		if (arm_cores[i].implementer == made_by && arm_cores[i].part == number)
			snprintf(name, room, "%s", arm_cores[i].name);
}
