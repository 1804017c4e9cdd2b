#pragma once

#include <string>
#include <utility>
#include <vector>

namespace sinew::tool {

/// One line of a plot.
struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x, y; finite, joined in this order
  bool marks = false;                             // marks without a line: figures of somebody else
};

/// A plot of lines. An axis is logarithmic where its values are positive and the largest is over 30 times the smallest.
struct Plot {
  std::string title;
  std::string x_label;  // with its unit
  std::string y_label;
  std::vector<Curve> curves;
};

/// The plot as an SVG page, legible on light and on dark backgrounds.
std::string svg_of(const Plot& plot);

}  // namespace sinew::tool
