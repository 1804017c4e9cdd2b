#pragma once

#include <string_view>

namespace sinew {

/// The bundled page with the mark <!--DATA--> where the model goes; empty when the viewer was not built in.
extern const std::string_view kPageTemplate;

}  // namespace sinew
