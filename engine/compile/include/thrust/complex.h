// Thrust's own prints to a stream of the host's.
#pragma once
#include <cuda/std/complex>
namespace thrust {
using cuda::std::complex; using cuda::std::abs; using cuda::std::arg; using cuda::std::norm; using cuda::std::conj;
using cuda::std::polar; using cuda::std::exp; using cuda::std::log; using cuda::std::pow; using cuda::std::sqrt;
using cuda::std::sin; using cuda::std::cos; using cuda::std::tan; using cuda::std::sinh; using cuda::std::cosh;
using cuda::std::tanh;
}
