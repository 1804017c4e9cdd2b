#pragma once

// MMX, which Eigen asks for beside SSE and does not use. Emscripten has SSE on top of WebAssembly's own vectors, but no
// MMX.
