/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms as a store from anywhere may hold them: what is accepted comes back as it was. */
#include <stdlib.h>
#include <string.h>

#include "schema/store/stat.h"
#include "tests/fuzz/accepted.h"

static void require(int condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[STORE_HISTOGRAM_TEXT_MAX];
    struct store_histogram histogram, twice = {0};
    struct diag diag = {0};
    int64_t last = 0;

    if (store_histogram_parse((const char *)data, size, &histogram, &diag) < 0) {
        require(diag.offset >= 0 && (size_t)diag.offset <= size);
        return 0;
    }
    fuzz_accepted(1);
    require(store_histogram_format(&histogram, text) == size && memcmp(text, data, size) == 0);
    for (double percent = 0; percent <= 100; percent += 12.5) {
        int64_t value = store_histogram_percentile(&histogram, percent);

        require(value >= last || value == -1);
        last = value;
    }
    require(store_histogram_merge(&twice, &histogram) == 0);
    require(store_histogram_merge(&twice, &histogram) == 0);
    require(store_histogram_total(&twice) >= store_histogram_total(&histogram));
    store_histogram_deinit(&twice);
    store_histogram_deinit(&histogram);
    return 0;
}
