#include "view/page_template.h"

namespace sinew {
const std::string_view kPageTemplate;
const std::string_view kCrowdTemplate;
const std::string_view kBasisProgram;
const std::string_view kBasisWasm;
}  // namespace sinew
