/* Sizes and times, in integers: bytes and milliseconds. */
#ifndef TIERWISE_QUANTITIES_H
#define TIERWISE_QUANTITIES_H

#include <stdbool.h>
#include <stdint.h>

/* Text not yet read, with both ends, so that a NUL is a byte like any other. */
struct tw_rest {
	const char *at;
	const char *end;
};

bool tw_is_digit(char c);
char tw_lower(char c);

/* Skip the next byte if it is the wanted lower-case letter, in either case, or other character. */
bool tw_take(struct tw_rest *rest, char wanted);

/* Read all that is left; false where it is no size or time. UINT64_MAX stands for "too large". */
bool tw_read_size(struct tw_rest rest, uint64_t *bytes);
bool tw_read_time(struct tw_rest rest, uint64_t *milliseconds);

#endif
