/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch, which is looked for when a library has been loaded. Inside client/inject only. */
#ifndef OPTRACE_CLIENT_INJECT_TORCH_H
#define OPTRACE_CLIENT_INJECT_TORCH_H

/** Begin to listen to libtorch, if it is there by now and is wanted. Any thread; not while a library
 *  is being loaded by it. */
void torch_look(void);

#endif
