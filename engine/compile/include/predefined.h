#pragma once
// What GCC defines for nvcc, and kernels use as if a header had it.
#include <cfloat>
#include <climits>
#define __FLT_MAX__ FLT_MAX
#define __FLT_MIN__ FLT_MIN
#define __FLT_EPSILON__ FLT_EPSILON
#define __FLT_DENORM_MIN__ FLT_TRUE_MIN
#define __DBL_MAX__ DBL_MAX
#define __DBL_MIN__ DBL_MIN
#define __DBL_EPSILON__ DBL_EPSILON
#define __DBL_DENORM_MIN__ DBL_TRUE_MIN
#define __CHAR_BIT__ CHAR_BIT
#define __SCHAR_MAX__ SCHAR_MAX
#define __SHRT_MAX__ SHRT_MAX
#define __INT_MAX__ INT_MAX
#define __LONG_MAX__ LONG_MAX
#define __LONG_LONG_MAX__ LLONG_MAX
#define __SIZEOF_SHORT__ 2
#define __SIZEOF_INT__ 4
#define __SIZEOF_LONG__ 8
#define __SIZEOF_LONG_LONG__ 8
#define __SIZEOF_POINTER__ 8
#define __SIZEOF_SIZE_T__ 8
#define __SIZEOF_FLOAT__ 4
#define __SIZEOF_DOUBLE__ 8
#define MAXFLOAT FLT_MAX
#define offsetof(type, member) ((size_t)__INTADDR__(&((type *)0)->member))  // a constant expression
