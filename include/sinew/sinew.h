#pragma once

/// Everything that a program which makes, changes or measures rigs needs. Which header you want, if not all:
///   core/       Mesh, Sequence, Rig, Error, Progress, FitReport
///   io/io.h     files in and out; one header per format beside it
///   solve/      ssdr, skeleton, flats, sma, clusters: a Sequence becomes a Rig; blendshapes: so do sliders
///   refine/     corrections, fewer influences, two layers: a Rig becomes a better or smaller one
///   rework/     levels of detail, other meshes, edited rest poses: a Rig becomes another to work with
///   pack/       the smallest file that plays a Rig in an engine, with its error
///   evaluate/   how far a Rig is from a Sequence, or from a known Rig
///   make/       a creature to try things on
///   view/       a web page that plays a Rig
///   runtime/    skinning for players, in C: sinew/runtime/sinew_runtime.h is not included here
#include "sinew/core/blendshapes.h"
#include "sinew/core/bounds.h"
#include "sinew/core/checkpoint.h"
#include "sinew/core/device.h"
#include "sinew/core/error.h"
#include "sinew/core/fit_report.h"
#include "sinew/core/mesh.h"
#include "sinew/core/paged_memory.h"
#include "sinew/core/progress.h"
#include "sinew/core/quality.h"
#include "sinew/core/ranks.h"
#include "sinew/core/rig.h"
#include "sinew/core/sequence.h"
#include "sinew/core/sliders.h"
#include "sinew/evaluate/errors.h"
#include "sinew/evaluate/inside.h"
#include "sinew/evaluate/rig_match.h"
#include "sinew/evaluate/skeleton_match.h"
#include "sinew/evaluate/sted.h"
#include "sinew/evaluate/surface_distance.h"
#include "sinew/evaluate/vertex_match.h"
#include "sinew/io/animation_texture.h"
#include "sinew/io/checkpoint_file.h"
#include "sinew/io/exr.h"
#include "sinew/io/gltf_levels.h"
#include "sinew/io/io.h"
#include "sinew/make/character.h"
#include "sinew/pack/engines.h"
#include "sinew/pack/pack.h"
#include "sinew/refine/corrections.h"
#include "sinew/refine/reduce.h"
#include "sinew/refine/reduce_weights.h"
#include "sinew/refine/two_layer.h"
#include "sinew/rework/bounds.h"
#include "sinew/rework/edit_rest.h"
#include "sinew/rework/lod.h"
#include "sinew/rework/transfer.h"
#include "sinew/solve/blendshapes.h"
#include "sinew/solve/clusters.h"
#include "sinew/solve/estimate.h"
#include "sinew/solve/flats.h"
#include "sinew/solve/request.h"
#include "sinew/solve/skeleton.h"
#include "sinew/solve/sma.h"
#include "sinew/solve/ssdr.h"
#include "sinew/view/crowd.h"
#include "sinew/view/page.h"
