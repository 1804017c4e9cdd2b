#include "sinew/view/page.h"

#include <gmock/gmock.h>

#include <array>

#include "support/support.h"

namespace sinew {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string page_of(const PageOptions& options) {
  const std::array<std::byte, 4> bytes{std::byte{'g'}, std::byte{'l'}, std::byte{'T'}, std::byte{'F'}};
  return view_page(bytes, options);
}

TEST(Page, CarriesTheModelAndTheOriginalFrames) {
  if (!has_viewer()) GTEST_SKIP() << "the viewer is not built in";
  Sequence original;
  original.rest.positions = Points::Random(3, 5);
  original.frames = Frames(2, 5);
  const std::string page = page_of({"rig.glb", &original, R"({"iterations": [{"e_rms": 2.5}]})"});
  EXPECT_THAT(page, HasSubstr(R"(<script id="sinew-model" type="text/plain">Z2xURg==</script>)"));
  EXPECT_THAT(page, HasSubstr(R"("vertices":5)"));
  EXPECT_THAT(page, HasSubstr(R"("e_rms":2.5)"));
  EXPECT_THAT(page,
              HasSubstr(std::string("<script id=\"sinew-original\" type=\"text/plain\">") + std::string(160, 'A')));
}

TEST(Page, CarriesTheRigsBesideTheFirstByNumber) {
  if (!has_viewer()) GTEST_SKIP() << "the viewer is not built in";
  const std::array<std::byte, 4> other{std::byte{'g'}, std::byte{'l'}, std::byte{'T'}, std::byte{'G'}};
  Sequence original;
  original.rest.positions = Points::Random(3, 5);
  original.frames = Frames(2, 5);
  PageOptions options{"rig.glb", &original, ""};
  options.beside = {{"first.glb", other}, {"<second>.glb", other}};
  options.original_like = 2;
  const std::string page = page_of(options);
  for (const char* id : {"sinew-model-1", "sinew-model-2"})
    EXPECT_THAT(page, HasSubstr(std::string("<script id=\"") + id + R"(" type="text/plain">Z2xURw==</script>)"));
  EXPECT_THAT(page, HasSubstr(R"("beside":["first.glb","\u003csecond>.glb"])"));
  EXPECT_THAT(page, HasSubstr(R"("like":2)"));
}

TEST(Page, NamesAreDataNeverMarkup) {
  if (!has_viewer()) GTEST_SKIP() << "the viewer is not built in";
  const std::string page = page_of({"</script><img src=x onerror=alert(1)>", nullptr, ""});
  EXPECT_THAT(page, Not(HasSubstr("<img src=x")));
  EXPECT_THAT(page, HasSubstr(R"(\u003c/script>\u003cimg)"));
}

TEST(Page, ReportThatIsNotJsonIsLeftOut) {
  if (!has_viewer()) GTEST_SKIP() << "the viewer is not built in";
  EXPECT_THAT(page_of({"a", nullptr, "{broken"}), HasSubstr(R"("name":"a")"));
}

}  // namespace
}  // namespace sinew
