#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sinew/core/mesh.h"
#include "sinew/core/sequence.h"
#include "sinew/core/two_layer.h"
#include "sinew/core/types.h"

namespace sinew {

/// Skinning weights, V×K packed: slot k of vertex v is bone bones[v*K + k] with weight values[v*K + k].
///
/// Invariants (Rig::check): values >= 0, each row sums to 1 within 1e-6·K, no bone twice in a row with weight > 0, rows
/// sorted by descending weight, unused slots are {bone 0, weight 0}. Dense weights are the case K = B.
struct SkinWeights {
  int influences = 0;         // K
  std::vector<Index> bones;   // V×K
  std::vector<float> values;  // V×K

  std::size_t vertex_count() const {
    return influences == 0 ? 0 : values.size() / static_cast<std::size_t>(influences);
  }
};

/// The most bones that any vertex follows, at most K.
int used_influences(const SkinWeights& weights);

/// Packs a dense V×B row-major matrix: keeps the K largest positive entries of each row, scales each row to sum 1 and
/// sorts it. K = 0 keeps as many slots as the fullest row needs. A row without a positive entry gets bone 0.
SkinWeights pack_weights(
    const Eigen::Ref<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>& dense,
    int influences = 0);

/// The inverse: a dense V×B matrix.
Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> unpack_weights(const SkinWeights& weights,
                                                                                     std::size_t bones);

/// A bone: free (parent -1, moves by any rest→posed affine) or a joint of a hierarchy.
struct Bone {
  std::string name;
  int parent = -1;                 // index of an earlier bone, or -1
  Vector3 head = Vector3::Zero();  // rest position of its joint (free bones: centre of what it moves)
  Vector3 tail = Vector3::Zero();  // rest position of its other end, for display
  bool helper = false;             // hangs on its parent without a joint: it moves freely
};

/// How a helper follows the joints where no motion is given for it: as its parent sees it, its head goes by the first
/// three and it turns by the last three (a rotation vector) of constant + Σ by · r over the inputs, where r is the
/// rotation vector of a joint's bone against its parent. Unit of lengths: the rig's.
struct HelperDrive {
  struct Input {
    Index joint = 0;  // a bone with a parent that is no helper
    Eigen::Matrix<float, 6, 3> by = Eigen::Matrix<float, 6, 3>::Zero();
  };
  Index bone = 0;  // a helper
  Eigen::Matrix<float, 6, 1> constant = Eigen::Matrix<float, 6, 1>::Zero();
  std::vector<Input> inputs;
};

/// Rest→posed transforms of every bone in every frame, F×B.
class Motion {
 public:
  Motion() = default;
  Motion(std::size_t frames, std::size_t bones) : frames_(frames), bones_(bones), data_(frames * bones, identity()) {}

  std::size_t frame_count() const { return frames_; }
  std::size_t bone_count() const { return bones_; }
  Affine& operator()(std::size_t f, std::size_t b) { return data_[f * bones_ + b]; }
  const Affine& operator()(std::size_t f, std::size_t b) const { return data_[f * bones_ + b]; }

  static Affine identity() {
    Affine one = Affine::Zero();
    one.leftCols<3>().setIdentity();
    return one;
  }

 private:
  std::size_t frames_ = 0;
  std::size_t bones_ = 0;
  std::vector<Affine> data_;  // frame-major
};

/// Corrections in the rest pose [JamesTwigg2005 §6, EigenSkin]: in frame f vertex v is skinned from
/// rest(v) + sum_r coefficients(f, r) · offsets[r](v).
struct Corrections {
  std::vector<Points> offsets;         // R of 3×V
  std::vector<Points> normal_offsets;  // R of 3×V, or empty
  Eigen::MatrixXf coefficients;        // F×R

  std::size_t rank() const { return offsets.size(); }
};

/// How far a rig's bones may go from rigid.
enum class Transforms { rigid, affine };

/// A linear blend skinning model with its motion.
///
/// Invariants, tested by check(): mesh, weights and motion agree in V, B, F; parents come before children; weights
/// satisfy SkinWeights; all numbers are finite; times and clips are as in a Sequence; when `transforms` is rigid, every
/// motion matrix is a rotation (AᵀA = 1 within 1e-5, determinant > 0); where `jointed`, every child's head but a
/// helper's stays where its parent puts it within 1e-4 of the rest diagonal and the rounding of float matrices; nothing
/// hangs on a helper.
struct Rig {
  Mesh rest;
  std::vector<Bone> bones;
  SkinWeights weights;
  Motion motion;
  std::vector<double> times;  // F, seconds
  std::vector<Clip> clips;
  Transforms transforms = Transforms::affine;
  bool jointed = false;             // a skeleton: parents are joints, not only names in a list
  std::vector<HelperDrive> drives;  // at most one of a helper; may be empty
  std::optional<Corrections> corrections;
  std::optional<TwoLayer> two_layer;  // poses the vertices instead of `weights`, which then stand in for it elsewhere
  std::string notes;  // JSON text of facts a solver wants kept with the file (glTF asset.extras.sinew); may be empty

  std::size_t vertex_count() const { return rest.vertex_count(); }
  std::size_t bone_count() const { return bones.size(); }
  std::size_t frame_count() const { return motion.frame_count(); }

  /// Throws Error{input} with a sentence that names the first violation.
  void check() const;
};

/// Posed positions of one frame, by both layers where there are two, corrections included; `out` is 3×V. Evaluated in
/// double, rounded once.
void pose(const Rig& rig, std::size_t frame, Eigen::Ref<Points> out);

/// Unit normals of one frame as players skin them: the linear part of the blended transform times the normal at rest
/// plus its corrections, F (ñ + Ñ q) [JamesTwigg2005, eq. 13]. `rest` and `out` are 3×V; a normal that vanishes is
/// zero.
void pose_normals(const Rig& rig, std::size_t frame, const Eigen::Ref<const Points>& rest, Eigen::Ref<Points> out);

/// A rig that keeps only these frames, in ascending order and at least one, its clips cut accordingly.
Rig select_frames(const Rig& rig, const std::vector<std::size_t>& frames);

/// All frames of a rig as a sequence with the same rest mesh.
Sequence pose_all(const Rig& rig);

}  // namespace sinew
