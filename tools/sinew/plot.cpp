#include "plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace sinew::tool {
namespace {

constexpr double kPlotWidth = 760;
constexpr double kLeft = 80;
constexpr double kRight = 24;
constexpr double kTop = 44;
constexpr double kPlotHeight = 340;
constexpr double kLegendLine = 20;

/// Told apart on white and on black, also by readers who do not see all colours; shapes of marks repeat the difference.
constexpr std::array<const char*, 8> kColors{"#2f7ed8", "#d55e00", "#1b9e77", "#b07aa1",
                                             "#c9a227", "#56b4e9", "#e377c2", "#8c8c8c"};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out;
}

/// From values to places on the page, and where its ticks are.
struct Axis {
  double low = 0;
  double high = 1;
  bool logarithmic = false;
  std::vector<double> ticks;

  double share(double value) const {
    return logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  }
};

/// 1, 2, 5, 10, 20, … that lie on the axis; powers of ten alone where these would be too many.
std::vector<double> logarithmic_ticks(double low, double high) {
  std::vector<double> all;
  std::vector<double> tens;
  for (int power = static_cast<int>(std::floor(std::log10(low))); std::pow(10.0, power) <= high; ++power) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double tick = digit * std::pow(10.0, power);
      if (tick < low * (1 - 1e-9) || tick > high * (1 + 1e-9)) continue;
      all.push_back(tick);
      if (digit == 1.0) tens.push_back(tick);
    }
  }
  return all.size() <= 9 ? all : tens;
}

/// The smallest of 1, 2 or 5 times a power of ten that divides the span into at most eight parts.
double linear_step(double span) {
  const double power = std::pow(10.0, std::floor(std::log10(span / 8)));
  for (const double digit : {1.0, 2.0, 5.0})
    if (span / (digit * power) <= 8) return digit * power;
  return 10 * power;
}

Axis axis_over(const std::vector<double>& values, bool from_zero) {
  Axis axis;
  if (values.empty()) return axis;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  axis.low = *least;
  axis.high = *most;
  axis.logarithmic = axis.low > 0 && axis.high / axis.low > 30;
  if (axis.logarithmic) {
    axis.low /= 1.15;
    axis.high *= 1.15;
    axis.ticks = logarithmic_ticks(axis.low, axis.high);
    return axis;
  }
  if (from_zero && axis.low >= 0) axis.low = 0;
  if (!(axis.high > axis.low)) axis.high = axis.low + std::max(1.0, std::abs(axis.low));
  const double step = linear_step(axis.high - axis.low);
  axis.low = step * std::floor(axis.low / step + 1e-9);
  axis.high = step * std::ceil(axis.high / step - 1e-9);
  for (double i = std::round(axis.low / step); i <= axis.high / step + 0.5; ++i) axis.ticks.push_back(i * step);
  return axis;
}

std::string tick_text(double value) {
  return fmt::format("{:.6g}", std::abs(value) < 1e-12 ? 0.0 : value);
}

/// A mark whose shape goes with the curve: disc, square, triangle or diamond.
std::string mark(double x, double y, std::size_t curve, bool hollow) {
  const char* const color = kColors[curve % kColors.size()];
  const std::string look =
      hollow ? fmt::format(R"(fill="none" stroke="{}" stroke-width="1.8")", color) : fmt::format(R"(fill="{}")", color);
  switch (curve % 4) {
    case 0:
      return fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="4" {}/>)", x, y, look);
    case 1:
      return fmt::format(R"(<rect x="{:.1f}" y="{:.1f}" width="7" height="7" {}/>)", x - 3.5, y - 3.5, look);
    case 2:
      return fmt::format(R"(<path d="M{:.1f} {:.1f}l4.6 8h-9.2z" {}/>)", x, y - 5, look);
    default:
      return fmt::format(R"(<path d="M{:.1f} {:.1f}l5 5l-5 5l-5 -5z" {}/>)", x, y - 5, look);
  }
}

/// Grid, ticks, titles of the axes and of the plot.
std::string frame_of(const Plot& plot, const Axis& x, const Axis& y) {
  const double right = kPlotWidth - kRight;
  const double bottom = kTop + kPlotHeight;
  std::string out = fmt::format("<text x=\"{}\" y=\"26\" class=\"title\">{}</text>\n", kLeft, escaped(plot.title));
  for (const double tick : x.ticks) {
    const double at = kLeft + x.share(tick) * (right - kLeft);
    out += fmt::format(
        "<path class=\"grid\" d=\"M{0:.1f} {1}V{2}\"/><text x=\"{0:.1f}\" y=\"{3}\" "
        "text-anchor=\"middle\">{4}</text>\n",
        at, kTop, bottom, bottom + 18, tick_text(tick));
  }
  for (const double tick : y.ticks) {
    const double at = bottom - y.share(tick) * kPlotHeight;
    out += fmt::format(
        "<path class=\"grid\" d=\"M{0} {1:.1f}H{2}\"/><text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
        kLeft, at, right, kLeft - 8, at + 4, tick_text(tick));
  }
  out += fmt::format("<path class=\"axis\" d=\"M{0} {1}V{2}H{3}\"/>\n", kLeft, kTop, bottom, right);
  out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\" class=\"label\">{}{}</text>\n",
                     (kLeft + right) / 2, bottom + 40, escaped(plot.x_label), x.logarithmic ? ", logarithmic" : "");
  out += fmt::format(
      "<text transform=\"translate(20 {:.1f}) rotate(-90)\" text-anchor=\"middle\" class=\"label\">{}{}</text>\n",
      (kTop + bottom) / 2, escaped(plot.y_label), y.logarithmic ? ", logarithmic" : "");
  return out;
}

std::string curve_of(const Curve& curve, std::size_t index, const Axis& x, const Axis& y) {
  const double right = kPlotWidth - kRight;
  const double bottom = kTop + kPlotHeight;
  std::string line;
  std::string marks;
  for (const auto& [a, b] : curve.points) {
    const double px = kLeft + x.share(a) * (right - kLeft);
    const double py = bottom - y.share(b) * kPlotHeight;
    line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : "L", px, py);
    marks += mark(px, py, index, curve.marks);
  }
  const std::string color = kColors[index % kColors.size()];
  const std::string path =
      curve.marks ? "" : fmt::format(R"(<path d="{}" fill="none" stroke="{}" stroke-width="2"/>)", line, color);
  const double at = bottom + 64 + kLegendLine * static_cast<double>(index);
  const std::string sample =
      curve.marks ? "" : fmt::format(R"(<path d="M{} {}h28" stroke="{}" stroke-width="2"/>)", kLeft, at, color);
  return fmt::format("<g>{}{}{}{}<text x=\"{}\" y=\"{}\">{}</text></g>\n", path, marks, sample,
                     mark(kLeft + 14, at, index, curve.marks), kLeft + 38, at + 4, escaped(curve.name));
}

}  // namespace

std::string svg_of(const Plot& plot) {
  std::vector<double> xs;
  std::vector<double> ys;
  for (const Curve& curve : plot.curves) {
    for (const auto& [x, y] : curve.points) {
      xs.push_back(x);
      ys.push_back(y);
    }
  }
  const Axis x = axis_over(xs, false);
  const Axis y = axis_over(ys, true);
  const double height = kTop + kPlotHeight + 76 + kLegendLine * static_cast<double>(plot.curves.size());
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"13\">\n"
      "<style>.page{{fill:#fff}}text{{fill:#333}}.title{{font-size:16px;font-weight:bold}}.label{{font-size:14px}}"
      ".grid{{stroke:#e2e5e9}}.axis{{stroke:#777;fill:none}}"
      "@media(prefers-color-scheme:dark){{.page{{fill:#15181c}}text{{fill:#d8dce1}}.grid{{stroke:#31363d}}"
      ".axis{{stroke:#98a0a9}}}}</style>\n"
      "<rect class=\"page\" width=\"{0}\" height=\"{1}\"/>\n",
      kPlotWidth, height);
  out += frame_of(plot, x, y);
  for (std::size_t i = 0; i < plot.curves.size(); ++i) out += curve_of(plot.curves[i], i, x, y);
  return out + "</svg>\n";
}

}  // namespace sinew::tool
