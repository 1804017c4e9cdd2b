#include <gtest/gtest.h>

extern "C" int sinew_c_api_test(void);

TEST(RuntimeCApi, SkinsFromPlainC) {
  EXPECT_EQ(sinew_c_api_test(), 0);
}
