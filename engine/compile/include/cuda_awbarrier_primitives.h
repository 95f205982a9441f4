#pragma once
#include <integers/aside.h>
#include_next <cuda_awbarrier_primitives.h>
#include <integers/back.h>
