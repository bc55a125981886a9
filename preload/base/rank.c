/* SPDX-License-Identifier: MIT */
/*
 * Which of a job's processes this one is, by what its launcher has put into the environment. One
 * launcher may have started another (srun torchrun, mpirun in a batch script), and all their
 * variables are here then: the one that is the inner one wherever both are comes first.
 */
#include <stdlib.h>
#include <string.h>
#include "preload/base/preload.h"

/* What must be there for a launcher to count: RANK, and SIZE where it has a name for that. */
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

/* A number of 32 bits without a sign, as it stands. */
static bool take_number(char to[NVS_RANK_DIGITS], const char *name)
{
	const char *value = name ? getenv(name) : NULL;
	size_t n = value ? strlen(value) : 0;

	if (!n || n >= NVS_RANK_DIGITS || strspn(value, "0123456789") != n ||
	    strtoull(value, NULL, 10) > UINT32_MAX)
		return false;
	memcpy(to, value, n + 1);
	return true;
}

/* PMIx knows no size. Where it is Slurm's own, Slurm's variables are those of this process. */
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

		if (!take_number(r->rank, l->rank) || (l->size && !take_number(r->size, l->size)) ||
		    is_slurms(l))
			continue;
		r->launcher = l->name;
		take_number(r->local, l->local);
		job = l->job ? getenv(l->job) : NULL;
		if (job && strlen(job) < sizeof(r->job))
			strcpy(r->job, job);
	}
}
