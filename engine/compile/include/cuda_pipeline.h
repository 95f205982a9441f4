#pragma once
#include <integers/aside.h>
#include_next <cuda_pipeline.h>
#include <integers/back.h>
