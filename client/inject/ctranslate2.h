/* SPDX-License-Identifier: Apache-2.0 */
/* CTranslate2, which is looked for when a library has been loaded. Inside client/inject only. */
#ifndef OPTRACE_CLIENT_INJECT_CTRANSLATE2_H
#define OPTRACE_CLIENT_INJECT_CTRANSLATE2_H

/** Say of a release whose functions are not those that are known, once, that there is nothing to
 *  record. Any thread; not while a library is being loaded by it. */
void ctranslate2_look(void);

#endif
