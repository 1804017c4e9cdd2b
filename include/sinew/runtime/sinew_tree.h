#ifndef SINEW_TREE_H
#define SINEW_TREE_H

/* Bounds and collisions of skinned models, without posing their vertices: a tree of boxes over the triangles of the
 * rest pose whose boxes follow from bone matrices and correction coefficients alone [James and Pai 2004]. Boxes are
 * made when a query first meets them; the few vertices of the leaves it reaches are posed one by one.
 *
 * Plain C on the caller's buffers, like sinew_runtime.h: no allocation, no exceptions. A tree is built once
 * (sinew/rework/bounds.h) and only read here; a sinew_tree_pose is one instance in one pose, for one thread at a time.
 * Every box holds what sinew_skin gives for its triangles. Layouts and costs: docs/runtime.md */

#include "sinew/runtime/sinew_runtime.h"

/* NOLINTBEGIN(modernize-use-using,readability-identifier-naming): C */

#ifdef __cplusplus
extern "C" {
#endif

/* The first child of an inner node is the node after it. */
typedef struct sinew_tree_node {
  uint32_t right;          /* second child; 0: a leaf */
  uint32_t first_triangle; /* its triangles, in the tree's order */
  uint32_t triangles;
  uint32_t first_follow; /* the bones that its vertices follow */
  uint32_t follows;
  uint32_t convex; /* 1: no weight is negative */
  float middle[3]; /* box of its vertices at rest: middle and half its size */
  float half[3];
} sinew_tree_node;

/* How the vertices of a node follow one bone. */
typedef struct sinew_tree_follow {
  uint32_t bone;
  float weight;    /* mean weight */
  float spread;    /* largest difference of a weight from it */
  float middle[3]; /* box at rest of those with any weight */
  float half[3];
} sinew_tree_follow;

typedef struct sinew_tree {
  size_t nodes;
  const sinew_tree_node* node;
  size_t follows;
  const sinew_tree_follow* follow;
  size_t triangles;
  const uint32_t* corners; /* triangles x 3: vertices */
  const uint32_t* numbers; /* triangles: which of the mesh each is */
  size_t corrections;
  const float* shifts; /* nodes x corrections x 6: middle and half size of the box of the offsets; or NULL */
} sinew_tree;

/* One instance in one pose. Fill in tree to coefficients and the two buffers, set stamp to 0 and stamps to zeros once,
 * and call sinew_tree_begin whenever the palette or the coefficients change. */
typedef struct sinew_tree_pose {
  const sinew_tree* tree;
  const sinew_model* model;
  const float* palette;      /* bones x 16 */
  const float* coefficients; /* corrections; NULL without */
  float* boxes;              /* nodes x 6: scratch */
  uint32_t* stamps;          /* nodes: scratch */
  uint32_t stamp;
} sinew_tree_pose;

/* A point of the posed surface. */
typedef struct sinew_tree_hit {
  uint32_t triangle; /* of the mesh */
  float weights[3];  /* shares of its corners */
  float position[3];
  float distance; /* from the origin of the ray in lengths of its direction, or from the point asked about */
} sinew_tree_hit;

/* Looks at every number of a tree once: call it for trees that were read from files. */
sinew_status sinew_tree_check(const sinew_tree* tree, const sinew_model* model);

/* A new pose: all boxes are to be made again. */
void sinew_tree_begin(sinew_tree_pose* pose);

/* A box around the posed model: low x y z, high x y z. Without triangles low is above high. */
void sinew_tree_box(sinew_tree_pose* pose, float* box);

/* 1 where the posed model may be in front of all planes (a b c d: ax + by + cz + d >= 0), 0 where it is not. */
int sinew_tree_in_front(sinew_tree_pose* pose, const float* planes, size_t count);

/* The first triangle that origin + t direction meets for 0 <= t <= longest; both sides count. 1 where there is one. */
int sinew_tree_ray(sinew_tree_pose* pose, const float* origin, const float* direction, float longest,
                   sinew_tree_hit* hit);

/* The nearest point of the surface within a distance. 1 where there is one. */
int sinew_tree_nearest(sinew_tree_pose* pose, const float* point, float farthest, sinew_tree_hit* hit);

/* Triangles that touch a ball: how many; the numbers of the first `room` of them go to `triangles`. */
size_t sinew_tree_ball(sinew_tree_pose* pose, const float* centre, float radius, uint32_t* triangles, size_t room);

/* Pairs of triangles of two models that meet: how many; the first `room` pairs go to `pairs` (a, b, a, b, ...). Both
 * poses in the same space; with room 1 the search stops at the first. */
size_t sinew_tree_overlap(sinew_tree_pose* a, sinew_tree_pose* b, uint32_t* pairs, size_t room);

/* NOLINTEND(modernize-use-using,readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif
