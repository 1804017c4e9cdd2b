#include "sinew/solve/request.h"

#include "support/support.h"
#include "support/zoo.h"

namespace sinew {
namespace {

TEST(Request, EveryMethodIsListedOnceAndTakesIterations) {
  std::vector<std::string> names;
  for (const SolveMethod& method : solve_methods()) {
    names.emplace_back(method.name);
    EXPECT_TRUE(takes(method.name, "iterations")) << method.name;
    EXPECT_FALSE(takes(method.name, "colour")) << method.name;
    EXPECT_FALSE(method.summary.empty()) << method.name;
  }
  EXPECT_THAT(names, testing::ElementsAre("ssdr", "kavan", "sma", "flats", "skeleton", "clusters"));
}

TEST(Request, RefusalsAreWrittenAsTheirReaderTypesOptions) {
  const Sequence sequence = test::zoo().front();
  SolveRequest request;
  request.add_bones = 1;
  FitReport report;
  test::expect_error(ErrorKind::usage, "--add-bones needs --rig or --method skeleton",
                     [&] { solve(sequence, request, report); });
  request.style = OptionStyle::keywords;
  test::expect_error(ErrorKind::usage, "add_bones needs rig or method='skeleton'",
                     [&] { solve(sequence, request, report); });
  request.method = "flats";
  request.transforms = Transforms::rigid;
  test::expect_error(ErrorKind::usage, "transforms='rigid': method='flats' finds affine bones only",
                     [&] { solve(sequence, request, report); });
  request.style = OptionStyle::flags;
  test::expect_error(ErrorKind::usage, "--transforms rigid: --method flats finds affine bones only",
                     [&] { solve(sequence, request, report); });
}

TEST(Request, WeightsOfSmaAreReadOrRefused) {
  SmaOptions options;
  EXPECT_TRUE(set_sma_weights("tsvd", options));
  EXPECT_EQ(options.weights, SmaWeights::tsvd);
  EXPECT_TRUE(set_sma_weights("bounded:0.25", options));
  EXPECT_EQ(options.weights, SmaWeights::bounded);
  EXPECT_DOUBLE_EQ(options.negative_bound, 0.25);
  for (const char* text : {"", "lsq", "bounded:", "bounded:-1", "bounded:1x", "bounded:nan"})
    EXPECT_FALSE(set_sma_weights(text, options)) << text;
  EXPECT_DOUBLE_EQ(options.negative_bound, 0.25);
}

TEST(Request, AStartFromFlatsCostsThatMuchMore) {
  const Sequence sequence = test::zoo().front();
  SolveRequest request;
  const SolveEstimate parts = estimate(sequence, request);
  request.start = Start::flats;
  const SolveEstimate flats = estimate(sequence, request);
  EXPECT_GT(flats.seconds, parts.seconds);
  EXPECT_GT(flats.cpu_seconds, parts.cpu_seconds);
}

TEST(Request, AffineUnlessToldOtherwiseIsWhatTheMethodSays) {
  SolveRequest request;
  EXPECT_FALSE(is_affine(request));
  request.method = "sma";
  EXPECT_TRUE(is_affine(request));
  request.transforms = Transforms::rigid;
  EXPECT_FALSE(is_affine(request));
}

}  // namespace
}  // namespace sinew
