/* Values of options: one syntax, here and in scheduler/options/values.py; tests hold the two equal. */
#ifndef TIERWISE_VALUES_H
#define TIERWISE_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tw_kind { TW_CHOICE, TW_NAME, TW_SIZE, TW_TIME };

struct tw_option {
	const char *flag;     /* long flag without its dashes */
	const char *metavar;  /* what stands for the value in help */
	const char *usage;    /* one line for --help */
	const char *variable; /* environment variable */
	const char *accepted; /* what a message says is accepted */
	enum tw_kind kind;
	uint64_t minimum; /* bytes or milliseconds; both bounds included */
	uint64_t maximum;
	const char *const *words; /* choices, or words beside a size or time; ends with NULL */
};

/* Enough for every canonical value and its NUL: names are longest. */
#define TW_CANONICAL 72
/* Enough for every message and its NUL: 40 bytes of a value as \xNN, the place and what is accepted. */
#define TW_MESSAGE 512

/* Check a value of `length` bytes, which may hold anything, NUL included, and write its canonical form. */
bool tw_canonical(const struct tw_option *option, const char *text, size_t length, char out[TW_CANONICAL]);

/* Say in one harmless line what is wrong with a value that came by the flag, or by the variable. */
void tw_complaint(const struct tw_option *option, bool by_variable, const char *text, size_t length,
		  char out[TW_MESSAGE]);

#endif
