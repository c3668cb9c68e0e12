/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over the files of its corpus, and over the empty input: the fuzzer's stand-in
 * where there is no libFuzzer. At least one of them must be accepted by what is under test. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/fuzz/accepted.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat status;
    uint8_t *bytes;
    size_t size;

    if (!file || fstat(fileno(file), &status) < 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(1);
    }
    /* Exactly as large as the input, so that a sanitizer sees the first byte read past it. */
    size = (size_t)status.st_size;
    bytes = malloc(size);
    if ((size && !bytes) || fread(bytes, 1, size, file) != size) {
        fprintf(stderr, "%s: cannot read it\n", path);
        exit(1);
    }
    fclose(file);
    printf("%s (%zu bytes)\n", path, size);
    fflush(stdout);
    LLVMFuzzerTestOneInput(bytes, size);
    free(bytes);
}

int main(int argc, char **argv)
{
    struct dirent **entries;
    int count;

    if (argc != 2) {
        fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
        return 2;
    }
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    fuzz_accepted_count = 0;
    count = scandir(argv[1], &entries, NULL, alphasort);
    if (count < 0) {
        fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
        return 1;
    }
    for (int i = 0; i < count; i++) {
        char path[4096];

        snprintf(path, sizeof(path), "%s/%s", argv[1], entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            replay_file(path);
        free(entries[i]);
    }
    free(entries);
    if (fuzz_accepted_count == 0) {
        fprintf(stderr, "none of the %d files of %s is accepted: they do not reach the decoder\n",
                count, argv[1]);
        return 1;
    }
    return 0;
}
