#include "sinew/io/io.h"

#include "support/support.h"

namespace sinew {
namespace {

struct Facts {
  const char* name;
  std::size_t vertices;
  std::size_t frames;
};

TEST(ReadSequence, ReadsEveryRealSequenceWithTheCountsThatItsSourceStates) {
  SINEW_NEEDS_DATA();
  for (const Facts& facts :
       {Facts{"horse-gallop", 8431, 48}, Facts{"elephant-poses", 42321, 10}, Facts{"pcow", 2904, 204},
        Facts{"chickenCrossing", 3030, 400}, Facts{"cylinder", 420, 4}, Facts{"face-shapes", 11248, 57}}) {
    const Sequence sequence = read_sequence({test::data_folder() / "sequences" / facts.name});
    EXPECT_EQ(sequence.name, facts.name);
    EXPECT_EQ(sequence.vertex_count(), facts.vertices);
    EXPECT_EQ(sequence.frame_count(), facts.frames);
    EXPECT_GT(sequence.rest.face_count(), 0U);
  }
}

}  // namespace
}  // namespace sinew
