// One of CUB's device-wide calls for numbers of type ELEMENT, chosen by the macro OPERATION, as a C function that
// engine/backends/gpu/nvcc_peers.py calls. With `temporary` null it says only how many `bytes` it needs there.
#include <cstdint>
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#define SUM 1
#define PRODUCT 2
#define MINIMUM 3
#define MAXIMUM 4
#define PREFIX_SUM 5
#define SELECTION 6
#define HISTOGRAM 7
#define ROW_SUMS 8
#define ARGMAX 9

struct Times {
    __device__ ELEMENT operator()(ELEMENT left, ELEMENT right) const { return left * right; }
};

struct Positive {
    __device__ bool operator()(ELEMENT number) const { return number > ELEMENT(0); }
};

struct RowStart {
    int64_t width;
    __host__ __device__ int64_t operator()(int64_t row) const { return row * width; }
};

// n: how many numbers, or how many rows of as many; `bins`: of a histogram; `found`: where to say how many were
// selected, or the place of the largest
extern "C" int cub_call(void *temporary, size_t *bytes, const ELEMENT *in, ELEMENT *out, int64_t n, int64_t bins,
                        int *found, cudaStream_t stream)
{
#if OPERATION == SUM
    return cub::DeviceReduce::Sum(temporary, *bytes, in, out, n, stream);
#elif OPERATION == PRODUCT
    return cub::DeviceReduce::Reduce(temporary, *bytes, in, out, n, Times{}, ELEMENT(1), stream);
#elif OPERATION == MINIMUM
    return cub::DeviceReduce::Min(temporary, *bytes, in, out, n, stream);
#elif OPERATION == MAXIMUM
    return cub::DeviceReduce::Max(temporary, *bytes, in, out, n, stream);
#elif OPERATION == PREFIX_SUM
    return cub::DeviceScan::InclusiveSum(temporary, *bytes, in, out, n, stream);
#elif OPERATION == SELECTION
    return cub::DeviceSelect::If(temporary, *bytes, in, out, found, n, Positive{}, stream);
#elif OPERATION == HISTOGRAM
    return cub::DeviceHistogram::HistogramEven(temporary, *bytes, in, out, int(bins + 1), 0, int(bins), int(n), stream);
#elif OPERATION == ARGMAX
    return cub::DeviceReduce::ArgMax(temporary, *bytes, in, out, found, n, stream);
#elif OPERATION == ROW_SUMS
    auto starts = thrust::make_transform_iterator(thrust::make_counting_iterator<int64_t>(0), RowStart{n});
    return cub::DeviceSegmentedReduce::Sum(temporary, *bytes, in, out, n, starts, starts + 1, stream);
#endif
}
