#pragma once
// As nvcc's runtime has them: where a kernel waits for the kernel before it, and where the next one may start.
static __device__ __forceinline__ void cudaGridDependencySynchronize()
    { asm volatile("griddepcontrol.wait;" ::: "memory"); }
static __device__ __forceinline__ void cudaTriggerProgrammaticLaunchCompletion()
    { asm volatile("griddepcontrol.launch_dependents;"); }
