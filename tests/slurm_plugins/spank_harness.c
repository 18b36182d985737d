/*
 * Plays Slurm for the plugin: spank_harness CONTEXT [--plugstack=ARGUMENT] [FLAG=VALUE...], where CONTEXT is local,
 * remote, allocator, slurmd or job_script. In the remote contexts the environment stands for the job's.
 * Prints the hooks' results, the job control environment and the TIERWISE_* variables.
 */
#include <slurm/spank.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int slurm_spank_init(spank_t, int, char **);
int slurm_spank_init_post_opt(spank_t, int, char **);
extern char **environ;

static spank_context_t context;
static struct spank_option *registered[64];
static int count;

spank_context_t spank_context(void)
{
	return context;
}

spank_err_t spank_option_register(spank_t spank, struct spank_option *option)
{
	(void)spank;
	registered[count++] = option;
	return ESPANK_SUCCESS;
}

spank_err_t spank_getenv(spank_t spank, const char *name, char *buffer, int size)
{
	const char *value = getenv(name);

	(void)spank;
	if (!value)
		return ESPANK_ENV_NOEXIST;
	return snprintf(buffer, (size_t)size, "%s", value) < size ? ESPANK_SUCCESS : ESPANK_NOSPACE;
}

spank_err_t spank_setenv(spank_t spank, const char *name, const char *value, int overwrite)
{
	(void)spank;
	return setenv(name, value, overwrite) ? ESPANK_BAD_ARG : ESPANK_SUCCESS;
}

spank_err_t spank_job_control_setenv(spank_t spank, const char *name, const char *value, int overwrite)
{
	(void)spank;
	(void)overwrite;
	printf("control %s=%s\n", name, value);
	return ESPANK_SUCCESS;
}

void slurm_error(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
}

static void give(const char *argument, int remote)
{
	const char *equals = strchr(argument, '=');
	size_t length = equals ? (size_t)(equals - argument) : strlen(argument);

	for (int i = 0; i < count; i++)
		if (strlen(registered[i]->name) == length && !strncmp(registered[i]->name, argument, length))
			printf("flag %d\n", registered[i]->cb(registered[i]->val, equals ? equals + 1 : NULL, remote));
}

int main(int argc, char *argv[])
{
	static const char *const names[] = {"error", "local", "remote", "allocator", "slurmd", "job_script"};
	char *plugstack[] = {NULL, NULL};
	int remote;

	for (int i = 0; i < 6; i++)
		if (argc > 1 && !strcmp(argv[1], names[i]))
			context = (spank_context_t)i;
	remote = context != S_CTX_LOCAL && context != S_CTX_ALLOCATOR;
	if (argc > 2 && !strncmp(argv[2], "--plugstack=", 12))
		plugstack[0] = argv[2] + 12;
	printf("init %d\n", slurm_spank_init(NULL, plugstack[0] != NULL, plugstack));
	for (int i = 2; i < argc; i++)
		give(argv[i], remote);
	printf("post_opt %d\n", slurm_spank_init_post_opt(NULL, 0, plugstack));
	for (char **variable = environ; *variable; variable++)
		if (strstr(*variable, "TIERWISE") || strstr(*variable, "SPANK"))
			printf("env %s\n", *variable);
	return 0;
}
