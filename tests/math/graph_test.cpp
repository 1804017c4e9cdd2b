#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "math/adjacency.h"
#include "math/laplacian.h"

namespace sinew {
namespace {

using ::testing::ElementsAre;

/// A quad 0-1-2-3, a triangle 4-5-6 with a repeated corner after it, and vertex 7 alone.
Mesh two_parts() {
  Mesh mesh;
  mesh.positions.resize(3, 8);
  mesh.positions << 0, 1, 1, 0, 5, 6, 5, 9, 0, 0, 2, 2, 0, 0, 1, 9, 0, 0, 0, 0, 0, 0, 0, 9;
  mesh.face_sizes = {4, 3, 3};
  mesh.corners = {0, 1, 2, 3, 4, 5, 6, 4, 4, 5};
  return mesh;
}

std::vector<Index> row(const Adjacency& adjacency, std::size_t v) {
  return {adjacency[v].begin(), adjacency[v].end()};
}

TEST(MeshAdjacency, RowsAreAscendingSymmetricAndWithoutLoops) {
  const Adjacency adjacency = mesh_adjacency(two_parts());
  EXPECT_THAT(row(adjacency, 0), ElementsAre(1, 3));
  EXPECT_THAT(row(adjacency, 2), ElementsAre(1, 3));
  EXPECT_THAT(row(adjacency, 4), ElementsAre(5, 6));
  EXPECT_TRUE(row(adjacency, 7).empty());
}

TEST(ConnectedComponents, AreNumberedByTheirSmallestVertexAndCutBetweenGroups) {
  const Adjacency adjacency = mesh_adjacency(two_parts());
  EXPECT_THAT(connected_components(adjacency).label, ElementsAre(0, 0, 0, 0, 1, 1, 1, 2));
  const std::vector<Index> group = {5, 5, 5, 2, 0, 0, 0, 0};
  const Components cut = connected_components(adjacency, group);
  EXPECT_EQ(cut.count, 4U);
  EXPECT_THAT(cut.label, ElementsAre(0, 0, 0, 1, 2, 2, 2, 3));
}

TEST(Laplacian, StretchingEdgesWeighLessThanRigidOnes) {
  Sequence sequence;
  sequence.rest = two_parts();
  sequence.frames = Frames(2, 8);
  sequence.times = uniform_times(2);
  sequence.frames[0] = sequence.rest.positions;
  sequence.frames[1] = sequence.rest.positions;
  sequence.frames[1].col(2) += Vector3(0, 1, 0);  // edges 1-2 and 2-3 stretch, 0-1 and 0-3 do not
  const Adjacency adjacency = mesh_adjacency(sequence.rest);
  const EdgeWeights rigid = rigidness_laplacian(sequence, adjacency);
  // Vertex 1 has neighbours 0 (rigid) and 2 (stretching).
  EXPECT_GT(rigid.values[adjacency.starts[1]], 2.5F * rigid.values[adjacency.starts[1] + 1]);
  // Both directions of edge 1-2 agree.
  EXPECT_EQ(rigid.values[adjacency.starts[1] + 1], rigid.values[adjacency.starts[2]]);
  const EdgeWeights graph = graph_laplacian(adjacency);
  for (const float value : graph.values) EXPECT_FLOAT_EQ(value, 0.5F);
}

}  // namespace
}  // namespace sinew
