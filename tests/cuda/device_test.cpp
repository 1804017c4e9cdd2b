#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <string>

#include "cuda/skin.h"
#include "runtime/kernels.h"
#include "runtime/skin_cases.h"
#include "sinew/cuda/sinew_cuda.h"

/// The player on the GPU against the scalar kernels. Bits, not tolerances.
namespace sinew::cuda {
namespace {

using runtime::Case;
using runtime::Shape;

#define SINEW_EXPECT_CUDA(call) ASSERT_EQ(call, cudaSuccess)

/// Device copies of a case's buffers.
class DeviceCase {
 public:
  explicit DeviceCase(Case& c) : model(c.model), poses(c.poses), case_(c) {
    positions_ = up(c.positions.data(), c.positions.size);
    normals_ = up(c.normals.data(), c.normals.size);
    model.positions.data = up(c.rest.data(), c.rest.size);
    model.normals.data = up(c.rest_normals.data(), c.rest_normals.size);
    model.weights = up(c.weights);
    if (c.s.virtual_bones != 0) model.dictionary = up(c.dictionary);
    model.position_offsets = up(c.position_offsets);
    model.normal_offsets = up(c.normal_offsets);
    poses.palettes = static_cast<const float*>(up(c.palettes.data(), c.palettes.size));
    poses.coefficients = up(c.coefficients);
    poses.positions.data = positions_;
    if (c.s.normals) poses.normals.data = normals_;
    poses.scratch = static_cast<float*>(up(nullptr, sizeof(float) * sinew_cuda_scratch_floats(&model, c.s.poses)));
  }
  ~DeviceCase() {
    for (void* pointer : pointers_) cudaFree(pointer);
  }
  DeviceCase(const DeviceCase&) = delete;
  DeviceCase& operator=(const DeviceCase&) = delete;

  void down() {
    SINEW_EXPECT_CUDA(cudaMemcpy(case_.positions.data(), positions_, case_.positions.size, cudaMemcpyDeviceToHost));
    SINEW_EXPECT_CUDA(cudaMemcpy(case_.normals.data(), normals_, case_.normals.size, cudaMemcpyDeviceToHost));
  }

  sinew_model model;
  sinew_poses poses;

 private:
  void* up(const void* data, std::size_t bytes) {
    if (bytes == 0) return nullptr;
    void* pointer = nullptr;
    EXPECT_EQ(cudaMalloc(&pointer, bytes), cudaSuccess);
    pointers_.push_back(pointer);
    if (data != nullptr) {
      EXPECT_EQ(cudaMemcpy(pointer, data, bytes, cudaMemcpyHostToDevice), cudaSuccess);
    }
    return pointer;
  }
  template <class T>
  const T* up(const std::vector<T>& values) {
    return static_cast<const T*>(up(values.data(), values.size() * sizeof(T)));
  }
  sinew_weights up(const runtime::PackedWeights& w) {
    return {w.influences, up(w.indices16), up(w.indices32), up(w.values)};
  }

  Case& case_;
  void* positions_;
  void* normals_;
  std::vector<void*> pointers_;
};

class CudaDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (sinew_cuda_devices() == 0) GTEST_SKIP() << "no GPU";
  }
};

void expect_oracle(const Shape& shape, const SkinPlan* plan = nullptr) {
  Case expected(shape);
  ASSERT_EQ(skin_with(runtime::scalar_kernels(), expected.model, expected.poses), sinew_ok);
  Case got(shape);
  DeviceCase device(got);
  const sinew_status status = plan != nullptr ? skin_planned(device.model, device.poses, *plan, nullptr)
                                              : sinew_cuda_skin(&device.model, &device.poses, nullptr);
  ASSERT_EQ(status, sinew_ok) << cudaGetErrorString(cudaGetLastError());
  device.down();
  const std::string what = "K=" + std::to_string(shape.influences) + " V=" + std::to_string(shape.vertices) +
                           " virtual=" + std::to_string(shape.virtual_bones);
  ASSERT_EQ(got.positions.bits(), expected.positions.bits()) << what;
  if (shape.normals) {
    ASSERT_EQ(got.normals.bits(), expected.normals.bits()) << what << ", normals";
  }
}

TEST_F(CudaDevice, GivesTheBitsOfTheRuntimeForEveryInfluenceCountAroundTheEndsOfWarpsAndTiles) {
  for (const int influences : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13})
    for (const std::size_t vertices : {1, 31, 33, kThreads - 1, kThreads + 1}) {
      Shape shape;
      shape.influences = influences;
      shape.vertices = vertices;
      shape.poses = 3;
      expect_oracle(shape);
    }
}

TEST_F(CudaDevice, GivesTheBitsOfTheRuntimeForTwoLayersAndCorrectionsUnderEveryPlan) {
  for (const int influences : {0, 2, 4})
    for (const std::size_t virtual_bones : {0, 23, 300})
      for (const std::size_t corrections : {0, 3})
        for (const SkinPlan plan : {SkinPlan{2, 5, 3}, SkinPlan{1, 2, 3}, SkinPlan{0, 3, 1}}) {
          Shape shape;
          shape.influences = influences;
          shape.virtual_bones = virtual_bones;
          shape.corrections = corrections;
          shape.poses = 5;
          shape.vertices = 1311;
          expect_oracle(shape, &plan);
          shape.rule = sinew_normals_cofactors;
          shape.wide = true;
          expect_oracle(shape, &plan);
        }
}

TEST_F(CudaDevice, LeavesWhatLiesBetweenResultsAlone) {
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

TEST_F(CudaDevice, TheSameCallGivesTheSameBitsAgainAndInAStreamOfItsOwn) {
  Shape shape;
  shape.vertices = 5000;
  shape.bones = 60;
  shape.poses = 40;
  Case first(shape), second(shape);
  DeviceCase one(first), two(second);
  cudaStream_t stream = nullptr;
  SINEW_EXPECT_CUDA(cudaStreamCreate(&stream));
  ASSERT_EQ(sinew_cuda_skin(&one.model, &one.poses, nullptr), sinew_ok);
  ASSERT_EQ(sinew_cuda_skin(&two.model, &two.poses, stream), sinew_ok);
  SINEW_EXPECT_CUDA(cudaDeviceSynchronize());
  SINEW_EXPECT_CUDA(cudaStreamDestroy(stream));
  one.down();
  two.down();
  EXPECT_EQ(first.positions.bits(), second.positions.bits());
  EXPECT_EQ(first.normals.bits(), second.normals.bits());
}

}  // namespace
}  // namespace sinew::cuda
