/* Sizes and times, in integers: bytes and milliseconds. */
#include "quantities.h"

#include <string.h>

#define TIME_DECIMALS 9u
#define SIZE_DECIMALS 3u
#define SECOND UINT64_C(1000)

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

bool tw_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

char tw_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The next byte in lower case; NUL at the end, where no caller looks for a NUL. */
static char peek(const struct tw_rest *rest)
{
	return rest->at < rest->end ? tw_lower(*rest->at) : '\0';
}

bool tw_take(struct tw_rest *rest, char wanted)
{
	if (rest->at == rest->end || tw_lower(*rest->at) != wanted)
		return false;
	rest->at++;
	return true;
}

static void skip_spaces(struct tw_rest *rest)
{
	while (tw_take(rest, ' '))
		;
}

/* Digits, at least one. */
static bool take_digits(struct tw_rest *rest, uint64_t *value)
{
	const char *start = rest->at;

	*value = 0;
	while (rest->at < rest->end && tw_is_digit(*rest->at))
		*value = saturating_add(saturating_multiply(*value, 10), (uint64_t)(*rest->at++ - '0'));
	return rest->at > start;
}

/* A point and digits, at least one and at most `decimals`. */
static bool take_fraction(struct tw_rest *rest, unsigned int decimals, uint64_t *fraction)
{
	const char *start;
	size_t digits;

	if (!tw_take(rest, '.'))
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
static bool take_number(struct tw_rest *rest, unsigned int decimals, struct number *number)
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

bool tw_read_size(struct tw_rest rest, uint64_t *bytes)
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
		if (tw_take(&rest, 'i') && peek(&rest) != 'b')
			return false;
	}
	tw_take(&rest, 'b');
	add(&sum, number, unit);
	*bytes = rounded(sum, SIZE_DECIMALS);
	return rest.at == rest.end;
}

static uint64_t take_time_unit(struct tw_rest *rest)
{
	static const struct {
		char letter;
		uint64_t unit;
	} units[] = {{'s', SECOND}, {'h', 3600 * SECOND}, {'d', 86400 * SECOND}, {'w', 604800 * SECOND}};

	if (tw_take(rest, 'm'))
		return tw_take(rest, 's') ? 1 : 60 * SECOND;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (tw_take(rest, units[i].letter))
			return units[i].unit;
	return 0;
}

/* `90`, `90s`, `1h30m`, `1d 2h`. */
static bool read_units(struct tw_rest rest, uint64_t *milliseconds)
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
static bool read_clock(struct tw_rest rest, uint64_t *milliseconds)
{
	static const uint64_t units[] = {3600 * SECOND, 60 * SECOND, SECOND};
	struct sum sum = {0, 0};
	struct number part[3], fraction = {0, 0}, days = {0, 0};
	bool has_days, has_fraction = false;
	size_t parts = 0, first;

	part[0].fraction = part[1].fraction = part[2].fraction = 0;
	if (!take_digits(&rest, &part[parts].whole))
		return false;
	has_days = tw_take(&rest, '-');
	if (has_days) {
		days.whole = part[0].whole;
		if (!take_digits(&rest, &part[0].whole))
			return false;
	}
	for (parts = 1; parts < 3 && tw_take(&rest, ':'); parts++)
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

bool tw_read_time(struct tw_rest rest, uint64_t *milliseconds)
{
	return read_units(rest, milliseconds) || read_clock(rest, milliseconds);
}
