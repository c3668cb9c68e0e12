/* SPDX-License-Identifier: Apache-2.0 */
/* Spellings of element types. */
#ifndef OPTRACE_BASE_DTYPE_H
#define OPTRACE_BASE_DTYPE_H

/** The store's name ("f32") of a type under another tool's name ("Float32", in any case); names
 *  that are not known come back as they are. NULL gives NULL. */
const char *dtype_short(const char *name);

/** The spelling of MegEngine for a short one: "Float32" for "f32"; unknown ones stay. */
const char *dtype_megengine(const char *name);

#endif
