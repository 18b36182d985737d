/*
 * The SPANK plugin: registers the options, checks their values where a person submits, and exports them.
 *
 * Where a person waits (sbatch, salloc, srun) a wrong value ends the command. Everywhere else (slurmstepd, slurmd,
 * prolog, epilog) nothing here fails, prints, or opens a file: a failing hook there drains the node.
 */
#include <errno.h> /* program_invocation_short_name */
#include <slurm/spank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "values.h"

#define EXPORTED __attribute__((visibility("default")))

/* Slurm looks up what SPANK_PLUGIN() defines by name, whatever it is in this release. */
#pragma GCC visibility push(default)
SPANK_PLUGIN(tierwise, 1)

/* What `tierwise plugin check` reads from the file: the Slurm whose headers this was built with. */
extern const char tierwise_build[];
const char tierwise_build[] = "tierwise-spank-build;slurm=" TIERWISE_SLURM_VERSION ";version=" TIERWISE_VERSION ";";
#pragma GCC visibility pop

/* Values given by flag, canonical; empty: not given. */
static char given[TW_OPTIONS][TW_CANONICAL];

static bool submitting(void)
{
	spank_context_t context = spank_context();

	return context == S_CTX_LOCAL || context == S_CTX_ALLOCATOR;
}

/*
 * Returning an error would make Slurm add a line of its own and end with status 255, and from init_post_opt it would
 * be ignored, since the plugin is optional. Nothing is submitted yet, so the command ends here.
 */
static int refuse(const struct tw_option *option, bool by_variable, const char *text)
{
	static const char *const commands[] = {"sbatch", "salloc", "srun"};
	char message[TW_MESSAGE];

	tw_complaint(option, by_variable, text, strlen(text), message);
	slurm_error("%s", message);
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (!strcmp(program_invocation_short_name, commands[i]))
			exit(EXIT_FAILURE);
	return ESPANK_BAD_ARG; /* scrontab and what may come: theirs to handle */
}

/* Called for each flag, twice in some commands; the last one counts, as everywhere in Slurm. */
static int take_flag(int index, const char *text, int remote)
{
	const struct tw_option *option;
	char canonical[TW_CANONICAL];

	if (index < 0 || index >= TW_OPTIONS || !text)
		return ESPANK_SUCCESS;
	option = &tw_options[index];
	if (tw_canonical(option, text, strlen(text), canonical))
		memcpy(given[index], canonical, sizeof canonical);
	else if (!remote && submitting())
		return refuse(option, false, text);
	return ESPANK_SUCCESS;
}

/*
 * Inside a job, Slurm passes the job's options on to sbatch, salloc and srun as if they had been typed, through
 * variables of this form. That would let them beat the job's TIERWISE_* variables, and make every job that an
 * on-demand job submits an on-demand job. The variables are the one way of inheriting (see `inherited`).
 */
static void drop_slurms_inheritance(const struct tw_option *option)
{
	char name[128];
	size_t used = (size_t)snprintf(name, sizeof name, "SLURM_SPANK__SLURM_SPANK_OPTION_tierwise_%s", option->flag);

	for (size_t i = 0; i < used && i < sizeof name; i++)
		if (name[i] == '-')
			name[i] = '_';
	unsetenv(name);
}

/* The name under which Slurm gives a job what was put into its job control environment. */
static void control_name(const struct tw_option *option, char name[64])
{
	snprintf(name, 64, "SLURM_SPANK_%s", option->variable);
}

EXPORTED int slurm_spank_init(spank_t spank, int argc, char *argv[])
{
	static struct spank_option registered[TW_OPTIONS];
	bool local = submitting();

	/* A slip of the administrator must not keep anybody from submitting. */
	if (argc > 0 && local)
		slurm_error("tierwise: plugstack.conf: '%.40s' is ignored: the plugin takes no arguments", argv[0]);
	for (int i = 0; i < TW_OPTIONS; i++) {
		registered[i].name = (char *)(uintptr_t)tw_options[i].flag;
		registered[i].arginfo = (char *)(uintptr_t)tw_options[i].metavar;
		registered[i].usage = (char *)(uintptr_t)tw_options[i].usage;
		registered[i].has_arg = 1;
		registered[i].val = i;
		registered[i].cb = take_flag;
		if (spank_option_register(spank, &registered[i]) != ESPANK_SUCCESS && local)
			slurm_error("tierwise: --%s: cannot be registered", tw_options[i].flag);
		if (local)
			drop_slurms_inheritance(&tw_options[i]);
	}
	return ESPANK_SUCCESS;
}

/* Whether a variable's value is that of the job around us, and not one that somebody set for this submission. */
static bool inherited(const struct tw_option *option, const char *value)
{
	char name[64];
	const char *around;

	control_name(option, name);
	around = getenv(name);
	return getenv("SLURM_JOB_ID") && around && !strcmp(around, value);
}

static int export_local(spank_t spank, int index)
{
	const struct tw_option *option = &tw_options[index];
	const char *variable = getenv(option->variable);
	char value[TW_CANONICAL];
	char name[64];

	if (given[index][0]) {
		memcpy(value, given[index], sizeof value);
	} else if (variable && variable[0] && !(spank_context() == S_CTX_ALLOCATOR && inherited(option, variable))) {
		if (!tw_canonical(option, variable, strlen(variable), value))
			return refuse(option, true, variable);
	} else {
		/* A new job must not carry the variables of the job that it was submitted from. */
		if (variable && spank_context() == S_CTX_ALLOCATOR) {
			control_name(option, name);
			unsetenv(name);
			unsetenv(option->variable);
		}
		return ESPANK_SUCCESS;
	}
	if (spank_job_control_setenv(spank, option->variable, value, 1) != ESPANK_SUCCESS ||
	    setenv(option->variable, value, 1))
		slurm_error("tierwise: --%s: cannot be passed on", option->flag);
	return ESPANK_SUCCESS;
}

/* In the job: the flags, and with --export=NONE the variables too, which reach us as SLURM_SPANK_TIERWISE_*. */
static void export_remote(spank_t spank, int index)
{
	const struct tw_option *option = &tw_options[index];
	char name[64], text[TW_CANONICAL], value[TW_CANONICAL];

	if (given[index][0]) {
		spank_setenv(spank, option->variable, given[index], 1);
		return;
	}
	control_name(option, name);
	if (spank_getenv(spank, option->variable, text, sizeof text) == ESPANK_ENV_NOEXIST &&
	    spank_getenv(spank, name, text, sizeof text) == ESPANK_SUCCESS &&
	    tw_canonical(option, text, strlen(text), value))
		spank_setenv(spank, option->variable, value, 0);
}

EXPORTED int slurm_spank_init_post_opt(spank_t spank, int argc, char *argv[])
{
	bool local = submitting();

	(void)argc;
	(void)argv;
	for (int i = 0; i < TW_OPTIONS; i++) {
		if (local) {
			int error = export_local(spank, i);

			if (error)
				return error;
		} else if (spank_context() == S_CTX_REMOTE) {
			export_remote(spank, i);
		}
	}
	return ESPANK_SUCCESS;
}
