/* SPDX-License-Identifier: Apache-2.0 */
/* As a libcupti.so.14 over a driver of 13: each function is there, and none does anything. */

enum { UNKNOWN = 999 };

#define REFUSES(name)                                                                              \
    int name(void);                                                                                \
    int name(void)                                                                                 \
    {                                                                                              \
        return UNKNOWN;                                                                            \
    }
REFUSES(cuptiGetVersion)
REFUSES(cuptiSubscribe)
REFUSES(cuptiUnsubscribe)
REFUSES(cuptiEnableCallback)
REFUSES(cuptiEnableDomain)
REFUSES(cuptiActivityRegisterCallbacks)
REFUSES(cuptiActivityEnable)
REFUSES(cuptiActivityDisable)
REFUSES(cuptiActivityGetNextRecord)
REFUSES(cuptiActivityGetNumDroppedRecords)
REFUSES(cuptiActivityFlushAll)
REFUSES(cuptiActivitySetAttribute)
