/* Loads for benchmarks/tiers.py and for tests: what jobs do to memory, with a check sum of it at the end.
 *
 *   tiers_load chaser MEGABYTES HOT_SHARE HOT_PERCENT STEPS    dependent random reads, most of them in a hot part
 *   tiers_load stream MEGABYTES PASSES                         a = b + 3c over three arrays
 *   tiers_load scan MEGABYTES PASSES                           reads all of it, front to back, again and again
 *   tiers_load update MEGABYTES PASSES                         as scan, and writes one word of each page
 *   tiers_load short MEGABYTES PASSES                          fills, works on it a little, ends
 *
 * Prints one line: what it is, seconds of filling, seconds of work, check sum of its memory, of its answer, and the
 * same check sum computed anew from the recipe, which must be equal. Pages are half random, half of one byte: they
 * compress to about half, as many arrays of numbers do.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { PAGE_WORDS = 512, LINE_WORDS = 8 };

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t mixed(uint64_t x)
{
	/* Steele, Lea and Flood's SplitMix64. */
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static uint64_t word_of(uint64_t index)
{
	uint64_t page = index / PAGE_WORDS, in_page = index % PAGE_WORDS;
	return in_page < PAGE_WORDS / 2 ? mixed(index) : (page & 0xff) * 0x0101010101010101u;
}

static uint64_t *fill(uint64_t words)
{
	uint64_t *memory = mmap(NULL, words * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) {
		perror("tiers_load: mmap");
		exit(1);
	}
	for (uint64_t i = 0; i < words; i++)
		memory[i] = word_of(i);
	return memory;
}

static uint64_t checksum(const uint64_t *memory, uint64_t words)
{
	uint64_t sum = 0;
	for (uint64_t i = 0; i < words; i++)
		sum = (sum << 1 | sum >> 63) ^ memory[i];
	return sum;
}

static uint64_t chase(const uint64_t *memory, uint64_t words, double hot_share, unsigned hot_percent, uint64_t steps)
{
	uint64_t hot_lines = (uint64_t)((double)(words / LINE_WORDS) * hot_share), lines = words / LINE_WORDS, at = 1;
	for (uint64_t step = 0; step < steps; step++) {
		uint64_t random = mixed(at ^ step);
		uint64_t line = random % 100 < hot_percent ? random / 100 % hot_lines : random / 100 % lines;
		at = memory[line * LINE_WORDS] + step;
	}
	return at;
}

static uint64_t scan(const uint64_t *memory, uint64_t words, uint64_t passes)
{
	uint64_t sum = 0;
	for (uint64_t pass = 0; pass < passes; pass++)
		for (uint64_t i = 0; i < words; i += LINE_WORDS)
			sum += memory[i] ^ pass;
	return sum;
}

static uint64_t update(uint64_t *memory, uint64_t words, uint64_t passes)
{
	uint64_t sum = 0;
	for (uint64_t pass = 0; pass < passes; pass++)
		for (uint64_t i = 0; i < words; i += LINE_WORDS) {
			sum += memory[i];
			if (i % PAGE_WORDS == 0)
				memory[i]++;
		}
	for (uint64_t i = 0; i < words; i += PAGE_WORDS)
		memory[i] -= passes;
	return sum;
}

static uint64_t stream(uint64_t *memory, uint64_t words, uint64_t passes)
{
	uint64_t part = words / 3, *a = memory, *b = memory + part, *c = memory + 2 * part;
	for (uint64_t pass = 0; pass < passes; pass++)
		for (uint64_t i = 0; i < part; i++)
			a[i] = b[i] + 3 * c[i];
	uint64_t answer = checksum(a, part);
	for (uint64_t i = 0; i < part; i++)
		a[i] = word_of(i);
	return answer;
}

int main(int count, char **arguments)
{
	if (count < 4 || (strcmp(arguments[1], "chaser") == 0 && count < 6)) {
		fputs("usage: tiers_load chaser|stream|scan|update|short MEGABYTES ...\n", stderr);
		return 2;
	}
	const char *kind = arguments[1];
	uint64_t words = strtoull(arguments[2], NULL, 10) << 17, passes = strtoull(arguments[3], NULL, 10), answer;
	double began = now();
	uint64_t *memory = fill(words);
	double filled = now();
	if (strcmp(kind, "chaser") == 0)
		answer = chase(memory, words, strtod(arguments[3], NULL), (unsigned)atoi(arguments[4]),
			       strtoull(arguments[5], NULL, 10));
	else if (strcmp(kind, "stream") == 0)
		answer = stream(memory, words, passes);
	else if (strcmp(kind, "update") == 0)
		answer = update(memory, words, passes);
	else
		answer = scan(memory, words, passes);
	double worked = now();
	uint64_t expected = 0;
	for (uint64_t i = 0; i < words; i++)
		expected = (expected << 1 | expected >> 63) ^ word_of(i);
	printf("%s %.4f %.4f %016lx %016lx %016lx\n", kind, filled - began, worked - filled, checksum(memory, words),
	       answer, expected);
	return 0;
}
