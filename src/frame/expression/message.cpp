// See message.h.
#include "frame/expression/message.h"

#include <fmt/format.h>

#include <algorithm>

#include "dataset/nearest.h"

namespace colonnade::frame {
namespace {

constexpr std::size_t widest = 100;  // columns of the text to show
constexpr std::size_t in_front = 50;
constexpr std::size_t longest_problem = 1000;  // a name in it may be as long as the text

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

std::size_t columns(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::count_if(text.begin(), text.end(), continues_character));
}

// The same length as printed: control characters would shift the mark below.
std::string shown(std::string_view text) {
  std::string line(text);
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return line;
}

struct Line {
  std::size_t begin = 0, end = 0;
};

// The part of the text to show: the line of the position or, if it is long, an excerpt.
Line line_around(std::string_view text, std::size_t position) {
  Line line{0, text.find('\n', position)};
  if (line.end == std::string_view::npos) line.end = text.size();
  if (position > 0) {
    const std::size_t before = text.rfind('\n', position - 1);
    if (before != std::string_view::npos) line.begin = before + 1;
  }
  if (line.end - line.begin > widest) {
    if (position - line.begin > in_front) line.begin = std::min(position - in_front, line.end - widest);
    line.end = std::min(line.end, line.begin + widest);
    while (line.begin < position && continues_character(text[line.begin])) ++line.begin;
    while (line.end < text.size() && continues_character(text[line.end])) ++line.end;
  }
  return line;
}

std::string picture(std::string_view text, TextRange range) {
  const std::size_t begin = std::min<std::size_t>(range.begin, text.size());
  const Line line = line_around(text, begin);
  const std::size_t end = std::clamp<std::size_t>(range.end, begin, std::max(begin, line.end));
  const bool cut_before = line.begin > 0 && text[line.begin - 1] != '\n';
  const bool cut_behind = line.end < text.size() && text[line.end] != '\n';
  const std::size_t width = columns(text.substr(begin, end - begin));
  return fmt::format(
      "\n  {}{}{}\n  {}^{}", cut_before ? "..." : "", shown(text.substr(line.begin, line.end - line.begin)),
      cut_behind ? "..." : "",
      std::string(columns(text.substr(line.begin, begin - line.begin)) + (cut_before ? 3 : 0), ' '),
      std::string(width > 1 ? width - 1 : 0, '~'));
}

}  // namespace

Error error_at(ErrorKind kind, std::string_view text, TextRange range, std::string_view problem,
               std::string_view below) {
  std::size_t shown_problem = std::min(problem.size(), longest_problem);
  while (shown_problem < problem.size() && continues_character(problem[shown_problem])) ++shown_problem;
  std::string message(problem.substr(0, shown_problem));
  if (shown_problem < problem.size()) message += "...";
  message += picture(text, range);
  if (!below.empty()) message += fmt::format("\n  {}", below);
  return Error(kind, std::move(message));
}

std::string near_names(std::string_view name, std::span<const std::string> names) {
  const std::string text = dataset::did_you_mean(name, names);
  const bool helps = text.starts_with("did you mean") || text.starts_with("there are:");
  return helps ? "; " + text : std::string();
}

}  // namespace colonnade::frame
