#pragma once
#include <cstdint>
#include <cuda/std/climits>
