#include "evl-common.h"
