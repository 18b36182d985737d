/*
 * A user's own client: submits a job with whatever stands on the command line, past sbatch and its plugins.
 * forge UID ADMIN_COMMENT [SPANK_ENVIRONMENT...]; prints the job's id, or Slurm's reason on standard error.
 */
#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
#define JOB_ID(answer) ((answer)->step_id.job_id)
#else
#define JOB_ID(answer) ((answer)->job_id)
#endif

int main(int argc, char *argv[])
{
	job_desc_msg_t job;
	submit_response_msg_t *answer = NULL;
	char *environment[] = {"PATH=/usr/bin:/bin", NULL};

	if (argc < 3)
		return 2;
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(20, 11, 0)
	slurm_init(NULL);
#endif
	slurm_init_job_desc_msg(&job);
	job.user_id = (uint32_t)strtoul(argv[1], NULL, 10);
	job.group_id = 65534;
	job.name = "forged";
	job.script = "#!/bin/sh\nexit 0\n";
	job.environment = environment;
	job.env_size = 1;
	job.work_dir = "/";
	job.std_out = "/dev/null";
	job.priority = 0;
	if (argv[2][0])
		job.admin_comment = argv[2];
	job.spank_job_env = argv + 3;
	job.spank_job_env_size = (uint32_t)(argc - 3);
	if (slurm_submit_batch_job(&job, &answer) != SLURM_SUCCESS || !answer) {
		fprintf(stderr, "%s\n", slurm_strerror(errno));
		return 1;
	}
	printf("%u\n", JOB_ID(answer));
	return 0;
}
