/* SPDX-License-Identifier: Apache-2.0 */
/* A whole product of bytes, shared out block by block; its rows are widened once for all columns. */
#include "kernels/cpu/int8.h"
#include "kernels/cpu/team.h"

enum {
    WIDE_BYTES = 1 << 20,           /* of rows that are widened before they are multiplied */
    MOST_ROWS = 16 * INT8_MAX_ROWS, /* of a block */
    GRAIN = 1 << 18,                /* products that are worth a second thread */
    WIDE_GRAIN = 1 << 16,           /* numbers that are */
    BOTH_ROWS = 2 * INT8_MAX_ROWS,  /* whole tiles of either kind */
};

static int64_t round_up(int64_t rows, int64_t multiple)
{
    return (rows + multiple - 1) / multiple * multiple;
}

int64_t int8_wide_bytes(int64_t rows, int64_t k)
{
    int64_t tiles = (rows + INT8_MAX_ROWS - 1) / INT8_MAX_ROWS;
    int64_t numbers = (k + INT8_WIDE_STEP - 1) / INT8_WIDE_STEP * INT8_WIDE_STEP * INT8_MAX_ROWS;

    return tiles * numbers * (int64_t)sizeof(int16_t);
}

/* Rows of a tile, and bytes of them as they are laid out. */
static int64_t tile_rows(const struct int8_product *p)
{
    return p->columns ? INT8_NARROW_ROWS : INT8_MAX_ROWS;
}

static int64_t tile_bytes(const struct int8_product *p)
{
    return p->columns ? int8_columns_laid(p->k) : int8_wide_bytes(1, p->k);
}

void int8_widen_rows(const struct int8_product *p, int8_widen_fn *widen, int64_t row,
                     int64_t row_end, int16_t *wide)
{
    struct int8_sides sides = {.a_line = p->a_line, .k = p->k, .a_is_signed = p->a_is_signed};
    int64_t rows = tile_rows(p);

    for (; row < row_end; row += rows) {
        int64_t left = row_end - row;

        sides.a = p->a + row * p->a_line;
        widen(wide, &sides, (int)(left < rows ? left : rows));
        wide += tile_bytes(p) / (int64_t)sizeof(*wide);
    }
}

/* Rows whose widened numbers stay in a cache, at least those of a block. */
static int64_t strip_rows(int64_t k, int64_t block_rows)
{
    int64_t rows = WIDE_BYTES / int8_wide_bytes(1, k) * INT8_MAX_ROWS / block_rows * block_rows;

    return rows < block_rows ? block_rows : rows;
}

int64_t int8_run_room(int64_t m, int64_t k)
{
    int64_t rows = strip_rows(k, MOST_ROWS); /* of larger blocks there are no more */

    return int8_wide_bytes(m < rows ? m : rows, k);
}

struct task {
    const struct int8_product *product;
    const struct int8_steps *steps;
    int8_widen_fn *widen;     /* or what lays rows out for narrow columns */
    int64_t row, row_end;     /* of a strip */
    int64_t row_blocks, rows; /* of a block */
    int16_t *wide;
};

/* Tiles [begin, end) of a strip. */
static void widen_tiles(void *argument, int64_t begin, int64_t end)
{
    const struct task *t = argument;
    int64_t rows = tile_rows(t->product);
    int64_t row_end = t->row + end * rows, first = t->row + begin * rows;

    int8_widen_rows(t->product, t->widen, first, row_end < t->row_end ? row_end : t->row_end,
                    t->wide + begin * tile_bytes(t->product) / (int64_t)sizeof(*t->wide));
}

/* One of few or many blocks: panels of columns, and of each some rows. */
static void do_blocks(void *argument, int64_t begin, int64_t end)
{
    const struct task *t = argument;
    const struct int8_product *p = t->product;

    for (; begin < end; begin++) {
        int64_t column = begin / t->row_blocks * INT8_LINE, last = column + INT8_LINE;
        int64_t row = t->row + begin % t->row_blocks * t->rows, row_end = row + t->rows;

        t->steps->block(p, row, row_end < t->row_end ? row_end : t->row_end, column,
                        last < p->n ? last : p->n);
    }
}

void int8_run(const struct int8_product *p, const struct int8_steps *steps, int64_t block_rows,
              void *workspace)
{
    int8_widen_fn *widen = p->columns ? int8_columns_lay : p->narrow ? NULL : steps->widen;
    int64_t strip = widen ? strip_rows(p->k, block_rows) : p->m;
    struct int8_product part = *p;
    struct task t = {.product = &part, .steps = steps, .widen = widen, .wide = workspace};

    for (t.row = 0; t.row < p->m; t.row = t.row_end) {
        int64_t rows = p->m - t.row < strip ? p->m - t.row : strip;
        int64_t tiles = (rows + tile_rows(p) - 1) / tile_rows(p);
        int64_t least = rows < block_rows ? rows : block_rows;

        t.row_end = t.row + rows;
        t.row_blocks = (rows + block_rows - 1) / block_rows;
        t.rows = round_up((rows + t.row_blocks - 1) / t.row_blocks, BOTH_ROWS);
        t.row_blocks = (rows + t.rows - 1) / t.rows;
        if (widen) {
            part.wide = t.wide;
            part.wide_row = t.row;
            team_for(tiles, WIDE_GRAIN / (p->k * tile_rows(p)) + 1, widen_tiles, &t);
        }
        team_for((p->n + INT8_LINE - 1) / INT8_LINE * t.row_blocks,
                 GRAIN / (least * INT8_LINE * p->k) + 1, do_blocks, &t);
    }
}
