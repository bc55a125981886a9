/* SPDX-License-Identifier: MIT */
/* Finds out what a cluster calls this process: from variables that a pod's manifest or Slurm sets,
 * from the names of its cgroups, and from the paths of its mounts. */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "preload/base/workload.h"

#define ID_DIGITS 64 /* of a container */
#define UID_CHARS 36 /* of a pod: 8-4-4-4-12 digits */

/* Kubernetes names none itself: the manifest sets them by its downward API. */
static const char *const variables[NVS_LIVE_WORKLOADS] = {
	[NVS_LIVE_POD] = "POD_NAME",	[NVS_LIVE_POD_NAMESPACE] = "POD_NAMESPACE",
	[NVS_LIVE_POD_UID] = "POD_UID", [NVS_LIVE_CONTAINER] = "CONTAINER_NAME",
	[NVS_LIVE_NODE] = "NODE_NAME",	[NVS_LIVE_SLURM_JOB] = "SLURM_JOB_ID",
};

void nvs_workload_read_environment(struct nvs_workload *w)
{
	for (int i = 0; i < NVS_LIVE_WORKLOADS; i++) {
		const char *value = variables[i] ? getenv(variables[i]) : NULL;

		if (value && strlen(value) < NVS_WORKLOAD_BYTES)
			strcpy(w->text[i], value);
	}
}

static size_t count_digits(const char *text)
{
	return strspn(text, "0123456789abcdef");
}

/* Copies the pod's UID at TEXT. Slices of systemd have '_' in place of '-'. */
static bool copy_uid(char *to, const char *text)
{
	char uid[UID_CHARS + 1] = "";

	for (size_t i = 0; i < UID_CHARS; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? text[i] != '-' && text[i] != '_' : !count_digits(text + i))
			return false;
		uid[i] = dash ? '-' : text[i];
	}
	strcpy(to, uid);
	return true;
}

static void copy_id(char *to, const char *text)
{
	if (count_digits(text) != ID_DIGITS || isalnum((unsigned char)text[ID_DIGITS]))
		return;
	memcpy(to, text, ID_DIGITS);
	to[ID_DIGITS] = '\0';
}

/* The last names are those of the innermost pod and container. */
void nvs_workload_parse_cgroup(struct nvs_workload *w, const char *text)
{
	static const char pod[] = "pod";
	bool find_uid = !*w->text[NVS_LIVE_POD_UID];

	for (const char *at = text; find_uid && (at = strstr(at, pod));)
		copy_uid(w->text[NVS_LIVE_POD_UID], at += sizeof(pod) - 1);
	for (; *text; text++)
		if (*text == '/' || *text == '-')
			copy_id(w->text[NVS_LIVE_CONTAINER_ID], text + 1);
}

/* TEXT is what follows the UID in a path of the kubelet: /containers/NAME/... */
static void copy_container(char *to, const char *text)
{
	static const char folder[] = "/containers/";
	size_t n;

	if (strncmp(text, folder, sizeof(folder) - 1))
		return;
	text += sizeof(folder) - 1;
	n = strcspn(text, "/ \n");
	if (n >= NVS_WORKLOAD_BYTES)
		return;
	memcpy(to, text, n);
	to[n] = '\0';
}

void nvs_workload_parse_mounts(struct nvs_workload *w, const char *text)
{
	static const char pods[] = "/pods/", ids[] = "containers/";
	bool in_pod = false, known = *w->text[NVS_LIVE_CONTAINER_ID];
	char uid[UID_CHARS + 1];

	for (const char *at = text; (at = strstr(at, pods));) {
		at += sizeof(pods) - 1;
		if (!copy_uid(uid, at))
			continue;
		in_pod = true;
		if (!*w->text[NVS_LIVE_POD_UID])
			strcpy(w->text[NVS_LIVE_POD_UID], uid);
		if (!*w->text[NVS_LIVE_CONTAINER])
			copy_container(w->text[NVS_LIVE_CONTAINER], at + UID_CHARS);
	}
	/* In a pod such a path has the id of its sandbox. */
	for (const char *at = text; !in_pod && !known && (at = strstr(at, ids));)
		copy_id(w->text[NVS_LIVE_CONTAINER_ID], at += sizeof(ids) - 1);
}
