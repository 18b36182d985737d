/* Values of options, as scheduler/options/values.py has them. No Slurm here, no allocation, no locale. */
#include "values.h"

#include <stdio.h>
#include <string.h>

#include "options.h"
#include "quantities.h"

#define SHOWN 40u /* bytes of a wrong value that a message repeats */
#define SECOND UINT64_C(1000)

static bool is_word(struct tw_rest rest, const char *word)
{
	while (*word)
		if (!tw_take(&rest, *word++))
			return false;
	return rest.at == rest.end;
}

static bool is_name(struct tw_rest rest)
{
	const char *start = rest.at;

	for (; rest.at < rest.end; rest.at++) {
		char c = tw_lower(*rest.at);
		bool inside = rest.at > start && (c == '.' || c == '_' || c == '-');

		if (!tw_is_digit(c) && !(c >= 'a' && c <= 'z') && !inside)
			return false;
	}
	return rest.at > start;
}

static void write_seconds(uint64_t milliseconds, char out[TW_CANONICAL])
{
	unsigned int thousandths = (unsigned int)(milliseconds % SECOND);
	int length = snprintf(out, TW_CANONICAL, "%llu", (unsigned long long)(milliseconds / SECOND));

	if (!thousandths)
		return;
	length += snprintf(out + length, TW_CANONICAL - (size_t)length, ".%03u", thousandths);
	while (out[length - 1] == '0')
		out[--length] = '\0';
}

static bool write_quantity(const struct tw_option *option, struct tw_rest rest, char out[TW_CANONICAL])
{
	uint64_t value;
	bool read = option->kind == TW_SIZE ? tw_read_size(rest, &value) : tw_read_time(rest, &value);

	if (!read || value < option->minimum || value > option->maximum)
		return false;
	if (option->kind == TW_SIZE)
		snprintf(out, TW_CANONICAL, "%llu", (unsigned long long)value);
	else
		write_seconds(value, out);
	return true;
}

bool tw_canonical(const struct tw_option *option, const char *text, size_t length, char out[TW_CANONICAL])
{
	struct tw_rest rest = {text, text + length};

	if (length > TW_LONGEST_VALUE)
		return false;
	while (rest.at < rest.end && *rest.at == ' ')
		rest.at++;
	while (rest.end > rest.at && rest.end[-1] == ' ')
		rest.end--;
	for (const char *const *word = option->words; *word; word++) {
		if (is_word(rest, *word)) {
			snprintf(out, TW_CANONICAL, "%s", *word);
			return true;
		}
	}
	if (option->kind == TW_CHOICE)
		return false;
	if (option->kind == TW_NAME) {
		if (!is_name(rest))
			return false;
		snprintf(out, TW_CANONICAL, "%.*s", (int)(rest.end - rest.at), rest.at);
		return true;
	}
	return write_quantity(option, rest, out);
}

void tw_complaint(const struct tw_option *option, bool by_variable, const char *text, size_t length,
		  char out[TW_MESSAGE])
{
	char shown[4 * SHOWN + sizeof "..."];
	size_t used = 0;

	for (size_t i = 0; i < length && i < SHOWN; i++) {
		unsigned char c = (unsigned char)text[i];
		bool plain = c >= 32 && c < 127 && c != '\'' && c != '\\';

		used += (size_t)snprintf(shown + used, sizeof shown - used, plain ? "%c" : "\\x%02x", c);
	}
	snprintf(shown + used, sizeof shown - used, "%s", length > SHOWN ? "..." : "");
	if (by_variable)
		snprintf(out, TW_MESSAGE, "tierwise: %s (for --%s): '%s' is not accepted; expected %s",
			 option->variable, option->flag, shown, option->accepted);
	else
		snprintf(out, TW_MESSAGE, "tierwise: --%s: '%s' is not accepted; expected %s", option->flag, shown,
			 option->accepted);
}
