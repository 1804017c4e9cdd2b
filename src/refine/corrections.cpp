#include "sinew/refine/corrections.h"

#include <Eigen/Geometry>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include <fmt/format.h>

#include "core/index.h"
#include "math/decompositions.h"
#include "math/gemm.h"
#include "math/parallel.h"
#include "sinew/core/bounds.h"
#include "sinew/core/error.h"
#include "sinew/evaluate/errors.h"

// Corrections in the rest pose [JamesTwigg2005 §6].
//
//   A(f,v)  linear part of the blended transform        3×3
//   e(f,v)  what the rig misses in the pose, p − T p̄    3
//   U_v     offsets of vertex v                         3×R
//   q_f     coefficients of frame f                     R
//
// minimise Σ_{f,v} |A(f,v) U_v q_f − e(f,v)|², alternately over all U_v and all q_f.

namespace sinew {
namespace {

constexpr std::size_t kVerticesPerChunk = 64;
constexpr double kSmallestStretch = 0.1;    // a blended transform that shrinks a direction below this is near-singular
constexpr double kDamping = 1e-2;           // of the inverse of such a transform
constexpr double kRidge = 1e-10;            // relative, so that a direction without data gets no offset
constexpr Eigen::Index kExactFrames = 400;  // up to here the SVD comes from the whole F×F Gram matrix
constexpr Eigen::Index kOversampling = 10;
constexpr int kPowerIterations = 3;

/// Rig and frames as the corrections see them.
class Residuals {
 public:
  Residuals(const Rig& rig, const Sequence& sequence) : rig_(rig), sequence_(sequence) {}

  Eigen::Index frames() const { return index(rig_.frame_count()); }
  Eigen::Index vertices() const { return index(rig_.vertex_count()); }

  /// The blended transform of a vertex in a frame.
  Eigen::Matrix<double, 3, 4> blended(Eigen::Index f, Eigen::Index v) const {
    const auto K = static_cast<std::size_t>(rig_.weights.influences);
    Eigen::Matrix<double, 3, 4> T = Eigen::Matrix<double, 3, 4>::Zero();
    for (std::size_t k = static_cast<std::size_t>(v) * K; k < (static_cast<std::size_t>(v) + 1) * K; ++k) {
      if (rig_.weights.values[k] == 0) break;
      T += static_cast<double>(rig_.weights.values[k]) *
           rig_.motion(static_cast<std::size_t>(f), rig_.weights.bones[k]).cast<double>();
    }
    return T;
  }

  /// What the rig misses, given its blended transform.
  Eigen::Vector3d missing(Eigen::Index f, Eigen::Index v, const Eigen::Matrix<double, 3, 4>& T) const {
    const Eigen::Vector3d rest = rig_.rest.positions.col(v).cast<double>();
    return sequence_.frames[static_cast<std::size_t>(f)].col(v).cast<double>() - T.leftCols<3>() * rest - T.col(3);
  }

 private:
  const Rig& rig_;
  const Sequence& sequence_;
};

/// Inverse of a blended linear part, damped where it shrinks a direction to almost nothing; says whether it does.
Eigen::Matrix3d guarded_inverse(const Eigen::Matrix3d& A, bool& near_singular) {
  // The smallest singular value is at least |det| / (|A|_F² / 2): only small bounds need the eigenvalues.
  const double bound = 2 * std::abs(A.determinant()) / std::max(A.squaredNorm(), 1e-300);
  near_singular = false;
  if (bound >= kSmallestStretch) return A.inverse();
  const Eigen::Matrix3d AtA = A.transpose() * A;
  const Eigen::Vector3d squares = symmetric_eigenvalues3(AtA);
  near_singular = squares[0] < kSmallestStretch * kSmallestStretch;
  if (!near_singular) return A.inverse();
  return (AtA + kDamping * Eigen::Matrix3d::Identity()).inverse() * A.transpose();
}

/// Residuals taken back to the rest pose, 3V×F, and the number of vertices with a near-singular transform.
Eigen::MatrixXf rest_residuals(const Residuals& residuals, int threads, std::size_t& near_singular) {
  Eigen::MatrixXf out(3 * residuals.vertices(), residuals.frames());
  near_singular = parallel_reduce(
      static_cast<std::size_t>(residuals.vertices()), kVerticesPerChunk, threads, std::size_t{0},
      [&](std::size_t begin, std::size_t end) {
        std::size_t count = 0;
        for (std::size_t at = begin; at < end; ++at) {
          const auto v = index(at);
          bool any = false;
          for (Eigen::Index f = 0; f < residuals.frames(); ++f) {
            const Eigen::Matrix<double, 3, 4> T = residuals.blended(f, v);
            bool singular = false;
            const Eigen::Matrix3d inverse = guarded_inverse(T.leftCols<3>(), singular);
            out.block<3, 1>(3 * v, f) = (inverse * residuals.missing(f, v, T)).cast<float>();
            any = any || singular;
          }
          count += any ? 1 : 0;
        }
        return count;
      },
      [](std::size_t a, std::size_t b) { return a + b; });
  return out;
}

/// The first `rank` right singular vectors of X (3V×F), as columns: F×rank. From the Gram matrix where F is small, else
/// by randomised subspace iteration.
Eigen::MatrixXd leading_time_courses(const Eigen::MatrixXf& X, Eigen::Index rank, const CorrectionOptions& options) {
  const Eigen::Index F = X.cols();
  if (F <= kExactFrames || 2 * (rank + kOversampling) > F) {
    Eigen::MatrixXd gram = Eigen::MatrixXd::Zero(F, F);
    constexpr Eigen::Index kRows = 4096;  // in double: small singular values must survive the square
    for (Eigen::Index row = 0; row < X.rows(); row += kRows) {
      const Eigen::MatrixXd part = X.middleRows(row, std::min(kRows, X.rows() - row)).cast<double>();
      gemm(Op::transpose, Op::none, 1.0, part, part, 1.0, gram, options.threads);
    }
    return symmetric_eigen(gram).vectors.rightCols(rank).rowwise().reverse();
  }
  std::mt19937_64 random(options.seed);
  Eigen::MatrixXf Q(F, rank + kOversampling);
  for (Eigen::Index i = 0; i < Q.size(); ++i)  // uniform, from the bits: the same on every library
    Q.data()[i] = static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-52 - 1);
  Eigen::MatrixXf Y(X.rows(), Q.cols());
  for (int i = 0; i <= kPowerIterations; ++i) {
    gemm(Op::none, Op::none, 1.0F, X, Q, 0.0F, Y, options.threads);
    gemm(Op::transpose, Op::none, 1.0F, X, Y, 0.0F, Q, options.threads);
    Q = orthonormal_columns(Q.cast<double>()).cast<float>();
  }
  gemm(Op::none, Op::none, 1.0F, X, Q, 0.0F, Y, options.threads);
  Eigen::MatrixXf gram(Q.cols(), Q.cols());
  gemm(Op::transpose, Op::none, 1.0F, Y, Y, 0.0F, gram, options.threads);
  const SymmetricEigen eigen = symmetric_eigen(gram.cast<double>());
  return Q.cast<double>() * eigen.vectors.rightCols(rank).rowwise().reverse();
}

/// Ũ and q while they are fitted.
struct Model {
  Eigen::MatrixXd offsets;       // 3V×R
  Eigen::MatrixXd coefficients;  // F×R
};

/// Best offsets for the coefficients: one 3R×3R system per vertex. Unknown order: r-major, xyz inside.
void fit_offsets(const Residuals& residuals, Model& model, int threads) {
  const Eigen::Index R = model.coefficients.cols();
  parallel_for(static_cast<std::size_t>(residuals.vertices()), kVerticesPerChunk, threads,
               [&](std::size_t begin, std::size_t end) {
                 Eigen::MatrixXd H(3 * R, 3 * R);
                 Eigen::VectorXd g(3 * R);
                 for (std::size_t at = begin; at < end; ++at) {
                   const auto v = index(at);
                   H.setZero();
                   g.setZero();
                   for (Eigen::Index f = 0; f < residuals.frames(); ++f) {
                     const Eigen::Matrix<double, 3, 4> T = residuals.blended(f, v);
                     const Eigen::Matrix3d AtA = T.leftCols<3>().transpose() * T.leftCols<3>();
                     const Eigen::Vector3d Ate = T.leftCols<3>().transpose() * residuals.missing(f, v, T);
                     for (Eigen::Index r = 0; r < R; ++r) {
                       const double q = model.coefficients(f, r);
                       g.segment<3>(3 * r) += q * Ate;
                       for (Eigen::Index s = 0; s <= r; ++s)
                         H.block<3, 3>(3 * r, 3 * s) += q * model.coefficients(f, s) * AtA;
                     }
                   }
                   H.diagonal().array() += kRidge * H.trace() / static_cast<double>(3 * R) + 1e-300;
                   const Eigen::VectorXd u = solve_definite(H, g);
                   for (Eigen::Index r = 0; r < R; ++r) model.offsets.block<3, 1>(3 * v, r) = u.segment<3>(3 * r);
                 }
               });
}

/// Best coefficients for the offsets, frame by frame; returns the sum of squares that remains.
double fit_coefficients(const Residuals& residuals, Model& model, int threads) {
  const Eigen::Index R = model.offsets.cols();
  std::vector<double> remaining(static_cast<std::size_t>(residuals.frames()), 0);
  parallel_for(remaining.size(), 1, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; ++at) {
      const auto f = index(at);
      Eigen::MatrixXd H = Eigen::MatrixXd::Zero(R, R);
      Eigen::VectorXd g = Eigen::VectorXd::Zero(R);
      double total = 0;
      Eigen::Matrix<double, 3, Eigen::Dynamic> M(3, R);
      for (Eigen::Index v = 0; v < residuals.vertices(); ++v) {
        const Eigen::Matrix<double, 3, 4> T = residuals.blended(f, v);
        const Eigen::Vector3d e = residuals.missing(f, v, T);
        M.noalias() = T.leftCols<3>() * model.offsets.middleRows<3>(3 * v);
        H.noalias() += M.transpose() * M;
        g.noalias() += M.transpose() * e;
        total += e.squaredNorm();
      }
      Eigen::MatrixXd ridged = H;
      ridged.diagonal().array() += kRidge * H.trace() / static_cast<double>(R) + 1e-300;
      const Eigen::VectorXd q = solve_definite(ridged, g);
      model.coefficients.row(f) = q.transpose();
      remaining[at] = std::max(0.0, total - 2 * q.dot(g) + q.dot(H * q));
    }
  });
  double sum = 0;
  for (const double part : remaining) sum += part;
  return sum;
}

/// Turns the components, whose coefficients are orthonormal, so that they are orthogonal in the rest pose too and come
/// by falling energy, each with largest coefficient 1. The product of offsets and coefficients is unchanged.
void order_components(Model& model) {
  const SymmetricEigen eigen = symmetric_eigen(model.offsets.transpose() * model.offsets);
  const Eigen::MatrixXd turn = eigen.vectors.rowwise().reverse();
  model.offsets *= turn;
  model.coefficients *= turn;
  for (Eigen::Index r = 0; r < model.coefficients.cols(); ++r) {
    Eigen::Index at = 0;
    model.coefficients.col(r).cwiseAbs().maxCoeff(&at);
    const double largest = model.coefficients(at, r);
    if (largest == 0) continue;
    model.coefficients.col(r) /= largest;
    model.offsets.col(r) *= largest;
  }
}

/// Area-weighted vertex normals, unit length or zero.
Points vertex_normals(const std::vector<Index>& triangles, const Eigen::Ref<const Points>& positions) {
  Points normals = Points::Zero(3, positions.cols());
  for (std::size_t t = 0; t + 2 < triangles.size(); t += 3) {
    const Vector3 a = positions.col(triangles[t]);
    const Vector3 n = (positions.col(triangles[t + 1]) - a).cross(positions.col(triangles[t + 2]) - a);
    for (std::size_t i = 0; i < 3; ++i) normals.col(triangles[t + i]) += n;
  }
  for (Eigen::Index v = 0; v < normals.cols(); ++v) {
    const float length = normals.col(v).norm();
    if (length > 0) normals.col(v) /= length;
  }
  return normals;
}

/// Takes the normal offsets of vertices away whose played normals they turn from the frames' more than none would: the
/// least squares are in the rest pose, a player scales to unit length after F.
void drop_harmful_normals(const Residuals& residuals, const Points& rest, const std::vector<Index>& triangles,
                          const Sequence& sequence, const Eigen::MatrixXd& coefficients, int threads,
                          std::vector<Points>& offsets) {
  const Eigen::Index V = residuals.vertices();
  Eigen::MatrixX2d misses = Eigen::MatrixX2d::Zero(V, 2);  // Σ_f angle²: with the offsets, without
  for (Eigen::Index f = 0; f < residuals.frames(); ++f) {
    const Points wanted = vertex_normals(triangles, sequence.frames[static_cast<std::size_t>(f)]);
    parallel_for(static_cast<std::size_t>(V), 1024, threads, [&](std::size_t begin, std::size_t end) {
      for (Eigen::Index v = index(begin); v < index(end); ++v) {
        const Eigen::Matrix3d F = residuals.blended(f, v).leftCols<3>();
        Eigen::Vector3d n = rest.col(v).cast<double>();
        const Eigen::Vector3d goal = wanted.col(v).cast<double>();
        const auto miss = [&] { return std::pow(std::atan2(goal.cross(F * n).norm(), goal.dot(F * n)), 2); };
        misses(v, 1) += miss();
        for (std::size_t r = 0; r < offsets.size(); ++r)
          n += coefficients(f, index(r)) * offsets[r].col(v).cast<double>();
        misses(v, 0) += miss();
      }
    });
  }
  for (Eigen::Index v = 0; v < V; ++v)
    if (misses(v, 0) > misses(v, 1))
      for (Points& offset : offsets) offset.col(v).setZero();
}

/// Normal offsets for given coefficients: least squares towards the frames' normals taken back to the rest pose by
/// n = F (ñ + Ñ q) (eq. 13, second form, which is how players skin normals).
std::vector<Points> fit_normals(const Residuals& residuals, const Rig& rig, const Sequence& sequence,
                                const Eigen::MatrixXd& coefficients, int threads) {
  const std::vector<Index> triangles = triangles_of(rig.rest);
  const Points rest = vertex_normals(triangles, rig.rest.positions);
  const Eigen::Index R = coefficients.cols();
  Eigen::MatrixXf wanted(3 * residuals.vertices(), residuals.frames());
  parallel_for(rig.frame_count(), 1, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; ++at) {
      const auto f = index(at);
      const Points posed = vertex_normals(triangles, sequence.frames[at]);
      for (Eigen::Index v = 0; v < residuals.vertices(); ++v) {
        bool singular = false;
        const Eigen::Matrix3d inverse = guarded_inverse(residuals.blended(f, v).leftCols<3>(), singular);
        const Eigen::Vector3d n = inverse * posed.col(v).cast<double>();
        const double length = n.norm();
        wanted.block<3, 1>(3 * v, f) =
            singular || length == 0 ? Vector3(Vector3::Zero()) : Vector3((n / length).cast<float>() - rest.col(v));
      }
    }
  });
  const Eigen::RowVectorXd energy = coefficients.colwise().squaredNorm();  // the columns are orthogonal
  const Eigen::MatrixXf fit = (coefficients.array().rowwise() / energy.array()).matrix().cast<float>();
  Eigen::MatrixXf offsets(wanted.rows(), R);
  gemm(Op::none, Op::none, 1.0F, wanted, fit, 0.0F, offsets, threads);
  std::vector<Points> out;
  for (Eigen::Index r = 0; r < R; ++r)
    out.emplace_back(Eigen::Map<const Points>(offsets.col(r).data(), 3, residuals.vertices()));
  drop_harmful_normals(residuals, rest, triangles, sequence, coefficients, threads, out);
  return out;
}

void check(const Rig& rig, const Sequence& sequence, const CorrectionOptions& options) {
  if (rig.vertex_count() != sequence.vertex_count() || rig.frame_count() != sequence.frame_count())
    throw Error(ErrorKind::input,
                fmt::format("the rig has {} vertices and {} frames, the sequence {} and {}", rig.vertex_count(),
                            rig.frame_count(), sequence.vertex_count(), sequence.frame_count()));
  if (rig.two_layer)
    throw Error(ErrorKind::input, "a two-layer rig cannot be corrected: correct it before compressing");
  if (options.rank < 0) throw Error(ErrorKind::usage, fmt::format("rank {}: expected at least 0", options.rank));
  if (options.max_error < 0 || options.iterations < 0 || options.max_rank < 1)
    throw Error(ErrorKind::usage, "corrections: max_error and iterations must not be negative, max_rank at least 1");
}

/// Fits one rank; `courses` holds at least that many leading time courses.
class Fitter {
 public:
  Fitter(const Residuals& residuals, const CorrectionOptions& options, double radius, const Progress& progress)
      : residuals_(residuals), options_(options), radius_(radius), progress_(progress) {}

  Model fit(const Eigen::MatrixXd& courses, Eigen::Index rank, std::vector<double>& e_rms) const {
    Model model{Eigen::MatrixXd::Zero(3 * residuals_.vertices(), rank), courses.leftCols(rank)};
    if (rank == 0) return model;
    fit_offsets(residuals_, model, options_.threads);
    for (int i = 0; i < options_.iterations; ++i) {
      e_rms.push_back(error_of(fit_coefficients(residuals_, model, options_.threads)));
      model.coefficients = orthonormal_columns(model.coefficients);  // same span; the offsets are refitted to it
      fit_offsets(residuals_, model, options_.threads);
      if (!tell(progress_, "corrections", static_cast<double>(i + 1) / options_.iterations))
        throw Error(ErrorKind::interrupted, "interrupted while fitting corrections");
      // Stop at the precision of float frames, or when an iteration gains less than a thousandth.
      const std::size_t n = e_rms.size();
      if (e_rms[n - 1] < 1e-4 || (i > 0 && e_rms[n - 2] - e_rms[n - 1] <= 1e-3 * e_rms[n - 2])) break;
    }
    return model;
  }

  double error_of(double sum) const {
    return e_rms_of(sum, static_cast<std::size_t>(residuals_.vertices()), static_cast<std::size_t>(residuals_.frames()),
                    radius_);
  }

  /// The sum of squares that remains, measured.
  double remaining(Model model) const { return fit_coefficients(residuals_, model, options_.threads); }

 private:
  const Residuals& residuals_;
  const CorrectionOptions& options_;
  double radius_;
  const Progress& progress_;
};

/// The smallest rank that reaches max_error: doubling, then bisection.
Eigen::Index search_rank(const Fitter& fitter, const Eigen::MatrixXd& courses, const CorrectionOptions& options) {
  const auto reaches = [&](Eigen::Index rank) {
    std::vector<double> e_rms;
    const Model model = fitter.fit(courses, rank, e_rms);
    return fitter.error_of(fitter.remaining(model)) <= options.max_error;
  };
  Eigen::Index low = 0;  // does not reach it
  Eigen::Index high = 1;
  while (high < courses.cols() && !reaches(high)) {
    low = high;
    high = std::min(2 * high, courses.cols());
  }
  while (high - low > 1) {
    const Eigen::Index middle = (low + high) / 2;
    (reaches(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace

Corrections fit_corrections(const Rig& rig, const Sequence& sequence, const CorrectionOptions& options,
                            CorrectionReport& report, const Progress& progress) {
  check(rig, sequence, options);
  const Residuals residuals(rig, sequence);
  const double radius = smallest_enclosing_sphere(rig.rest.positions).radius;
  const Fitter fitter(residuals, options, radius, progress);
  report = {};

  const Eigen::MatrixXf in_rest = rest_residuals(residuals, options.threads, report.near_singular);
  const bool search = options.max_error > 0;
  Eigen::Index rank = std::min<Eigen::Index>(residuals.frames(), search ? options.max_rank : options.rank);
  const double before = fitter.error_of(fitter.remaining(
      {Eigen::MatrixXd::Zero(3 * residuals.vertices(), 1), Eigen::MatrixXd::Zero(residuals.frames(), 1)}));
  report.e_rms.push_back(before);
  if (rank == 0 || (search && before <= options.max_error)) {
    Corrections none;
    none.coefficients.resize(residuals.frames(), 0);
    return none;
  }
  const Eigen::MatrixXd courses = leading_time_courses(in_rest, rank, options);
  if (search) rank = search_rank(fitter, courses, options);
  Model model = fitter.fit(courses, rank, report.e_rms);
  order_components(model);

  const double diagonal = bounding_box_diagonal(rig.rest.positions);
  std::vector<Eigen::Index> kept;
  for (Eigen::Index r = 0; r < model.offsets.cols(); ++r) {
    if (model.offsets.col(r).cwiseAbs().maxCoeff() > 1e-7 * diagonal) kept.push_back(r);
  }
  report.dropped = static_cast<std::size_t>(model.offsets.cols()) - kept.size();
  report.rank = kept.size();
  Model used{Eigen::MatrixXd(model.offsets.rows(), index(kept.size())),
             Eigen::MatrixXd(model.coefficients.rows(), index(kept.size()))};
  for (std::size_t i = 0; i < kept.size(); ++i) {
    used.offsets.col(index(i)) = model.offsets.col(kept[i]);
    used.coefficients.col(index(i)) = model.coefficients.col(kept[i]);
  }

  Corrections out;
  out.coefficients = used.coefficients.cast<float>();
  for (Eigen::Index r = 0; r < used.offsets.cols(); ++r) {
    const Eigen::VectorXf column = used.offsets.col(r).cast<float>();
    out.offsets.emplace_back(Eigen::Map<const Points>(column.data(), 3, residuals.vertices()));
  }
  if (options.normals && !kept.empty())
    out.normal_offsets = fit_normals(residuals, rig, sequence, used.coefficients, options.threads);
  return out;
}

CorrectionReport correct(Rig& rig, const Sequence& sequence, const CorrectionOptions& options,
                         const Progress& progress) {
  using Json = nlohmann::ordered_json;
  CorrectionReport report;
  rig.corrections.reset();
  Corrections corrections = fit_corrections(rig, sequence, options, report, progress);
  if (corrections.rank() > 0) rig.corrections = std::move(corrections);
  Json notes = rig.notes.empty() ? Json::object() : Json::parse(rig.notes, nullptr, false);
  if (!notes.is_object()) notes = Json::object();
  notes["corrections"] = {{"rank", report.rank}, {"near_singular_vertices", report.near_singular}};
  rig.notes = notes.dump();
  return report;
}

std::string sentence(const CorrectionReport& report) {
  std::string text = fmt::format("corrections of rank {}: E_RMS {:.3g} before, {:.3g} after", report.rank,
                                 report.e_rms.front(), report.e_rms.back());
  if (report.near_singular > 0)
    text += fmt::format("; {} vertices have near-singular blended transforms", report.near_singular);
  if (report.dropped > 0) text += fmt::format("; {} targets without effect dropped", report.dropped);
  return text;
}

void add_corrections(Rig& rig, const Sequence& sequence, const CorrectionOptions& options, FitReport& report,
                     const Progress& progress) {
  if (options.rank == 0) return;
  const StepTimer timer(report, "corrections");
  const std::string text = sentence(correct(rig, sequence, options, progress));
  report.remark = report.remark.empty() ? text : report.remark + "; " + text;
}

}  // namespace sinew
