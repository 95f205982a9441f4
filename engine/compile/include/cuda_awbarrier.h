#pragma once
#include <integers/aside.h>
#include_next <cuda_awbarrier.h>
#include <integers/back.h>
