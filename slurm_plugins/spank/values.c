/* Values of options, as scheduler/options/values.py has them. No Slurm here, no allocation, no locale. */
#include "values.h"

#include <stdio.h>
#include <string.h>

#include "options.h"

#define SHOWN 40u /* bytes of a wrong value that a message repeats */
#define TIME_DECIMALS 9u
#define SIZE_DECIMALS 3u
#define SECOND UINT64_C(1000)

/* Text not yet read, with both ends, so that a NUL is a byte like any other. */
struct rest {
	const char *at;
	const char *end;
};

/* A number as it was written: whole part, and the fraction scaled to the decimals that were allowed. */
struct number {
	uint64_t whole;
	uint64_t fraction;
};

/* Sum of numbers times units. UINT64_MAX stands for "too large", which no maximum reaches. */
struct sum {
	uint64_t whole;
	uint64_t fraction;
};

static uint64_t saturating_multiply(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t saturating_add(uint64_t a, uint64_t b)
{
	uint64_t total;

	return __builtin_add_overflow(a, b, &total) ? UINT64_MAX : total;
}

static uint64_t power_of_ten(unsigned int exponent)
{
	uint64_t power = 1;

	while (exponent--)
		power *= 10;
	return power;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The next byte in lower case; NUL at the end, where no caller looks for a NUL. */
static char peek(const struct rest *rest)
{
	return rest->at < rest->end ? lower(*rest->at) : '\0';
}

static bool take(struct rest *rest, char wanted)
{
	if (rest->at == rest->end || lower(*rest->at) != wanted)
		return false;
	rest->at++;
	return true;
}

static void skip_spaces(struct rest *rest)
{
	while (take(rest, ' '))
		;
}

/* Digits, at least one. */
static bool take_digits(struct rest *rest, uint64_t *value)
{
	const char *start = rest->at;

	*value = 0;
	while (rest->at < rest->end && is_digit(*rest->at))
		*value = saturating_add(saturating_multiply(*value, 10), (uint64_t)(*rest->at++ - '0'));
	return rest->at > start;
}

/* A point and digits, at least one and at most `decimals`. */
static bool take_fraction(struct rest *rest, unsigned int decimals, uint64_t *fraction)
{
	const char *start;
	size_t digits;

	if (!take(rest, '.'))
		return false;
	start = rest->at;
	if (!take_digits(rest, fraction))
		return false;
	digits = (size_t)(rest->at - start);
	if (digits > decimals)
		return false;
	*fraction *= power_of_ten(decimals - (unsigned int)digits);
	return true;
}

/* `12`, `1.5` or `.5`. */
static bool take_number(struct rest *rest, unsigned int decimals, struct number *number)
{
	bool whole = take_digits(rest, &number->whole);

	number->fraction = 0;
	if (peek(rest) == '.')
		return take_fraction(rest, decimals, &number->fraction);
	return whole;
}

static void add(struct sum *sum, struct number number, uint64_t unit)
{
	sum->whole = saturating_add(sum->whole, saturating_multiply(number.whole, unit));
	sum->fraction = saturating_add(sum->fraction, saturating_multiply(number.fraction, unit));
}

/* Round half up, once. */
static uint64_t rounded(struct sum sum, unsigned int decimals)
{
	uint64_t scale = power_of_ten(decimals);

	return saturating_add(sum.whole, saturating_add(sum.fraction, scale / 2) / scale);
}

static bool read_size(struct rest rest, uint64_t *bytes)
{
	static const char units[] = "kmgtp";
	struct sum sum = {0, 0};
	struct number number;
	const char *found;
	char letter;
	uint64_t unit = 1;

	if (!take_number(&rest, SIZE_DECIMALS, &number))
		return false;
	skip_spaces(&rest);
	letter = peek(&rest);
	found = letter ? strchr(units, letter) : NULL;
	if (found) {
		rest.at++;
		unit <<= 10 * (found - units + 1);
		if (take(&rest, 'i') && peek(&rest) != 'b')
			return false;
	}
	take(&rest, 'b');
	add(&sum, number, unit);
	*bytes = rounded(sum, SIZE_DECIMALS);
	return rest.at == rest.end;
}

static uint64_t take_time_unit(struct rest *rest)
{
	static const struct {
		char letter;
		uint64_t unit;
	} units[] = {{'s', SECOND}, {'h', 3600 * SECOND}, {'d', 86400 * SECOND}, {'w', 604800 * SECOND}};

	if (take(rest, 'm'))
		return take(rest, 's') ? 1 : 60 * SECOND;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (take(rest, units[i].letter))
			return units[i].unit;
	return 0;
}

/* `90`, `90s`, `1h30m`, `1d 2h`. */
static bool read_units(struct rest rest, uint64_t *milliseconds)
{
	struct sum sum = {0, 0};
	struct number number;
	uint64_t unit, smallest = UINT64_MAX;

	do {
		if (!take_number(&rest, TIME_DECIMALS, &number))
			return false;
		if (rest.at == rest.end && smallest == UINT64_MAX) {
			unit = SECOND;
		} else {
			skip_spaces(&rest);
			unit = take_time_unit(&rest);
		}
		/* Units must fall: `30m1h` is more likely a slip than a wish. */
		if (!unit || unit >= smallest)
			return false;
		smallest = unit;
		add(&sum, number, unit);
		skip_spaces(&rest);
	} while (rest.at < rest.end);
	*milliseconds = rounded(sum, TIME_DECIMALS);
	return true;
}

/* Slurm's forms: `30:00`, `1:00:00`, `2-12`, `1-02:03:04`, seconds with a fraction. */
static bool read_clock(struct rest rest, uint64_t *milliseconds)
{
	static const uint64_t units[] = {3600 * SECOND, 60 * SECOND, SECOND};
	struct sum sum = {0, 0};
	struct number part[3], fraction = {0, 0}, days = {0, 0};
	bool has_days, has_fraction = false;
	size_t parts = 0, first;

	part[0].fraction = part[1].fraction = part[2].fraction = 0;
	if (!take_digits(&rest, &part[parts].whole))
		return false;
	has_days = take(&rest, '-');
	if (has_days) {
		days.whole = part[0].whole;
		if (!take_digits(&rest, &part[0].whole))
			return false;
	}
	for (parts = 1; parts < 3 && take(&rest, ':'); parts++)
		if (!take_digits(&rest, &part[parts].whole) || part[parts].whole >= 60)
			return false;
	if (peek(&rest) == '.') {
		has_fraction = true;
		if (!take_fraction(&rest, TIME_DECIMALS, &fraction.fraction))
			return false;
	}
	if (rest.at != rest.end || (!has_days && parts == 1) || (has_days && has_fraction && parts < 3) ||
	    (has_days && part[0].whole >= 24))
		return false;
	first = has_days || parts == 3 ? 0 : 1;
	for (size_t i = 0; i < parts; i++)
		add(&sum, part[i], units[first + i]);
	add(&sum, days, 86400 * SECOND);
	add(&sum, fraction, SECOND);
	*milliseconds = rounded(sum, TIME_DECIMALS);
	return true;
}

static bool is_word(struct rest rest, const char *word)
{
	while (*word)
		if (!take(&rest, *word++))
			return false;
	return rest.at == rest.end;
}

static bool is_name(struct rest rest)
{
	const char *start = rest.at;

	for (; rest.at < rest.end; rest.at++) {
		char c = lower(*rest.at);
		bool inside = rest.at > start && (c == '.' || c == '_' || c == '-');

		if (!is_digit(c) && !(c >= 'a' && c <= 'z') && !inside)
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

static bool write_quantity(const struct tw_option *option, struct rest rest, char out[TW_CANONICAL])
{
	uint64_t value;
	bool read = option->kind == TW_SIZE ? read_size(rest, &value)
					    : read_units(rest, &value) || read_clock(rest, &value);

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
	struct rest rest = {text, text + length};

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
