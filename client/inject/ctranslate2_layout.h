/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a tensor of CTranslate2 (StorageView) has its sizes and type: found out by tensors of ours, which
 * exported functions make. Those of the program are then read directly.
 *
 * Inside client/inject only.
 */
#ifndef OPTRACE_CLIENT_INJECT_CTRANSLATE2_LAYOUT_H
#define OPTRACE_CLIENT_INJECT_CTRANSLATE2_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

enum { CTRANSLATE2_DIMS_MAX = 6 };

/* As keys of ops hold it: no padding. */
struct ctranslate2_tensor {
    int32_t rank;  /* -1: not known */
    int32_t dtype; /* as CTranslate2 numbers them; -1: not known */
    int64_t dims[CTRANSLATE2_DIMS_MAX];
};

/** Find out by the functions of this library. False: names and times are all that is known. Once,
 *  before ctranslate2_layout_read() is called. */
bool ctranslate2_layout_find(void *library);

/** Fill in what a tensor has, all of out_tensor. False: it is none, so that what was found out is
 *  wrong. */
bool ctranslate2_layout_read(const void *tensor, struct ctranslate2_tensor *out_tensor);

#endif
