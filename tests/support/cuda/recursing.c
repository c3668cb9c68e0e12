/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has the functions that CUPTI 13.2 has and those before and after it do not have together, as far as
 * a tool looks for them. Each ends the process, as those of 13.2 do over a libcuda that refuses them.
 */
#include <stdlib.h>

#define FUNCTION(name)                                                                             \
    int name(void);                                                                                \
    int name(void)                                                                                 \
    {                                                                                              \
        abort();                                                                                   \
    }

FUNCTION(cuptiGetVersion)
FUNCTION(cuptiSubscribe)
FUNCTION(cuptiUnsubscribe)
FUNCTION(cuptiEnableCallback)
FUNCTION(cuptiEnableDomain)
FUNCTION(cuptiActivityRegisterCallbacks)
FUNCTION(cuptiActivityEnable)
FUNCTION(cuptiActivityEnable_v2)
FUNCTION(cuptiActivityDisable)
FUNCTION(cuptiActivityGetNextRecord)
FUNCTION(cuptiActivityGetNumDroppedRecords)
FUNCTION(cuptiActivityFlushAll)
FUNCTION(cuptiActivitySetAttribute)
FUNCTION(cuptiGetGraphNodeId)
