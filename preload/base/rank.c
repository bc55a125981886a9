/* SPDX-License-Identifier: MIT */
/*
 * Reads which rank of a job this process is from the variables that its launcher has set. Launchers
 * nest (srun torchrun, mpirun in a batch script) and all their variables are visible then, so the
 * table lists inner launchers first.
 */
#include <stdlib.h>
#include <string.h>
#include "preload/base/preload.h"

/* A launcher is recognised by RANK, and by SIZE if it has a variable for it. */
static const struct launcher {
	const char *name, *rank, *size, *local, *job;
} launchers[] = {
	{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "TORCHELASTIC_RUN_ID"},
	{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
	 "PMIX_NAMESPACE"},
	{"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", NULL},
	{"PMIx", "PMIX_RANK", NULL, NULL, "PMIX_NAMESPACE"},
	{"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_JOB_ID"},
};

/* Copies the text of an unsigned 32-bit number. */
static bool copy_number(char to[NVS_RANK_DIGITS], const char *name)
{
	const char *value = name ? getenv(name) : NULL;
	size_t n = value ? strlen(value) : 0;

	if (!n || n >= NVS_RANK_DIGITS || strspn(value, "0123456789") != n ||
	    strtoull(value, NULL, 10) > UINT32_MAX)
		return false;
	memcpy(to, value, n + 1);
	return true;
}

/* PMIx has no size. If the PMIx server is Slurm's, Slurm's variables describe this process. */
static bool is_slurms(const struct launcher *l)
{
	const char *job = l->size ? NULL : getenv(l->job);

	return job && !strncmp(job, "slurm.", strlen("slurm.")) && getenv("SLURM_PROCID");
}

void nvs_rank_read(struct nvs_rank *r)
{
	const char *job;

	for (size_t i = 0; i < sizeof(launchers) / sizeof(*launchers) && !r->launcher; i++) {
		const struct launcher *l = launchers + i;

		if (!copy_number(r->rank, l->rank) || (l->size && !copy_number(r->size, l->size)) ||
		    is_slurms(l))
			continue;
		r->launcher = l->name;
		copy_number(r->local, l->local);
		job = l->job ? getenv(l->job) : NULL;
		if (job && strlen(job) < sizeof(r->job))
			strcpy(r->job, job);
	}
}
