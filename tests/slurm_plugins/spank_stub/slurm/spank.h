/* The part of SPANK's interface that the plugin uses, so that its hooks run in a test without Slurm. */
#ifndef STUB_SPANK_H
#define STUB_SPANK_H

typedef struct spank_handle *spank_t;
typedef enum { S_CTX_ERROR, S_CTX_LOCAL, S_CTX_REMOTE, S_CTX_ALLOCATOR, S_CTX_SLURMD, S_CTX_JOB_SCRIPT } spank_context_t;
typedef enum { ESPANK_SUCCESS = 0, ESPANK_BAD_ARG = 3001, ESPANK_ENV_NOEXIST = 3004, ESPANK_NOSPACE = 3006 } spank_err_t;

struct spank_option {
	char *name;
	char *arginfo;
	char *usage;
	int has_arg;
	int val;
	int (*cb)(int, const char *, int);
};

spank_context_t spank_context(void);
spank_err_t spank_option_register(spank_t, struct spank_option *);
spank_err_t spank_getenv(spank_t, const char *, char *, int);
spank_err_t spank_setenv(spank_t, const char *, const char *, int);
spank_err_t spank_job_control_setenv(spank_t, const char *, const char *, int);
void slurm_error(const char *, ...) __attribute__((format(printf, 1, 2)));

#define SPANK_PLUGIN(name, version)                 \
	const char plugin_name[] = #name;           \
	const char plugin_type[] = "spank";         \
	const unsigned int plugin_version = 0;      \
	const unsigned int spank_plugin_version = version;

#endif
