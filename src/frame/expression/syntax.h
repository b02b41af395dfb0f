// The syntax tree of an expression text. Nodes refer to each other by number, so that destroying a deep tree
// needs no deep recursion.
#ifndef COLONNADE_FRAME_EXPRESSION_SYNTAX_H
#define COLONNADE_FRAME_EXPRESSION_SYNTAX_H

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frame/expression/expression.h"
#include "frame/expression/message.h"

namespace colonnade::frame {

using NodeIndex = std::uint32_t;

enum class NodeKind : std::uint8_t {
  literal,      // value
  name,         // text; quoted: always a column
  member,       // text; child: the object
  subscript,    // children: the object, the index; text: inserts_nothing, or empty
  call,         // text: the function or type as written; children: the arguments
  method,       // text; children: the object, the arguments
  unary,        // text: the operator; child
  binary,       // text: the operator; children
  conditional,  // children: condition, yes, no
  cast,         // text: the type; child
  list,         // {children}
  lambda,       // parameters, template_types: their types, type: of the result or empty; child: the body
  application,  // children: a lambda, which other nodes may share, and the arguments
  let,          // text: a name, type: its type or "auto"; children: its value, what it is used in
  body,         // children: statements; that of a function ends with a result, or a loop without an end
  declaration,  // of a body; text: a name, type: its type or "auto"; child: its value, if it has one
  assignment,   // of a body; text: empty, or the method that changes the object; type: see deduced_type;
                // children: a variable or an item of one, then its new value or the arguments
  branch,       // of a body; children: condition, body, and the body of the else if there is one
  loop,         // of a body; text: "do" if the condition comes last; children: condition, body, step
  selection,    // of a body: a switch; children: body, which chooses by branches, the selector, the labels
  jump,         // text: break, continue, or "switch" for a break that leaves one
  invocation,   // of a body: a call that changes variables; text: the variable that holds its result;
                // children: an application, and what the parameters that are references change; parameters:
                // their names
  exception,    // what a result raises instead of a value; child: its message
  result        // of a body; child: the value
};

// A name as the text spells it. What hides another variable has a number behind it that no text can spell.
inline std::string_view spelled_name(std::string_view name) {
  return name.substr(0, name.find(' '));
}

// The list that a loop goes through, and the place in it: names that no text can spell.
inline constexpr std::string_view loop_list = "for list";
inline constexpr std::string_view loop_place = "for place";

// What a subscript of a map has as text if it changes nothing, or another statement does.
inline constexpr std::string_view inserts_nothing = "inserts nothing";
// What makes an object of its members: the text of a call, whose type is the class.
inline constexpr std::string_view object_of_members = "object of";
// The type of an assignment to a variable that has the type of its first value: of any, or of an item of a
// list.
inline constexpr std::string_view deduced_type = "auto";
inline constexpr std::string_view deduced_item = "auto item";
// Of at(), whose key must be there.
inline constexpr std::string_view needs_key = "needs the key";

struct SyntaxNode {
  NodeKind kind = NodeKind::literal;
  bool braces = false;  // a call spelled T{...}
  bool quoted = false;
  std::uint32_t depth = 1;  // of a recursion through it
  TextRange whole;
  TextRange mark;  // what a message about the node marks
  std::string text;
  std::string type;
  std::vector<std::string> template_types;
  std::vector<std::string> parameters;  // names
  std::vector<NodeIndex> children;
  ValuesPtr value;
  // Of an iterator, which is a number of std::int64_t: the list.
  std::optional<NodeIndex> list;
};

struct Formula::Syntax {
  std::string text;
  std::vector<SyntaxNode> nodes;
  NodeIndex root = 0;
  bool shares_nodes = false;  // what a node means depends on more than its own text

  const SyntaxNode& operator[](NodeIndex index) const { return nodes[index]; }
};

// Throws ErrorKind::usage.
Formula::Syntax parse(std::string text);

// "jets.pt" for members of a plain name, "" for other nodes.
std::string dotted_path(const Formula::Syntax& syntax, NodeIndex index);

struct FunctionSyntax {
  struct Parameter {
    std::string name, type;
    std::optional<NodeIndex> preset;  // if the caller gives no value
  };
  std::string name, result;
  std::vector<Parameter> parameters;
  // Names of types that follow from the arguments, and what they are if these do not tell; it has no body
  // then.
  std::vector<std::string> templates, presets;
  NodeIndex body = 0;
  // It changes what parameters refer to, or returns nothing: only functions of the same text call it.
  bool has_effects = false;
  bool takes_flags = false;  // a type that follows from the arguments is bool: see Binder::require_flag()
  TextRange mark;
  std::size_t constants = 0;  // that are declared before it
};
struct FunctionsSyntax {
  struct Macro {
    std::string name, value;
  };
  Formula::Syntax nodes;
  std::vector<Macro> macros;         // of the text, in order
  std::vector<NodeIndex> constants;  // declarations
  std::vector<FunctionSyntax> functions;
  std::deque<std::string> types;  // of chosen templates
};
// A function whose templates are these types.
struct TemplateTypes {
  std::size_t function = 0;
  std::vector<std::pair<std::string, std::string>> types;
};
// Functions and constants, one of which may have its templates chosen. Throws ErrorKind::usage.
FunctionsSyntax parse_functions(std::string text, const TemplateTypes* chosen = nullptr);

}  // namespace colonnade::frame

#endif
