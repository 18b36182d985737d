/*
 * Answers questions about values on standard input, so that one process serves a whole fuzzing run.
 * Question: option index, 1 for a variable, length (two bytes, high first), the value. Answer: 1 for accepted, length,
 * the canonical value or the complaint.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "values.h"

int main(void)
{
	unsigned char head[4];

	while (fread(head, 1, sizeof head, stdin) == sizeof head) {
		size_t length = (size_t)head[2] << 8 | head[3];
		/* Exactly as long as the value: a read beyond it is seen by the address sanitizer. */
		char *text = malloc(length ? length : 1);
		char canonical[TW_CANONICAL], complaint[TW_MESSAGE];
		const struct tw_option *option = &tw_options[head[0]];
		bool accepted;
		const char *answer = canonical;

		if (!text || fread(text, 1, length, stdin) != length)
			return 1;
		accepted = tw_canonical(option, text, length, canonical);
		if (!accepted) {
			tw_complaint(option, head[1], text, length, complaint);
			answer = complaint;
		}
		printf("%c%c%c%s", accepted, (char)(strlen(answer) >> 8), (char)(strlen(answer) & 255), answer);
		fflush(stdout);
		free(text);
	}
	return 0;
}
