#pragma once
#include <integers/aside.h>
#include_next <cuda_pipeline_primitives.h>
#include <integers/back.h>
