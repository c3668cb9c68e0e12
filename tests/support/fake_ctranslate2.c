/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small library in place of libctranslate2, by the names that its C++ functions have, and tensors
 * that lie as CTRANSLATE2_LAYOUT says:
 *
 *     1  as in 4.8                        3  where nothing can be found
 *     2  as in no release                 4  as 1, of other signatures
 */
#pragma GCC visibility push(default)
#include "tests/support/fake_ctranslate2.h"
#pragma GCC visibility pop

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORT      __attribute__((visibility("default")))
#define NAMED(name) __asm__(name)

/* A StorageView. */
struct tensor {
#if CTRANSLATE2_LAYOUT == 2
    uint64_t before[9];
    const int64_t *begin, *end, *room;
    uint32_t other, dtype;
#else
    uint32_t dtype, device;
    uint64_t before[5];
    const int64_t *begin, *end, *room;
#endif
    void *data;
};

struct sizes {
    const int64_t *begin, *end, *room;
};

EXPORT void construct(struct tensor *tensor, int dtype, int device)
    NAMED("_ZN11ctranslate211StorageViewC1ENS_8DataTypeENS_6DeviceE");
EXPORT struct tensor *set_view(struct tensor *tensor, void *data, struct sizes *shape)
    NAMED("_ZN11ctranslate211StorageView4viewEPvSt6vectorIlSaIlEE");
EXPORT int64_t get_dim(const struct tensor *tensor, int64_t place)
    NAMED("_ZNK11ctranslate211StorageView3dimEl");

#if CTRANSLATE2_LAYOUT == 4
#define OTHER "y"
#else
#define OTHER
#endif
EXPORT void decode(void *self, const struct tensor *ids, const struct tensor *lengths, long step,
                   void *state, struct tensor *outputs, struct tensor *attention, bool last)
    NAMED("_ZN11ctranslate26layers18TransformerDecoder6decodeERKNS_11StorageViewEPS3_"
          "lRSt13unordered_mapINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES2_St4hashISC_"
          "ESt8equal_toISC_ESaISt4pairIKSC_S2_EEEPS2_SN_b" OTHER);
EXPORT void encode(void *self, const struct tensor *input, struct tensor *output)
    NAMED("_ZN11ctranslate26layers14WhisperEncoderclERKNS_11StorageViewERS2_" OTHER);
EXPORT long layer(void *self, const struct tensor *input, const struct tensor *a,
                  const struct tensor *b, const struct tensor *c, struct tensor *d,
                  struct tensor *e, struct tensor *f, struct tensor *g, struct tensor *output,
                  struct tensor *h, const void *i, const void *j, bool k, struct tensor *l, long m)
    NAMED("_ZNK11ctranslate26layers23TransformerDecoderLayerclERKNS_11StorageViewEPS3_S5_S5_PS2_S6_"
          "S6_S6_RS2_S6_PKNS_6PadderESA_bS6_l" OTHER);
EXPORT void dense(void *self, const struct tensor *input, struct tensor *output,
                  const struct tensor *residual)
    NAMED("_ZNK11ctranslate26layers5DenseclERKNS_11StorageViewERS2_PS3_" OTHER);
EXPORT void gemm(void *self, const struct tensor *a, const struct tensor *b, struct tensor *c,
                 const struct tensor *d, const struct tensor *e, const struct tensor *f)
    NAMED("_ZNK11ctranslate23ops4GemmclERKNS_11StorageViewES4_RS2_PS3_S6_S6_" OTHER);
EXPORT void product(void *self, const struct tensor *a, const struct tensor *b, struct tensor *c)
    NAMED("_ZNK11ctranslate23ops6MatMulclERKNS_11StorageViewES4_RS2_" OTHER);

static int of_dtype;
static jmp_buf *way_out;
static long seen;

void construct(struct tensor *tensor, int dtype, int device)
{
    memset(tensor, 0, sizeof(*tensor));
#if CTRANSLATE2_LAYOUT != 3
    tensor->dtype = (uint32_t)dtype;
#else
    (void)dtype;
#endif
    (void)device;
}

struct tensor *set_view(struct tensor *tensor, void *data, struct sizes *shape)
{
#if CTRANSLATE2_LAYOUT != 3
    tensor->begin = shape->begin;
    tensor->end = shape->end;
    tensor->room = shape->room;
#endif
    tensor->data = data;
    return tensor;
}

int64_t get_dim(const struct tensor *tensor, int64_t place)
{
    return tensor->begin ? tensor->begin[place] : 0;
}

static struct tensor make(int dtype, const int64_t *sizes, size_t count)
{
    struct sizes shape = {sizes, sizes + count, sizes + count};
    struct tensor tensor;

    construct(&tensor, dtype, 0);
    set_view(&tensor, NULL, &shape);
    return tensor;
}

#define SIZES(...)                                                                                 \
    (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)

/* As a function that resizes what it is given. */
static void resize(struct tensor *tensor, const int64_t *sizes, size_t count)
{
    set_view(tensor, NULL, &(struct sizes){sizes, sizes + count, sizes + count});
}

void gemm(void *self, const struct tensor *a, const struct tensor *b, struct tensor *c,
          const struct tensor *d, const struct tensor *e, const struct tensor *f)
{
    (void)self, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
}

void product(void *self, const struct tensor *a, const struct tensor *b, struct tensor *c)
{
    static const int64_t scores[] = {2, 4, 1, 9};

    (void)self, (void)a, (void)b;
    resize(c, scores, 4);
}

void dense(void *self, const struct tensor *input, struct tensor *output,
           const struct tensor *residual)
{
    static const int64_t sizes[] = {2, 1, 384};
    struct tensor weights = make(of_dtype, SIZES(384, 128));

    (void)residual;
    resize(output, sizes, 3);
    gemm(self, input, &weights, output, NULL, NULL, NULL);
}

long layer(void *self, const struct tensor *input, const struct tensor *a, const struct tensor *b,
           const struct tensor *c, struct tensor *d, struct tensor *e, struct tensor *f,
           struct tensor *g, struct tensor *output, struct tensor *h, const void *i, const void *j,
           bool k, struct tensor *l, long m)
{
    struct tensor q = make(0, SIZES(2, 4, 1, 32)), keys = make(0, SIZES(2, 4, 9, 32)), scores;

    (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h, (void)i, (void)j;
    (void)k, (void)l;
    seen += m;
    dense(self, input, output, NULL);
    if (way_out)
        longjmp(*way_out, 1);
    scores = make(0, SIZES(1));
    product(self, &q, &keys, &scores);
    return m;
}

void decode(void *self, const struct tensor *ids, const struct tensor *lengths, long step,
            void *state, struct tensor *outputs, struct tensor *attention, bool last)
{
    struct tensor hidden = make(0, SIZES(2, 1, 128)), result = make(0, SIZES(1));

    (void)ids, (void)lengths, (void)state, (void)outputs, (void)attention;
    for (int i = 0; i < 2; i++)
        layer(self, &hidden, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &result, NULL, NULL, NULL,
              true, NULL, 1000 * step + i);
    seen += last;
}

void encode(void *self, const struct tensor *input, struct tensor *output)
{
    (void)self, (void)input, (void)output;
}

long fake_ctranslate2_step(long step, int dtype, jmp_buf *leave)
{
    struct tensor ids = make(3, SIZES(2, 1)), outputs = make(0, SIZES(2, 1, 300));

    of_dtype = dtype;
    way_out = leave;
    seen = 0;
    decode(NULL, &ids, NULL, step, NULL, &outputs, NULL, true);
    return seen;
}

void fake_ctranslate2_encode(void)
{
    struct tensor input = make(0, SIZES(1, 80, 3000)), output = make(0, SIZES(1, 1500, 384));

    encode(NULL, &input, &output);
}

void fake_ctranslate2_product(void)
{
    struct tensor a = make(0, SIZES(2, 3)), b = make(0, SIZES(3, 4)), c = make(0, SIZES(2, 4));

    product(NULL, &a, &b, &c);
}
