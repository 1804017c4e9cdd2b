#include <gtest/gtest.h>

#include <string>

#include "cuda/host_blocks.h"
#include "runtime/kernels.h"
#include "runtime/skin_cases.h"
#include "sinew/cuda/sinew_cuda.h"

/// The text of the GPU's threads, run on the host, against the scalar kernels. Bits, not tolerances.
namespace sinew::cuda {
namespace {

using runtime::Case;
using runtime::Shape;

void expect_oracle(const Shape& shape, const SkinPlan& plan) {
  Case expected(shape);
  ASSERT_EQ(skin_with(runtime::scalar_kernels(), expected.model, expected.poses), sinew_ok);
  Case got(shape);
  std::vector<Row> scratch(sinew_cuda_scratch_floats(&got.model, shape.poses) / 4);
  got.poses.scratch = reinterpret_cast<float*>(scratch.data());
  ASSERT_EQ(skin_on_host(got.model, got.poses, plan), sinew_ok);
  const std::string what = "K=" + std::to_string(shape.influences) + " V=" + std::to_string(shape.vertices) +
                           " virtual=" + std::to_string(shape.virtual_bones) + " stride " +
                           std::to_string(shape.out_stride) + (plan.poses_at_once != 0 ? " staged" : "");
  ASSERT_EQ(got.positions.bits(), expected.positions.bits()) << what;
  if (shape.normals) {
    ASSERT_EQ(got.normals.bits(), expected.normals.bits()) << what << ", normals";
  }
}

void expect_oracle(const Shape& shape) {
  for (const std::uint32_t at_once : {0, 1, 3})
    for (const std::size_t poses_per_block : {1, 2, 5})
      expect_oracle(shape, {at_once, poses_per_block, poses_per_block});
}

TEST(CudaBlocks, GiveTheBitsOfTheRuntimeForEveryInfluenceCountAroundTheEndsOfWarpsAndTiles) {
  for (const int influences : {0, 1, 2, 4, 7, 8, 9, 13})
    for (const std::size_t vertices : {1, 31, 32, 33, kThreads - 1, kThreads, kThreads + 1}) {
      Shape shape;
      shape.influences = influences;
      shape.vertices = vertices;
      shape.poses = 3;
      expect_oracle(shape);
    }
}

TEST(CudaBlocks, GiveTheBitsOfTheRuntimeForTwoLayersAndCorrections) {
  for (const int influences : {0, 2, 4})
    for (const std::size_t virtual_bones : {0, 1, 23, 300})
      for (const std::size_t corrections : {0, 3}) {
        Shape shape;
        shape.influences = influences;
        shape.virtual_bones = virtual_bones;
        shape.corrections = corrections;
        shape.poses = 3;
        shape.vertices = 611;
        expect_oracle(shape);
        shape.rule = sinew_normals_cofactors;
        shape.wide = true;
        expect_oracle(shape);
      }
}

TEST(CudaBlocks, LeaveWhatLiesBetweenResultsAlone) {
  for (const std::size_t stride : {12, 16, 20, 48}) {
    Shape shape;
    shape.in_stride = stride;
    shape.out_stride = stride;
    shape.vertices = 300;
    shape.poses = 2;
    expect_oracle(shape);
    shape.normals = false;
    expect_oracle(shape);
  }
}

TEST(CudaBlocks, DenseRowsThatComeFourAtATimeGiveTheSameBits) {
  for (const std::size_t bones : {1, 4, 11, 12, 60}) {
    Shape shape;
    shape.influences = 0;
    shape.bones = bones;
    shape.vertices = 90;
    expect_oracle(shape);
  }
}

TEST(CudaArguments, BuffersThatAGpuCannotReadAreRefused) {
  Case c((Shape()));
  sinew_poses poses = c.poses;
  EXPECT_EQ(check_device_arguments(c.model, poses), sinew_ok);
  poses.palettes += 1;
  EXPECT_EQ(check_device_arguments(c.model, poses), sinew_bad_size);
  poses = c.poses;
  poses.palette_stride += 4;
  EXPECT_EQ(check_device_arguments(c.model, poses), sinew_bad_size);
  poses = c.poses;
  poses.positions.stride = 14;
  EXPECT_EQ(check_device_arguments(c.model, poses), sinew_bad_size);
  poses = c.poses;
  poses.normals.pose_stride += 2;
  EXPECT_EQ(check_device_arguments(c.model, poses), sinew_bad_size);
  sinew_model model = c.model;
  model.positions.data = static_cast<const char*>(model.positions.data) + 2;
  EXPECT_EQ(check_device_arguments(model, c.poses), sinew_bad_size);
  model = c.model;
  model.weights.values = nullptr;
  EXPECT_EQ(check_device_arguments(model, c.poses), sinew_missing_buffer);
}

TEST(CudaArguments, APlanUsesManyBlocksAndSharedMemoryOnlyForPalettesThatFit) {
  sinew_model model{};
  model.vertices = 8192;
  model.bones = 60;
  EXPECT_GT(plan_skin(model, 1000, 132).poses_at_once, 1U);
  EXPECT_GT(plan_skin(model, 1000, 132).poses_per_block, 1U);
  EXPECT_EQ(plan_skin(model, 1, 132).poses_per_block, 1U);
  model.virtual_bones = 70000;
  EXPECT_EQ(plan_skin(model, 1000, 132).poses_at_once, 0U);
  EXPECT_EQ(sinew_cuda_scratch_floats(&model, 3), 12U * 70000 * 3);
}

#ifndef SINEW_CUDA
TEST(CudaArguments, ABuildWithoutCudaSaysThatThereIsNoDevice) {
  Case c((Shape()));
  EXPECT_EQ(sinew_cuda_devices(), 0);
  EXPECT_EQ(sinew_cuda_skin(&c.model, &c.poses, nullptr), sinew_no_device);
}
#endif

}  // namespace
}  // namespace sinew::cuda
