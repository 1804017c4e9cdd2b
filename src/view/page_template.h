#pragma once

#include <string_view>

namespace sinew {

/// The bundled page with the mark <!--DATA--> where the model goes; empty when the viewer was not built in.
extern const std::string_view kPageTemplate;

/// The same for the page of a crowd.
extern const std::string_view kCrowdTemplate;

/// The program that decodes textures of KHR_texture_basisu, and its WebAssembly, as they are: for pages that need it.
extern const std::string_view kBasisProgram;
extern const std::string_view kBasisWasm;

}  // namespace sinew
