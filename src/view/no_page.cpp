#include "view/page_template.h"

namespace sinew {
const std::string_view kPageTemplate;
}
